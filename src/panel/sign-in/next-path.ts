/** The page that a visitor asked for before signing in. */
import { panelPath } from '../page/page-path.ts';
import { signInPath } from './paths.ts';

/**
 * Accepts only a path of the panel; anything else could be an open redirect. The characters are those that
 * `encodeURIComponent` leaves in a path, and `URLSearchParams` in a query.
 */
export const nextPath = (given: string | null): string => {
  const next = given ?? '';
  const isOurs = /^\/panel(\/[\w/.~%:!'()*-]*)?(\?[\w=&.~%:+*-]*)?$/.test(next) && next.length <= 1_000;
  return isOurs && !next.includes('//') && !next.startsWith(signInPath) ? next : panelPath;
};

export const nextOf = (fields: URLSearchParams): string => nextPath(fields.get('next'));
