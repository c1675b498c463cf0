/** Something that a page can watch. The event stream reports a change, and the page fetches its data again. */
import type { Ports } from '../ports/ports.ts';
import type { Role } from '../ports/role.ts';

export type Topic = {
  /** Lower-case letters and hyphens. It is also the name of the server-sent event. */
  name: string;
  roles: readonly Role[];
  /**
   * The kind of subject: the restaurant or the client of the page's path, the account of the viewer, or the viewer's role; where
   * the role sees only what is its user's own, the account. Without it all viewers watch the same subject.
   */
  about?: 'restaurant' | 'client' | 'viewer' | 'role';
  /** Channels whose hints make the panel poll the topic at once. */
  channels?: readonly string[];
  /**
   * A text that differs after a change. It must be cheap: it is read every few seconds while the topic is watched, and
   * after each hint, once for all viewers. `subject`: uid of the subject, '' without `about`.
   */
  mark: (ports: Ports, subject: string) => Promise<string>;
};
