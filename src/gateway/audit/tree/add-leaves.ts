/**
 * Adds the committed events of all chains to the tree. One process adds at a time, by a lock that ends with the transaction;
 * the primary key of the leaves excludes two trees in any case. Only events that a signed head covers are added.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { headLabel } from '../chain/chain.ts';
import { checkSignatures } from '../chain/check-chain.ts';
import { listChains } from '../chain/event-store.ts';
import { completeNodes, leafHash, type Node, rightEdge } from './merkle.ts';
import { insertLeaves, type Leaf, leafText, listNewLeaves, lockTree, readNodes, treeSize } from './tree-store.ts';

type Db = Kysely<unknown>;
type End = { chain: number; seq: number };

/** Leaves of one transaction. Fewer are everything that was committed when the heads were read. */
export const pageLeaves = 2_000;
const chainsPage = 500;
const busyMsMax = 30_000;
const busyLookMs = 100;

/** 'busy': another process adds leaves now. */
export type Added = 'all' | 'more' | 'busy';

/** Adds at most 2,000 events up to these ends, in one transaction. */
export const addLeaves = (db: Db, ends: readonly End[], limit = pageLeaves): Promise<Added> =>
  inTransaction(db, async (tx) => {
    if (!(await lockTree(tx))) return 'busy';
    const size = await treeSize(tx);
    const fresh = await listNewLeaves(tx, ends, limit);
    if (fresh.length === 0) return 'all';
    const keys = rightEdge(size);
    const node = await readNodes(tx, keys);
    const edge = new Map(keys.map((key): [number, Node] => [key.level, { ...key, hash: node(key) }]));
    const leaves = fresh.map((leaf, index): Leaf => ({ position: size + index, ...leaf }));
    const hashes = leaves.map((leaf) => leafHash(leafText(leaf)));
    await insertLeaves(tx, leaves, completeNodes(edge, size, hashes));
    return fresh.length < limit ? 'all' : 'more';
  });

/**
 * Adds everything that is committed now, for a command. A process that adds at the same time may know fewer events, so the
 * command waits for it and adds the rest. Fault OVERLOADED after 30 s of waiting.
 */
export const addAllLeaves = async ({ db, box }: { db: Db; box: Pick<SecretBox, 'derive'> }): Promise<void> => {
  const key = box.derive(headLabel);
  for (let after: number | undefined; ; ) {
    const rows = await listChains(db, after, chainsPage);
    await addUpTo(
      db,
      rows.filter((row) => checkSignatures(key, row) === undefined),
    );
    const end = rows.at(-1);
    if (end === undefined || rows.length < chainsPage) return;
    after = end.chain;
  }
};

const addUpTo = async (db: Db, ends: readonly End[]): Promise<void> => {
  let leftMs = busyMsMax;
  for (let added = await addLeaves(db, ends); added !== 'all'; added = await addLeaves(db, ends)) {
    if (added === 'more') continue;
    if (leftMs <= 0)
      throw new Fault('OVERLOADED', 'Another process has been adding events to the audit tree for 30 s; try again');
    leftMs -= busyLookMs;
    await sleep(busyLookMs);
  }
};
