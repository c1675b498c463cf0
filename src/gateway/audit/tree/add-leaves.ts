/**
 * Adds the committed events of all chains to the tree. One process adds at a time, by a lock that ends with the transaction;
 * the primary key of the leaves excludes two trees in any case. Only events that a signed head covers are added.
 */
import type { Kysely } from 'kysely';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { headLabel } from '../chain/chain.ts';
import { checkSignatures } from '../chain/check-chain.ts';
import { listChains } from '../chain/event-store.ts';
import { completeNodes, leafHash, type Node, rightEdge } from './merkle.ts';
import { insertLeaves, type Leaf, leafText, listNewLeaves, lockTree, readNodes, treeSize } from './tree-store.ts';

type Db = Kysely<unknown>;
type End = { chain: number; seq: number };

const pageLeaves = 2_000;
const chainsPage = 500;

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

/** Adds everything that is committed now, for a command. A process that adds at the same time adds the rest. */
export const addAllLeaves = async ({ db, box }: { db: Db; box: Pick<SecretBox, 'derive'> }): Promise<void> => {
  const key = box.derive(headLabel);
  for (let after = -1; ; ) {
    const rows = await listChains(db, after, chainsPage);
    const sound = rows.filter((row) => checkSignatures(key, row) === undefined);
    while ((await addLeaves(db, sound)) === 'more');
    const end = rows.at(-1);
    if (end === undefined || rows.length < chainsPage) return;
    after = end.chain;
  }
};
