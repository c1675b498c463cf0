/** Computes which ends of other chains a newly signed head attests. The list never covers less than before. */
import type { Kysely } from 'kysely';
import { type AttestedHead, readAttestedHeads, shortHash, writeAttestedHeads } from './attested-heads.ts';
import { hashesAt, listRecentHeads, placeKey } from './chain-store.ts';
import { checkKnown, checkSignatures, needsEvent } from './check-chain.ts';

const headsMax = 50;
const attestedMax = 100;

/**
 * `before`: `seen` of the replaced head, whose signature was checked. A chain's current head is attested only when its
 * signature is right and it continues the end attested before. Otherwise the earlier end stays in the list, and every
 * verification finds the contradiction.
 */
export const attestHeads = async (db: Kysely<unknown>, key: Buffer, before: string): Promise<string> => {
  const old = new Map(readAttestedHeads(before).map((attestedHead) => [attestedHead.chain, attestedHead]));
  const heads = (await listRecentHeads(db, headsMax)).filter((row) => checkSignatures(key, row) === undefined);
  const asked = heads.flatMap((row) => {
    const attestedHead = old.get(row.chain);
    return attestedHead?.hash !== undefined && needsEvent(row, { seq: attestedHead.seq, hash: attestedHead.hash })
      ? [attestedHead]
      : [];
  });
  const hashes = await hashesAt(db, asked);
  const attested = new Map<number, AttestedHead>();
  for (const row of heads) {
    const attestedHead = old.get(row.chain);
    const { chain, seq, hash } = row;
    const known = attestedHead === undefined ? undefined : { seq: attestedHead.seq, hash: attestedHead.hash ?? '' };
    const contradicts =
      known !== undefined && checkKnown(row, known, hashes.get(placeKey(chain, known.seq)) ?? '-') !== undefined;
    attested.set(
      chain,
      attestedHead !== undefined && contradicts ? attestedHead : { chain, seq, hash: shortHash(hash) },
    );
  }
  for (const [chain, attestedHead] of [...old].toSorted(([a], [b]) => b - a)) {
    if (attested.size < attestedMax && !attested.has(chain)) attested.set(chain, attestedHead);
  }
  return writeAttestedHeads([...attested.values()].toSorted((a, b) => a.chain - b.chain));
};
