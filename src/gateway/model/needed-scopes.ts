/** Which scopes a route needs of a caller. */
import type { Route } from './route.ts';

/**
 * All scopes that a caller needs who holds `held`: those of the route, and of its sets the one of which the fewest are
 * missing, the first of several. So a refusal names the shortest way to be let in.
 */
export const neededScopes = ({ scopes, anyOf }: Route, held: ReadonlySet<string>): readonly string[] => {
  const missing = (set: readonly string[]): number => set.filter((name) => !held.has(name)).length;
  const [first, ...others] = anyOf;
  if (first === undefined) return scopes;
  const nearest = others.reduce((best, set) => (missing(set) < missing(best) ? set : best), first);
  return [...scopes, ...nearest.filter((name) => !scopes.includes(name))];
};
