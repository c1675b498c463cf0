/** Something that a page can watch: it is told "changed" through its event stream and fetches what it shows again. */
import type { Ports } from '../ports.ts';
import type { Role } from './page.ts';

export type Topic = {
  /** Lower-case letters and hyphens; also the name of the event. */
  name: string;
  roles: readonly Role[];
  /** The topic is about one restaurant, which the page names in the address of the stream. */
  perRestaurant: boolean;
  /** PostgreSQL channels on which a change is told, as a hint to look at once. */
  channels?: readonly string[];
  /**
   * A text that differs when there is something new; cheap. Asked once for all viewers: at a hint, and every few seconds
   * while anybody watches.
   */
  mark: (ports: Ports, restaurant: string) => Promise<string>;
};
