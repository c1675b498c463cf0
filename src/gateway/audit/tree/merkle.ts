/** Pure: the Merkle tree of RFC 9162 section 2.1, over nodes that are read by level and position. */
import { createHash } from 'node:crypto';

/** A complete subtree: node `position` of `level` covers the leaves from position * 2^level on, 2^level of them. */
export type NodeKey = { level: number; position: number };

export const nodeName = ({ level, position }: NodeKey): string => `${level}-${position}`;

/** `node` returns the hash of a complete subtree. */
export type ReadNode = (key: NodeKey) => Buffer;

const hashBytes = 32;

export const leafHash = (data: string): Buffer => createHash('sha256').update('\0').update(data).digest();

export const nodeHash = (left: Buffer, right: Buffer): Buffer =>
  createHash('sha256').update('\u0001').update(left).update(right).digest();

/** The root of a tree without leaves. */
const emptyRoot = (): Buffer => createHash('sha256').digest();

/** The largest power of two below `count`, which is at least 2. */
const splitOf = (count: number): number => {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
};

/** Root of the leaves from `from` to before `to`. `from` is a multiple of the largest power of two in the range. */
export const rootOf = (from: number, to: number, node: ReadNode): Buffer => {
  const count = to - from;
  if (count === 0) return emptyRoot();
  const level = Math.log2(count);
  if (Number.isInteger(level)) return node({ level, position: from / count });
  const middle = from + splitOf(count);
  return nodeHash(rootOf(from, middle, node), rootOf(middle, to, node));
};

/** RFC 9162 section 2.1.3.1: the path from a leaf to the root of the first `to` leaves, from the bottom up. */
export const inclusionPath = (leaf: number, to: number, node: ReadNode, from = 0): Buffer[] => {
  if (to - from === 1) return [];
  const middle = from + splitOf(to - from);
  return leaf < middle
    ? [...inclusionPath(leaf, middle, node, from), rootOf(middle, to, node)]
    : [...inclusionPath(leaf, to, node, middle), rootOf(from, middle, node)];
};

/** RFC 9162 section 2.1.4.1: shows that the first `old` leaves are the beginning of the first `to`. 0 < old <= to. */
export const consistencyPath = (old: number, to: number, node: ReadNode): Buffer[] => subproof(old, 0, to, true, node);

const subproof = (old: number, from: number, to: number, isKnown: boolean, node: ReadNode): Buffer[] => {
  if (old === to) return isKnown ? [] : [rootOf(from, to, node)];
  const middle = from + splitOf(to - from);
  return old <= middle
    ? [...subproof(old, from, middle, isKnown, node), rootOf(middle, to, node)]
    : [...subproof(old, middle, to, false, node), rootOf(from, middle, node)];
};

/** The keys that a computation reads; it runs on hashes of zeros. */
export const nodesRead = (compute: (node: ReadNode) => unknown): NodeKey[] => {
  const keys: NodeKey[] = [];
  compute((key) => {
    keys.push(key);
    return Buffer.alloc(hashBytes);
  });
  return keys;
};

export type Node = NodeKey & { hash: Buffer };

/** The complete subtrees at the right edge of a tree of `size` leaves, one for each bit of its size. */
export const rightEdge = (size: number): NodeKey[] => {
  const keys: NodeKey[] = [];
  for (let level = 0; 2 ** level <= size; level += 1) {
    const count = Math.floor(size / 2 ** level);
    if (count % 2 === 1) keys.push({ level, position: count - 1 });
  }
  return keys;
};

/** Adds leaves to a right edge, and returns the subtrees above them that became complete. `edge` is changed. */
export const completeNodes = (edge: Map<number, Node>, first: number, leaves: readonly Buffer[]): Node[] => {
  const made: Node[] = [];
  leaves.forEach((hash, index) => {
    let node: Node = { level: 0, position: first + index, hash };
    for (let left = edge.get(node.level); node.position % 2 === 1; left = edge.get(node.level)) {
      if (left === undefined) throw new Error('the tree of the audit lacks a node at its right edge');
      edge.delete(node.level);
      node = { level: node.level + 1, position: (node.position - 1) / 2, hash: nodeHash(left.hash, node.hash) };
      made.push(node);
    }
    edge.set(node.level, node);
  });
  return made;
};
