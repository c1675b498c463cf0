/** What a head vouches for when it is signed anew: never less than before. */
import type { Kysely } from 'kysely';
import { readVouches, shortHash, type Vouch, writeVouches } from './attested-heads.ts';
import { hashesAt, listRecentHeads, placeKey } from './chain-store.ts';
import { checkKnown, checkSignatures, needsEvent } from './check-chain.ts';

const headsMax = 50;
const keptMax = 100;

/**
 * `before`: `seen` of the head that is replaced, whose signature was checked. A head counts only when its signature is right
 * and it continues what was vouched for; otherwise the old word stands, and contradicts it at each verification.
 */
export const vouchFor = async (db: Kysely<unknown>, key: Buffer, before: string): Promise<string> => {
  const old = new Map(readVouches(before).map((vouch) => [vouch.chain, vouch]));
  const heads = (await listRecentHeads(db, headsMax)).filter((row) => checkSignatures(key, row) === undefined);
  const asked = heads.flatMap((row) => {
    const vouch = old.get(row.chain);
    return vouch?.hash !== undefined && needsEvent(row, { seq: vouch.seq, hash: vouch.hash }) ? [vouch] : [];
  });
  const hashes = await hashesAt(db, asked);
  const vouches = new Map<number, Vouch>();
  for (const row of heads) {
    const vouch = old.get(row.chain);
    const { chain, seq, hash } = row;
    const known = vouch === undefined ? undefined : { seq: vouch.seq, hash: vouch.hash ?? '' };
    const contradicts =
      known !== undefined && checkKnown(row, known, hashes.get(placeKey(chain, known.seq)) ?? '-') !== undefined;
    vouches.set(chain, vouch !== undefined && contradicts ? vouch : { chain, seq, hash: shortHash(hash) });
  }
  for (const [chain, vouch] of [...old].toSorted(([a], [b]) => b - a)) {
    if (vouches.size < keptMax && !vouches.has(chain)) vouches.set(chain, vouch);
  }
  return writeVouches([...vouches.values()].toSorted((a, b) => a.chain - b.chain));
};
