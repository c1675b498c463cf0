/** The page that a visitor asked for before signing in. */
import { panelPath } from '../page/page-path.ts';
import { signInPath } from './paths.ts';

const lengthMax = 1_000;
/** The address of a sign-in page has the one that it leads to in its query, where an escape is three characters. */
const addressLengthMax = 4 * lengthMax;

/**
 * Accepts only an address of the panel; anything else could be an open redirect. The characters are those that
 * `encodeURIComponent` leaves in a path, and `URLSearchParams` in a query.
 */
export const ownAddress = (given: string | null): string => {
  const next = given ?? '';
  const isOurs = /^\/panel(\/[\w/.~%:!'()*-]*)?(\?[\w=&.~%:+*-]*)?$/.test(next) && next.length <= addressLengthMax;
  return isOurs && !next.includes('//') ? next : panelPath;
};

/** The same for the page to show after the sign-in, which is none of the sign-in itself. */
export const nextPath = (given: string | null): string => {
  const next = ownAddress(given);
  return next.length <= lengthMax && !next.startsWith(signInPath) ? next : panelPath;
};

export const nextOf = (fields: URLSearchParams): string => nextPath(fields.get('next'));

/** The address of a page of the sign-in that leads to `next`. */
export const withNext = (path: string, next: string): string => `${path}?next=${encodeURIComponent(next)}`;
