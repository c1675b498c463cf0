/** Where somebody wanted to go before signing in. */
import { panelPath } from '../page/page-path.ts';
import { signInPath } from './places.ts';

/** Only a path of the panel: whatever else stands there was put there by somebody else. */
export const nextPath = (given: string | null): string => {
  const next = given ?? '';
  const isOurs = /^\/panel(\/[\w/.~%:-]*)?(\?[\w=&.~%:+-]*)?$/.test(next) && next.length <= 1_000;
  return isOurs && !next.includes('//') && !next.startsWith(signInPath) ? next : panelPath;
};

export const nextOf = (fields: URLSearchParams): string => nextPath(fields.get('next'));
