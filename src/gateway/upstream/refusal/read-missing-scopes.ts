/**
 * Pure: reads the missing scopes of an upstream's 403. The first of these sources that names a scope decides: `scope` of its
 * Bearer or DPoP challenge, and of its JSON body `missing_scopes`, `required_scopes` and `scope`. In `scope` an upstream may
 * name all that it requires (RFC 6750 section 3), so the scopes that the caller has are removed, as from `required_scopes`.
 * Text that is no scope token of RFC 6749 is left out, since scopes are quoted in a header.
 */
import { isScopeToken } from '#src/contract/scope-tokens.ts';
import type { Challenge } from './parse-challenges.ts';
import { isObject } from './read-details.ts';
import { innerOf } from './read-message.ts';

type Parts = {
  status: number;
  json: unknown;
  /** The challenge that refuses this request. */
  challenge: Challenge | undefined;
  /** Scopes of the caller. */
  granted: ReadonlySet<string>;
};

const scopesMax = 32;
const listCharactersMax = 4 * 1024;

/** `known`: every scope of the route table, in its sequence. The others follow as they were named. */
export const readMissingScopes = (parts: Parts, known: readonly string[]): readonly string[] => {
  if (parts.status !== 403) return [];
  const named = firstNamed(parts).slice(0, scopesMax);
  return [...known.filter((name) => named.includes(name)), ...named.filter((name) => !known.includes(name))];
};

const firstNamed = ({ json, challenge, granted }: Parts): readonly string[] => {
  const inChallenge = tokensIn(challenge?.parameters.get('scope'));
  if (inChallenge.length > 0) return lackedOf(inChallenge, granted);
  if (!isObject(json)) return [];
  for (const body of [json, innerOf(json)]) {
    if (body === undefined) continue;
    const missing = tokensIn(body.missing_scopes);
    if (missing.length > 0) return missing;
    const required = tokensIn(body.required_scopes).filter((name) => !granted.has(name));
    if (required.length > 0) return required;
    const inScope = namesMissingScope(body) ? tokensIn(body.scope) : [];
    if (inScope.length > 0) return lackedOf(inScope, granted);
  }
  return [];
};

/** All of them when the caller has all: the upstream counts the scopes in another way, and says that these matter. */
const lackedOf = (names: readonly string[], granted: ReadonlySet<string>): readonly string[] => {
  const lacked = names.filter((name) => !granted.has(name));
  return lacked.length > 0 ? lacked : names;
};

/** A list, or a text with blanks between the scopes, each scope once. A text that is too long is not read in part. */
const tokensIn = (value: unknown): readonly string[] => {
  const isText = typeof value === 'string' && value.length <= listCharactersMax;
  const names: readonly unknown[] = isText ? value.split(' ') : Array.isArray(value) ? value : [];
  return [...new Set(names.filter(isScopeToken))];
};

/** `scope` beside another error does not name missing scopes. */
const namesMissingScope = ({ error, code }: Readonly<Record<string, unknown>>): boolean => {
  const words = [error, code].filter((word) => typeof word === 'string');
  return words.length === 0 || words.some((word) => /^insufficient[_-]?scope$/i.test(word));
};
