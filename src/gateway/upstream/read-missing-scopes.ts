/**
 * Pure: reads the missing scopes of an upstream's 403, in the form of RFC 6750 (challenge or JSON with `scope`) or as the
 * list `missing_scopes`. Text that is no scope token of RFC 6749 is left out, since scopes are quoted in a header.
 */
import { parseChallenges } from './parse-challenges.ts';

type Parts = {
  status: number;
  json: Record<string, unknown> | undefined;
  /** Its WWW-Authenticate fields. */
  challenge: string | readonly string[] | undefined;
};

export type MissingScopes = {
  /** Those of the route table in its sequence, then the others as they were named. */
  scopes: readonly string[];
  /** `error_description` of the challenge. */
  description: string | undefined;
};

const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/;
const scopesMax = 32;

/** `known`: every scope of the route table, in its sequence. */
export const readMissingScopes = ({ status, json, challenge }: Parts, known: readonly string[]): MissingScopes => {
  if (status !== 403) return { scopes: [], description: undefined };
  const said = challengeOf(challenge);
  const named = listed(json?.missing_scopes) ?? inJson(json) ?? said?.scopes ?? [];
  const valid = new Set(named.filter((name) => typeof name === 'string' && scopeToken.test(name)).slice(0, scopesMax));
  const first = known.filter((name) => valid.has(name));
  const others = [...valid].filter((name): name is string => typeof name === 'string' && !known.includes(name));
  return { scopes: [...first, ...others], description: said?.description };
};

const listed = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) && value.length > 0 ? value : undefined;

/** `scope` beside another error does not name missing scopes. */
const inJson = (json: Record<string, unknown> | undefined): readonly string[] | undefined => {
  if (typeof json?.scope !== 'string' || json.scope === '') return undefined;
  const { error, code } = json;
  const words = [error, code].filter((word) => typeof word === 'string');
  if (words.length > 0 && !words.some((word) => /^insufficient[_-]?scope$/i.test(word))) return undefined;
  return json.scope.split(' ');
};

const challengeOf = (
  value: string | readonly string[] | undefined,
): { scopes: readonly string[]; description: string | undefined } | undefined => {
  if (value === undefined || value === '') return undefined;
  const challenges = parseChallenges(typeof value === 'string' ? value : value.join(', '));
  const refusal = challenges?.find(
    ({ scheme, parameters }) =>
      (scheme === 'bearer' || scheme === 'dpop') && parameters.get('error') === 'insufficient_scope',
  );
  if (refusal === undefined) return undefined;
  const scopes = (refusal.parameters.get('scope') ?? '').split(' ');
  return { scopes, description: refusal.parameters.get('error_description') };
};
