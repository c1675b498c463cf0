/**
 * Drops old months of the audit: a partition goes as a whole when its last day is older than the retention. The same
 * transaction signs the new beginning of each chain, so that verification can tell dropped events from removed ones.
 * Before that, every hash from the old beginning to the new one is checked. A partition that was changed, or that is
 * not a month of the audit, is left in place and reported.
 */
import type { Kysely } from 'kysely';
import { type Clock, dayMs, hourMs } from '#src/platform/clock.ts';
import { inTransaction, isTransient } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { type ChainEnd, headLabel, signAnchor } from '../chain/chain.ts';
import { findChain, findChains } from '../chain/chain-store.ts';
import { checkSignatures, isAsWritten } from '../chain/check-chain.ts';
import { type ChainRow, ensurePartition, listChainEvents, updateAnchors } from '../chain/event-store.ts';
import { extendChanges, lockChanges } from '../chain/open-chain.ts';
import { type AuditProblem, auditProblems } from '../chain/problem.ts';
import { recordProblem } from '../chain/record-problem.ts';
import {
  deleteBefore,
  dropPartition,
  lastOfPartition,
  latestIn,
  listPartitions,
  makeMonth,
} from './partition-store.ts';

export type RetainAuditDeps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'>; clock: Clock };

const everyMs = hourMs;
const pageEvents = 1_000;
const anchorsMax = 500;
/** Tolerance at the end of a month: two events of one moment may lie on both sides of it. */
const edgeMs = hourMs;

/**
 * `dropped`: names, oldest first. `left`: partitions that are too old or unknown, and why they were not dropped. `postponed`:
 * months with events that follow events of a later month, since a clock was set back; `until` is the end of that month.
 */
export type RetainedAudit = {
  dropped: string[];
  left: { name: string; reason: string }[];
  postponed: { name: string; until: Date }[];
};

/** Fails with a lock timeout while another session, such as a pg_dump, uses the table of the events. */
export const dropOldAudit = async (deps: RetainAuditDeps, daysMax: number): Promise<RetainedAudit> => {
  const cut = deps.clock.now().getTime() - daysMax * dayMs;
  const retained: RetainedAudit = { dropped: [], left: [], postponed: [] };
  for (const { name, endsAt } of await listPartitions(deps.db)) {
    if (endsAt === undefined) retained.left.push({ name, reason: 'it is not a month of the audit' });
    else if (endsAt.getTime() <= cut) {
      const outcome = await dropOne(deps, { name, endsAt, cut });
      if (outcome === 'dropped') retained.dropped.push(name);
      else if (outcome instanceof Date) retained.postponed.push({ name, until: outcome });
      else if (outcome !== 'gone') retained.left.push({ name, reason: outcome.problem });
    }
  }
  return retained;
};

type Anchor = ChainEnd & { chain: number };

/** `latest`: of the events before this beginning that lie in other months; undefined when there is none. */
type Beginning = Anchor & { latest: Date | undefined };

/** A month that is older than the retention. `cut`: what ended before it is too old. */
type OldMonth = { name: string; endsAt: Date; cut: number };

/**
 * 'gone': another gateway dropped it first, or it was written to meanwhile; then the next round tries again. A time: it stays
 * until what ends then is too old.
 */
const dropOne = async (deps: RetainAuditDeps, month: OldMonth): Promise<'dropped' | 'gone' | Date | AuditProblem> => {
  const { name, endsAt } = month;
  const { db, box, clock } = deps;
  const key = box.derive(headLabel);
  // Checking a month takes long, so it runs without locks. The result is compared again below, under the locks.
  const found = await findAnchors({ db, key }, month).catch(async (error: unknown) => {
    if (await isThere(db, name)) throw error;
    return undefined;
  });
  if (found === undefined || !(await isThere(db, name))) return 'gone';
  const { anchors, problem, until } = found;
  if (problem !== undefined) {
    await inTransaction(db, (tx) => recordProblem(tx, box, clock.now(), problem));
    return problem;
  }
  if (until !== undefined) return until;
  const signed = anchors.map(({ chain, seq, hash }) => ({
    chain,
    seq,
    hash,
    mac: signAnchor(key, chain, { seq, hash }),
  }));
  return inTransaction(db, async (tx) => {
    await ensurePartition(tx, clock.now());
    // Locking the chain of changes first also keeps every other gateway from dropping at the same time.
    await lockChanges(tx, box, clock.now());
    if (!(await isThere(tx, name))) return 'gone';
    const now = await lastOfPartition(tx, name);
    const walked = new Set(anchors.map(({ chain, seq, hash }) => `${chain}-${seq}-${hash}`));
    // Only a retention writes beginnings, and the lock above excludes every other one.
    const rows = await findChains(
      tx,
      now.map(({ chain }) => chain),
    );
    const beginnings = new Map(rows.map(({ chain, anchorSeq }) => [chain, anchorSeq]));
    for (const { chain, seq, hash } of now) {
      const beginning = beginnings.get(chain);
      if (beginning === undefined) return 'gone';
      if (beginning < seq && !walked.has(`${chain}-${seq}-${hash}`)) return 'gone';
    }
    for (let i = 0; i === 0 || i < anchors.length; i += anchorsMax) {
      const details = JSON.stringify({ name, anchors: anchors.slice(i, i + anchorsMax).map(toTuple) });
      await appendDropped(tx, deps, details);
    }
    // Locks the table of the events before the heads of the chains, as the statement of a recorder does: in the other
    // sequence, each would wait for the other one. The lock stops every request that is recorded, so few statements follow.
    await dropPartition(tx, name);
    await updateAnchors(tx, signed);
    for (const { chain, seq, latest } of anchors)
      if (latest !== undefined)
        await deleteBefore(tx, chain, seq, new Date(Math.max(latest.getTime(), endsAt.getTime() + edgeMs)));
    return 'dropped';
  });
};

/** The new beginning of each chain, or the first problem in the partition, or the time until which it has to stay. */
const findAnchors = async (
  deps: { db: Kysely<unknown>; key: Buffer },
  { name, endsAt, cut }: OldMonth,
): Promise<{ anchors: Beginning[]; problem?: AuditProblem; until?: Date }> => {
  const anchors: Beginning[] = [];
  let untilMs = cut;
  const others = (await listPartitions(deps.db)).filter((one) => one.name !== name).map(({ table }) => table);
  for (const last of await lastOfPartition(deps.db, name)) {
    const row = await findChain(deps.db, last.chain);
    if (row === undefined) return { anchors, problem: noHead(last) };
    const latest = await latestIn(deps.db, others, last.chain, last.seq);
    const isLate = latest !== undefined && latest.getTime() > endsAt.getTime() + edgeMs;
    const stayMs = isLate && (await isContinued(deps.db, row, last)) ? monthEndMs(latest) : undefined;
    if (stayMs !== undefined && stayMs > cut) {
      untilMs = Math.max(untilMs, stayMs);
      continue;
    }
    const problem = await checkEvents(deps, row, last);
    if (problem !== undefined) return { anchors, problem };
    if (isLate && stayMs === undefined)
      return { anchors, problem: { chain: last.chain, seq: last.seq, problem: auditProblems.eventChanged } };
    anchors.push({ ...last, latest });
  }
  return untilMs > cut ? { anchors, until: new Date(untilMs) } : { anchors };
};

/**
 * True when the chain goes on from this event. Behind a clock that was set back, events of an old month rightly follow those of
 * a later one. An inserted copy of an event with an old time is not continued: the next event holds the hash of the original.
 */
const isContinued = async (db: Kysely<unknown>, row: ChainRow, { seq, hash }: Anchor): Promise<boolean> => {
  if (row.seq === seq) return row.hash === hash;
  const [next, second] = await listChainEvents(db, row.chain, { seq }, 2);
  if (next === undefined || next.seq !== seq + 1 || second?.seq === next.seq) return false;
  return isAsWritten(hash, row.chain, next);
};

const monthEndMs = (at: Date): number => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);

const appendDropped = async (tx: Kysely<unknown>, { box, clock }: RetainAuditDeps, details: string): Promise<void> => {
  const row = await lockChanges(tx, box, clock.now());
  await extendChanges(tx, box, row, clock.now(), [{ action: 'audit.dropped', actor: 'system', details }]);
};

const toTuple = ({ chain, seq, hash }: Anchor): [number, number, string] => [chain, seq, hash];

const isThere = async (db: Kysely<unknown>, name: string): Promise<boolean> =>
  (await listPartitions(db)).some((partition) => partition.name === name);

const noHead = ({ chain, seq }: Anchor): AuditProblem => ({ chain, seq, problem: auditProblems.noHead });

/** Checks the events from the signed beginning to the last event of the partition. */
const checkEvents = async (
  { db, key }: { db: Kysely<unknown>; key: Buffer },
  row: ChainRow,
  last: Anchor,
): Promise<AuditProblem | undefined> => {
  const { chain } = row;
  const signature = checkSignatures(key, row);
  if (signature !== undefined) return signature;
  if (last.seq > row.seq) return { chain, seq: row.seq + 1, problem: auditProblems.eventsBehind };
  if (last.seq <= row.anchorSeq) return { chain, seq: last.seq, problem: auditProblems.eventsBefore };
  let end: ChainEnd = { seq: row.anchorSeq, hash: row.anchorHash };
  for (let at: Date | undefined; end.seq < last.seq; ) {
    const page = await listChainEvents(
      db,
      chain,
      at === undefined ? { seq: end.seq } : { seq: end.seq, at },
      pageEvents,
    );
    if (page.length === 0) return { chain, seq: end.seq + 1, problem: auditProblems.eventMissing };
    for (const event of page) {
      if (event.seq !== end.seq + 1) return { chain, seq: end.seq + 1, problem: auditProblems.eventMissing };
      if (!isAsWritten(end.hash, chain, event)) return { chain, seq: event.seq, problem: auditProblems.eventChanged };
      end = { seq: event.seq, hash: event.hash };
      at = event.at;
      if (end.seq === row.seq && end.hash !== row.hash)
        return { chain, seq: end.seq, problem: auditProblems.eventNotSigned };
      if (end.seq === last.seq) break;
    }
  }
  return end.hash === last.hash ? undefined : { chain, seq: last.seq, problem: auditProblems.eventChanged };
};

export const createAuditRetention = (deps: RetainAuditDeps & { log: Logger }, daysMax: number): Service => ({
  name: 'audit-retention',
  run: async (signal) => {
    while (!signal.aborted) {
      try {
        await retain(deps, daysMax);
      } catch (error) {
        // A failed service would start again at once, and queue its lock or repeat its long statement again.
        if (!isTransient(error)) throw error;
        deps.log.warn({ err: error }, 'months of the audit could not be made or dropped; trying again in an hour');
      }
      await pause(everyMs, signal);
    }
  },
});

const retain = async (deps: RetainAuditDeps & { log: Logger }, daysMax: number): Promise<void> => {
  await inTransaction(deps.db, (tx) => makeMonth(tx, nextMonth(deps.clock.now())));
  const { dropped, left, postponed } = await dropOldAudit(deps, daysMax);
  if (dropped.length > 0) deps.log.info({ partitions: dropped }, 'old months of the audit were dropped');
  if (postponed.length > 0)
    deps.log.warn(
      { partitions: postponed },
      'old months of the audit stay until a later month is too old as well: a clock was set back between their events',
    );
  if (left.length > 0)
    deps.log.error({ partitions: left }, 'the retention could not drop these partitions of the audit');
};

const nextMonth = (now: Date): Date => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 15));
