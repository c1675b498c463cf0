/**
 * Compares the tree and the events with a checkpoint that was kept outside of the database. With the master key an attacker
 * can compute every chain, the tree and a checkpoint anew, but not a tree with the root of the kept one.
 */
import { type AuditProblem, auditProblems } from '../chain/problem.ts';
import type { TreeDeps } from './checkpoint-keys.ts';
import { leafHash, type Node, nodeHash, rightEdge, rootOf } from './merkle.ts';
import { createMissingLeaves } from './missing-leaves.ts';
import { readCheckpoint, rootAt } from './prove.ts';
import { type ComparedLeaf, leafText, listComparedLeaves, oldestEvent, treeSize } from './tree-store.ts';

/**
 * `problem`: null when the checkpoint holds. `dropped`: how many of its events are not stored, as those that the retention
 * dropped; `oldest`: time of the oldest one that is stored. Both null with a problem, and `oldest` without an event.
 */
export type ComparedCheckpoint = {
  size: number;
  dropped: number | null;
  oldest: string | null;
  problem: string | null;
  problems: AuditProblem[];
};

const pageLeaves = 5_000;
const problemsMax = 100;

export const verifyCheckpoint = async (
  deps: TreeDeps,
  text: string,
  pageSize = pageLeaves,
): Promise<ComparedCheckpoint> => {
  const { db } = deps;
  const kept = await readCheckpoint(deps, text);
  if (kept === undefined) return failed(0, 'the checkpoint is not signed by a key of this audit');
  const { size, root } = kept;
  const current = await treeSize(db);
  if (current < size) return failed(size, `the checkpoint has ${size} events, and the tree only ${current}`);
  const problems: AuditProblem[] = [];
  const edge = new Map<number, Node>();
  const missing = createMissingLeaves((await oldestEvent(db)) ?? new Date());
  let dropped = 0;
  let next = 0;
  for (;;) {
    const page = await listComparedLeaves(db, next, pageSize);
    for (const leaf of page) {
      if (leaf.position !== next) return failed(size, `leaf ${next} of the tree is missing`);
      next += 1;
      if (leaf.position < size) addTo(edge, leaf);
      if (leaf.position < size && leaf.stored === null) dropped += 1;
      missing.add(leaf);
      const problem = problemOf(leaf);
      if (problem !== undefined && problems.length < problemsMax) problems.push(problem);
    }
    if (page.length < pageSize) break;
  }
  const oldest = await oldestEvent(db);
  problems.push(...missing.found(oldest ?? new Date()).slice(0, problemsMax - problems.length));
  const nodes = new Map(rightEdge(size).map((key) => [key.level, edge.get(key.level)]));
  const computed = rootOf(0, size, ({ level }) => nodes.get(level)?.hash ?? Buffer.alloc(0));
  if (!computed.equals(root)) return { ...failed(size, 'the events are not those of the checkpoint'), problems };
  const stored = await rootAt(db, size).catch(() => undefined);
  if (stored?.equals(root) !== true) return { ...failed(size, 'the stored nodes of the tree were changed'), problems };
  return { size, dropped, oldest: oldest?.toISOString() ?? null, problem: null, problems };
};

const failed = (size: number, problem: string): ComparedCheckpoint => ({
  ...{ size, dropped: null, oldest: null },
  problem,
  problems: [],
});

/** Only the right edge is kept, which bounds the memory. */
const addTo = (edge: Map<number, Node>, leaf: ComparedLeaf): void => {
  let node: Node = { level: 0, position: leaf.position, hash: leafHash(leafText(leaf)) };
  for (let left = edge.get(node.level); left !== undefined; left = edge.get(node.level)) {
    edge.delete(node.level);
    node = { level: node.level + 1, position: (node.position - 1) / 2, hash: nodeHash(left.hash, node.hash) };
  }
  edge.set(node.level, node);
};

/** An event before the signed beginning of its chain was dropped by the retention, unless `createMissingLeaves` finds otherwise. */
const problemOf = ({ chain, seq, hash, stored, anchor }: ComparedLeaf): AuditProblem | undefined => {
  if (anchor === null) return { chain, seq: null, problem: auditProblems.chainMissing };
  if (stored === null) return seq <= anchor ? undefined : { chain, seq, problem: auditProblems.eventMissing };
  return stored === hash ? undefined : { chain, seq, problem: auditProblems.eventChanged };
};
