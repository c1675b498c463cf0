/** Checkpoints of the tree, and proofs against them (C2SP tlog-proof, and the body of C2SP tlog-witness). */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { readEventId } from '../event/event-id.ts';
import { addAllLeaves } from './add-leaves.ts';
import { signingKeyOf, type TreeDeps, verifiersOf } from './checkpoint-keys.ts';
import { consistencyPath, inclusionPath, nodesRead, type ReadNode, rootOf } from './merkle.ts';
import type { Checkpoint, CheckpointKey } from './signed-note.ts';
import { findLeaf, leafText, readNodes, treeSize } from './tree-store.ts';

type Db = Kysely<unknown>;

/** Runs a computation over the nodes that it needs, which are read at once. */
const compute = async <T>(db: Db, work: (node: ReadNode) => T): Promise<T> =>
  work(await readNodes(db, nodesRead(work)));

export const rootAt = (db: Db, size: number): Promise<Buffer> => compute(db, (node) => rootOf(0, size, node));

/** The checkpoint of what is committed. */
export const signTree = async (db: Db, key: CheckpointKey): Promise<string> => {
  const size = await treeSize(db);
  return key.write(size, await rootAt(db, size));
};

/** The newest checkpoint, after everything that is committed was added to the tree. */
export const newestCheckpoint = async (deps: TreeDeps): Promise<{ checkpoint: string; vkey: string }> => {
  const key = await signingKeyOf(deps);
  await addAllLeaves(deps);
  return { checkpoint: await signTree(deps.db, key), vkey: key.vkey };
};

/** Undefined when no key of this audit signed it. */
export const readCheckpoint = async (deps: TreeDeps, text: string): Promise<Checkpoint | undefined> => {
  for (const verifier of await verifiersOf(deps)) {
    const found = verifier.read(text);
    if (found !== undefined) return found;
  }
  return undefined;
};

const refuse = (text: string): Fault => new Fault('VALIDATION_ERROR', text);

/** A checkpoint that was kept, whose signature was checked and which the tree still contains. */
const readKept = async (deps: TreeDeps, text: string): Promise<Checkpoint> => {
  const { db } = deps;
  const kept = await readCheckpoint(deps, text);
  if (kept === undefined) throw refuse('The checkpoint is not signed by a key of this audit');
  if (kept.size > (await treeSize(db)) || !(await rootAt(db, kept.size)).equals(kept.root)) {
    throw refuse('The audit is not the one of this checkpoint: run audit verify --checkpoint with it');
  }
  return kept;
};

/**
 * Shows that an event is in the tree of a checkpoint; default: of the newest. Fault VALIDATION_ERROR when it is not.
 * `extra` holds the bytes of the leaf.
 */
export const proveEvent = async (deps: TreeDeps, event: string, against?: string): Promise<string> => {
  const place = readEventId(event);
  if (place === undefined) throw refuse('The id of an event is CHAIN-NUMBER, e.g. 0-17');
  const checkpoint = against ?? (await newestCheckpoint(deps)).checkpoint;
  const { size } = await readKept(deps, checkpoint);
  const leaf = await findLeaf(deps.db, place.chain, place.seq);
  if (leaf === undefined)
    throw refuse(`No event ${event} is in the tree of the audit: check its id, and run audit verify`);
  if (leaf.position >= size) throw refuse(`The event ${event} is newer than the checkpoint`);
  const path = await compute(deps.db, (node) => inclusionPath(leaf.position, size, node));
  const extra = Buffer.from(leafText(leaf)).toString('base64');
  return `c2sp.org/tlog-proof@v1\nextra ${extra}\nindex ${leaf.position}\n${lines(path)}\n${checkpoint}`;
};

/** Shows that a checkpoint, by default the newest, continues an older one. Fault VALIDATION_ERROR when it does not. */
export const proveConsistency = async (deps: TreeDeps, from: string, against?: string): Promise<string> => {
  const checkpoint = against ?? (await newestCheckpoint(deps)).checkpoint;
  const [old, { size }] = [await readKept(deps, from), await readKept(deps, checkpoint)];
  if (old.size > size) throw refuse(`The older checkpoint has ${old.size} events, and the other one only ${size}`);
  return consistencyBody(deps.db, old.size, { size, checkpoint });
};

/** Body of a request to a witness: the first `old` events are the beginning of the checkpoint. */
export const consistencyBody = async (
  db: Db,
  old: number,
  { size, checkpoint }: { size: number; checkpoint: string },
): Promise<string> => {
  const path = old === 0 || old === size ? [] : await compute(db, (node) => consistencyPath(old, size, node));
  return `old ${old}\n${lines(path)}\n${checkpoint}`;
};

const lines = (hashes: readonly Buffer[]): string => hashes.map((hash) => `${hash.toString('base64')}\n`).join('');
