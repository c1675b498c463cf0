/** Something that a page can watch: it is told "changed" through its event stream and fetches what it shows again. */
import type { Ports } from '../ports/ports.ts';
import type { Role } from '../ports/role.ts';

export type Topic = {
  /** Lower-case letters and hyphens; also the name of the event. */
  name: string;
  roles: readonly Role[];
  /**
   * What one stream watches of it: the restaurant or the client that the page is about, or the account of the viewer.
   * Without it every viewer watches the same.
   */
  about?: 'restaurant' | 'client' | 'viewer';
  /** PostgreSQL channels on which a change is told, as a hint to look at once. */
  channels?: readonly string[];
  /**
   * A text that differs when there is something new; cheap. Asked once for all viewers: at a hint, and every few seconds
   * while anybody watches. `subject`: uid of what the topic is about, '' where it is about everything.
   */
  mark: (ports: Ports, subject: string) => Promise<string>;
};
