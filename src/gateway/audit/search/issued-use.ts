/**
 * Sums up the use of the tokens that were issued for a secret. A leaked secret may be used through its tokens alone,
 * without any call of its own. The tokens are identified by the fingerprints in the events of their issue.
 */
import type { Kysely } from 'kysely';
import type { EventFilter } from './filter-store.ts';
import { listIssuedFingerprints, type SumOfUse, sumUse } from './issued-use-store.ts';

/** A filter of a search. `issuedFor`: only requests with tokens that were issued for this secret or client key. */
export type AskedFilter = EventFilter & { issuedFor?: string | undefined };

/** Only the newest tokens of a secret are searched, up to this number. */
const tokensMax = 5_000;

/** Replaces `issuedFor` by the fingerprints of the tokens. */
export const resolveFilter = async (
  db: Kysely<unknown>,
  { issuedFor, ...filter }: AskedFilter,
): Promise<EventFilter> => {
  if (issuedFor === undefined) return filter;
  const { fingerprints } = await listIssuedFingerprints(db, issuedFor, tokensMax);
  const asked = filter.fingerprint;
  if (asked === undefined) return { ...filter, fingerprint: fingerprints };
  const both = typeof asked === 'string' ? [asked] : asked;
  return { ...filter, fingerprint: fingerprints.filter((one) => both.includes(one)) };
};

export type IssuedUse = SumOfUse & {
  /** Number of issued tokens. */
  tokens: number;
};

/** `partial`: not everything was read, so the sums are lower bounds. */
export const sumIssuedUse = async (db: Kysely<unknown>, credential: string): Promise<IssuedUse> => {
  const { fingerprints, tokens } = await listIssuedFingerprints(db, credential, tokensMax);
  const use = await sumUse(db, fingerprints);
  return { ...use, tokens, partial: use.partial || tokens > fingerprints.length };
};
