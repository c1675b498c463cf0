/** A new chain, empty and signed. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type ChainRow, insertChain, lastChain, lockChain, lockChains } from './audit-store.ts';
import { chainStart, headLabel, signAnchor, signHead } from './chain.ts';

const changes = 0;

/** `process` 'changes' asks for chain 0, which is made once. `tx`: a transaction. */
export const openChain = async (
  tx: Kysely<unknown>,
  box: Pick<SecretBox, 'derive'>,
  { now, process }: { now: Date; process: string },
): Promise<ChainRow> => {
  await lockChains(tx);
  let last = await lastChain(tx);
  if (last === -1) {
    await makeChain(tx, box, { chain: changes, now, process: 'changes' });
    last = changes;
  }
  if (process !== 'changes') return makeChain(tx, box, { chain: last + 1, now, process });
  const row = await lockChain(tx, changes);
  if (row === undefined) throw new Error('the chain of changes is missing');
  return row;
};

const makeChain = async (
  tx: Kysely<unknown>,
  box: Pick<SecretBox, 'derive'>,
  { chain, now, process }: { chain: number; now: Date; process: string },
): Promise<ChainRow> => {
  const key = box.derive(headLabel);
  const end = { seq: 0, hash: chainStart };
  const head = { chain, ...end, signed: now, closed: false, chains: chain };
  const row: ChainRow = {
    ...head,
    process,
    opened: now,
    mac: signHead(key, head),
    anchorSeq: 0,
    anchorHash: chainStart,
    anchorMac: signAnchor(key, chain, end),
  };
  await insertChain(tx, row);
  return row;
};
