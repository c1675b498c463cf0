/**
 * What was done with the tokens that were issued for a secret. A secret that leaked is used through them: its own calls may be
 * none. Tokens are known by the fingerprints that their issue was written down with.
 */
import type { Kysely } from 'kysely';
import type { EventFilter } from './filter-store.ts';
import { listIssuedFingerprints, type SumOfUse, sumUse } from './issued-use-store.ts';

/** A filter as it is asked for. `issuedFor`: only what was done with tokens that were issued for this secret or client key. */
export type AskedFilter = EventFilter & { issuedFor?: string | undefined };

/** More tokens than these are not looked through: their newest are. */
export const tokensMax = 5_000;

/** The same filter in terms of events. */
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
  /** Tokens that were issued. */
  tokens: number;
};

/** `partial`: there is more than was read, so that the sums are at least these. */
export const sumIssuedUse = async (db: Kysely<unknown>, credential: string): Promise<IssuedUse> => {
  const { fingerprints, tokens } = await listIssuedFingerprints(db, credential, tokensMax);
  const use = await sumUse(db, fingerprints);
  return { ...use, tokens, partial: use.partial || tokens > fingerprints.length };
};
