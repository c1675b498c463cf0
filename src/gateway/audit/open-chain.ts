/** A new chain, empty and signed. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type ChainRow, insertChain, lastChain, lockChain, lockChains, seenChains, updateHead } from './audit-store.ts';
import { chainStart, changesChain, headLabel, signAnchor, signHead } from './chain.ts';

/** `process` 'changes' asks for chain 0, which is made once. `tx`: a transaction. */
export const openChain = async (
  tx: Kysely<unknown>,
  box: Pick<SecretBox, 'derive'>,
  { now, process }: { now: Date; process: string },
): Promise<ChainRow> => {
  await lockChains(tx);
  let last = await lastChain(tx);
  if (last === -1) {
    await makeChain(tx, box, { chain: changesChain, now, process: 'changes' });
    last = changesChain;
  }
  const row = await lockChain(tx, changesChain);
  if (row === undefined) throw new Error('the chain of changes is missing');
  if (process === 'changes') return row;
  const made = await makeChain(tx, box, { chain: last + 1, now, process });
  // From now on another head tells that this chain exists.
  const head = { ...row, signed: now, seen: await seenChains(tx) };
  await updateHead(tx, head, signHead(box.derive(headLabel), head));
  return made;
};

const makeChain = async (
  tx: Kysely<unknown>,
  box: Pick<SecretBox, 'derive'>,
  { chain, now, process }: { chain: number; now: Date; process: string },
): Promise<ChainRow> => {
  const key = box.derive(headLabel);
  const end = { seq: 0, hash: chainStart };
  const head = { chain, process, opened: now, ...end, signed: now, closed: false, seen: '[]' };
  const row: ChainRow = {
    ...head,
    mac: signHead(key, head),
    anchorSeq: 0,
    anchorHash: chainStart,
    anchorMac: signAnchor(key, chain, end),
  };
  await insertChain(tx, row);
  return row;
};
