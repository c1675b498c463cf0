/** Marks the events that the signed head of their chain covers, for search and export. Verification checks more. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { headLabel } from './chain.ts';
import { findChains } from './chain-store.ts';
import { checkSignatures } from './check-chain.ts';

/** `events` must be read before the call, so that the heads are at least as new as the events. */
export const markSigned = async <E extends { chain: number; seq: number }>(
  { db, box }: { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'> },
  events: readonly E[],
): Promise<(E & { signed: boolean })[]> => {
  if (events.length === 0) return [];
  const key = box.derive(headLabel);
  const rows = await findChains(db, [...new Set(events.map(({ chain }) => chain))]);
  const ends = new Map(rows.filter((row) => checkSignatures(key, row) === undefined).map((row) => [row.chain, row]));
  return events.map((event) => {
    const head = ends.get(event.chain);
    return { ...event, signed: head !== undefined && event.seq <= head.seq && event.seq > head.anchorSeq };
  });
};
