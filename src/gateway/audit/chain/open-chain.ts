/**
 * Opens chains, empty and signed, and locks the chain of changes for a writer. The head and the last events of the
 * chain of changes are checked first. A broken chain of changes is never continued: a new one begins with an event that
 * names the problem.
 */
import type { Kysely } from 'kysely';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { afterCommit } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { completeEvent, type NewAuditEvent } from '../event/event.ts';
import { attestHeads } from './attest-heads.ts';
import { writeAttestedHeads } from './attested-heads.ts';
import { appendToChain, chainStart, changesChain, changesProcess, headLabel, signAnchor, signHead } from './chain.ts';
import {
  findChain,
  freeNumber,
  hasAuditedRows,
  hasEvent,
  hashesAt,
  listChangesBelow,
  listLastEvents,
  lockNewestChanges,
  newestChanges,
  placeKey,
  replaceHead,
} from './chain-store.ts';
import { checkEnd, checkKnown, checkSignatures, needsEvent } from './check-chain.ts';
import { type ChainRow, insertChain, insertEvents, listChainsBelow, lockChain, lockChains } from './event-store.ts';
import { externalHeadsOf } from './external-heads.ts';
import { type AuditProblem, auditProblems } from './problem.ts';

type Tx = Kysely<unknown>;
type Box = Pick<SecretBox, 'derive'>;

const noneAttested = writeAttestedHeads([]);

/** Opens a chain that only `process` writes. `tx`: a transaction. */
export const openChain = async (
  tx: Tx,
  box: Box,
  { now, process }: { now: Date; process: string },
): Promise<ChainRow> => {
  await lockChains(tx);
  const changes = await lockChanges(tx, box, now);
  const made = await makeChain(tx, box, { now, process, seen: noneAttested });
  // The head of the chain of changes now attests that this chain exists.
  const key = box.derive(headLabel);
  const head = { ...changes, signed: now, seen: await attestHeads(tx, key, changes.seen) };
  await replaceHead(tx, head, signHead(key, head), changes.mac);
  return made;
};

/** Locks and checks the chain that changes are written to. `tx`: a transaction. */
export const lockChanges = async (tx: Tx, box: Box, now: Date): Promise<ChainRow> => {
  const known = externalHeadsOf(box)?.known();
  for (;;) {
    const newest = await lockNewestChanges(tx);
    // Another process opened a newer chain during the wait for the lock.
    if (newest !== undefined && (await newestChanges(tx)) !== newest.chain) continue;
    const row = newest && (await belowForged(tx, box, newest));
    const found = row && (await findProblem(tx, box, row, known?.get(row.chain)));
    if (row !== undefined && found === undefined) return row;
    const opened = await openChanges(tx, box, now, {
      newest: newest?.chain,
      broken: row && found && { ...found, row },
    });
    if (opened !== undefined) return opened;
  }
};

/**
 * The chain to continue: the newest, or, when its head is not signed and the audit names that already, the newest signed one
 * below it. The lock of `newest` excludes other writers. Else each change would open a chain that names the same head.
 */
const belowForged = async (tx: Tx, box: Box, newest: ChainRow): Promise<ChainRow> => {
  const key = box.derive(headLabel);
  const problem = checkSignatures(key, newest);
  if (problem === undefined) return newest;
  const { action, details } = problemEvent({ problem, action: 'audit.broken' });
  if (!(await hasEvent(tx, action, details ?? ''))) return newest;
  for (let below = newest.chain; ; ) {
    const rows = await listChangesBelow(tx, below, chainsPage);
    const signed = rows.find((row) => checkSignatures(key, row) === undefined);
    const locked = signed && (await lockChain(tx, signed.chain));
    if (locked !== undefined) return locked;
    const last = rows.at(-1);
    if (last === undefined) return newest;
    below = last.chain;
  }
};

type Broken = { problem: AuditProblem; action: 'audit.broken' | 'audit.rolled_back' };

const findProblem = async (
  tx: Tx,
  box: Box,
  row: ChainRow,
  known: { seq: number; hash: string } | undefined,
): Promise<Broken | undefined> => {
  const signature = checkSignatures(box.derive(headLabel), row);
  if (signature !== undefined) return { problem: signature, action: 'audit.broken' };
  if (known !== undefined) {
    const hashes = needsEvent(row, known) ? await hashesAt(tx, [{ chain: row.chain, seq: known.seq }]) : undefined;
    const behind = checkKnown(row, known, hashes?.get(placeKey(row.chain, known.seq)));
    if (behind !== undefined) return { problem: behind, action: 'audit.rolled_back' };
  }
  const end = checkEnd(row, await listLastEvents(tx, row.chain));
  return end === undefined ? undefined : { problem: end, action: 'audit.broken' };
};

/** The first chain is opened with the first thing that is audited. */
const installingMs = 60 * 60_000;

/** `newest`: the highest number of a chain of changes. Returns undefined when another process was first. */
const openChanges = async (
  tx: Tx,
  box: Box,
  now: Date,
  { newest, broken }: { newest: number | undefined; broken: (Broken & { row: ChainRow }) | undefined },
): Promise<ChainRow | undefined> => {
  await lockChains(tx);
  if ((await newestChanges(tx)) !== newest) return undefined;
  const key = box.derive(headLabel);
  const isSigned = broken !== undefined && equalInConstantTime(broken.row.mac, signHead(key, broken.row));
  const seen = await attestHeads(tx, key, isSigned ? broken.row.seen : noneAttested);
  const made = await makeChain(tx, box, { now, process: changesProcess, seen });
  const before = new Date(now.getTime() - installingMs);
  if (made.chain === changesChain && !(await hasAuditedRows(tx, before))) return made;
  const problem: Broken = broken ?? {
    problem: {
      chain: changesChain,
      seq: null,
      problem:
        made.chain !== changesChain && (await findChain(tx, changesChain))
          ? auditProblems.headSignature
          : auditProblems.chainMissing,
    },
    action: 'audit.rolled_back',
  };
  externalHeadsOf(box)?.addProblem(problem.problem);
  return extendChanges(tx, box, made, now, [problemEvent(problem)]);
};

export const problemEvent = ({ problem, action }: Broken): NewAuditEvent => ({
  action,
  outcome: 'failure',
  actor: 'system',
  details: JSON.stringify(problem),
});

/** Appends events and signs the new head. `row`: from `lockChanges`; the result replaces it. */
export const extendChanges = async (
  tx: Tx,
  box: Box,
  row: ChainRow,
  now: Date,
  events: readonly NewAuditEvent[],
): Promise<ChainRow> => {
  const key = box.derive(headLabel);
  const appended = appendToChain(
    row.chain,
    row,
    events.map((event) => completeEvent(event, now)),
  );
  await insertEvents(tx, appended.events);
  const head = { ...row, ...appended.end, signed: now, closed: false, seen: await attestHeads(tx, key, row.seen) };
  const mac = signHead(key, head);
  if (!(await replaceHead(tx, head, mac, row.mac)))
    throw new Error('the head of the chain of changes was replaced while it was locked');
  const external = externalHeadsOf(box);
  if (external !== undefined) afterCommit(tx, () => external.note(row.chain, appended.end));
  return { ...head, mac };
};

const makeChain = async (
  tx: Tx,
  box: Box,
  { now, process, seen }: { now: Date; process: string; seen: string },
): Promise<ChainRow> => {
  const key = box.derive(headLabel);
  const chain = await nextNumber(tx, box, key);
  const end = { seq: 0, hash: chainStart };
  const head = { chain, process, opened: now, ...end, signed: now, closed: false, seen };
  const row: ChainRow = {
    ...head,
    mac: signHead(key, head),
    anchorSeq: 0,
    anchorHash: chainStart,
    anchorMac: signAnchor(key, chain, end),
  };
  await insertChain(tx, row);
  const external = externalHeadsOf(box);
  if (external !== undefined) afterCommit(tx, () => external.note(chain, end));
  return row;
};

const chainsPage = 500;
const newestPage = 20;
/** Above every number of the column. */
const numbersEnd = 2 ** 31;

/**
 * Chain numbers have no gap, so verification notices a deleted chain. After a restore of an older database, numbers
 * known from before are not used again; the gap shows what was lost. Heads with wrong signatures are ignored. The caller holds the
 * chain of changes meanwhile, so no head below the newest signed one is read.
 */
const nextNumber = async (tx: Tx, box: Box, key: Buffer): Promise<number> => {
  let last = Math.max(-1, ...(externalHeadsOf(box)?.known().keys() ?? []));
  for (let below = numbersEnd; ; ) {
    const rows = await listChainsBelow(tx, below, newestPage);
    const signed = rows.find((row) => checkSignatures(key, row) === undefined);
    const lowest = rows.at(-1);
    if (signed !== undefined) last = Math.max(last, signed.chain);
    if (signed !== undefined || lowest === undefined) break;
    below = lowest.chain;
  }
  return freeNumber(tx, last + 1);
};
