/**
 * Writes what attempts came to. While one batch is being written the next one gathers, and while others are on their way
 * it waits a moment for them, so that under load many share a transaction; a single one waits for nobody. Also draws what follows for the endpoint: its health, the breaker, and
 * that it is disabled when it is gone or has only failed for days.
 */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction, isTransient, withCommit } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';
import { startWait, type Wait } from '#src/platform/wake.ts';
import { disableFailing, disableGone } from '../endpoints/endpoint-store.ts';
import type { EndpointClass } from '../pacing/concurrency-limit.ts';
import { failuresToHold, holdMs } from '../pacing/rate.ts';
import {
  type AttemptRecord,
  type Health,
  type HealthChange,
  holdsLease,
  insertHealth,
  type ReadyChange,
  writeAttempts,
  writeHealth,
  writeReady,
  writeWarned,
} from '../queue/attempt-store.ts';
import type { ReadyEndpoint } from '../queue/claim-store.ts';
import { type Lane, lockLanes, releaseNext, stepBack } from '../queue/entity-queue-store.ts';
import { type Loop, openLoop } from '../queue/loop-connection.ts';
import { lockReadyRows } from '../queue/schedule-store.ts';

export type RecordDeps = {
  pool: Pool;
  clock: Clock;
  log: Logger;
  /** An endpoint was disabled: its backlog is to be cancelled. */
  onDisabled: () => void;
  /** More than that are not to be added without waiting. */
  unwrittenMax: number;
  /** Attempts that have begun and are not written yet. */
  runningCount: () => number;
  /** Deliveries that waited behind others may go now. */
  onReleased: () => void;
};

export type Made = {
  attempt: AttemptRecord;
  /** The endpoint as it was when the delivery was claimed, and what this answer says of it. */
  endpoint: ReadyEndpoint;
  endpointClass: EndpointClass;
  /** Of `performance.now()`: its lease is over then. */
  endMs: number;
};

export type Recorder = {
  /** Resolves when it is written, or when it cannot be any more because another worker has it. Rejects when it was not. */
  add(made: Made, cut: AbortSignal): Promise<void>;
  /** Whoever adds may go on without waiting until it is written. */
  hasRoom(): boolean;
  /** When nothing is added any more. */
  close(): void;
};

const batchMax = 250;
/** One that is alone is written at once; while others are on their way it waits for so many, and no longer than this. */
const batchEnough = 128;
const gatherMs = 5;
const repeatMs = 500;
const dayMs = 86_400_000;
const failingMs = 5 * dayMs;
const warnedMs = 3 * dayMs;
const failuresMin = 10;

type Waiting = { made: Made; cut: AbortSignal; resolve: () => void; reject: (error: unknown) => void };

export const createRecorder = (deps: RecordDeps): Recorder => {
  const waiting: Waiting[] = [];
  let loop: Loop | undefined;
  let isWriting = false;
  let writingCount = 0;
  let gathering: Wait | undefined;

  const write = async (batch: readonly Made[]): Promise<void> => {
    loop ??= await openLoop(deps.pool, { forOutcomes: true });
    try {
      await writeBatch(deps, loop.db, batch);
    } catch (error) {
      loop?.release();
      loop = undefined;
      throw error;
    }
  };
  const settle = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      await write(batch.map(({ made }) => made));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (isTransient(error)) return putBack(batch, error);
      // One that cannot be written must not take the others with it.
      if (batch.length > 1) for (const one of batch) await settle([one]);
      else batch[0]?.reject(error);
    }
  };
  /** A word from a receiver is worth keeping while its lease lasts: without it everything is sent again. */
  const putBack = async (batch: readonly Waiting[], error: unknown): Promise<void> => {
    const nowMs = performance.now();
    const isLost = ({ made, cut }: Waiting): boolean => cut.aborted || nowMs > made.endMs;
    for (const one of batch) if (isLost(one)) one.reject(error);
    const kept = batch.filter((one) => !isLost(one));
    waiting.unshift(...kept);
    const [first] = kept;
    if (first !== undefined) await pause(repeatMs, first.cut);
  };
  const isEnough = (): boolean => waiting.length >= Math.min(batchEnough, deps.runningCount());
  const gather = async (): Promise<void> => {
    if (isEnough()) return;
    gathering = startWait(gatherMs);
    await gathering.over;
    gathering = undefined;
  };
  const run = async (): Promise<void> => {
    isWriting = true;
    while (waiting.length > 0) {
      await gather();
      const batch = waiting.splice(0, batchMax);
      writingCount = batch.length;
      await settle(batch);
      writingCount = 0;
    }
    isWriting = false;
  };
  return {
    add: (made, cut) =>
      new Promise((resolve, reject) => {
        waiting.push({ made, cut, resolve, reject });
        if (!isWriting) void run();
        else if (gathering !== undefined && isEnough()) gathering.end();
      }),
    hasRoom: () => waiting.length + writingCount <= deps.unwrittenMax,
    close: () => {
      loop?.release();
      loop = undefined;
    },
  };
};

const writeBatch = async (deps: RecordDeps, db: Kysely<unknown>, batch: readonly Made[]): Promise<void> => {
  for (const { attempt } of batch) if (attempt.status === 410) await noteGone(deps, db, attempt);
  const { failing, isReleased } = await inTransaction(db, (tx) => writeAll(deps, tx, batch));
  if (isReleased) deps.onReleased();
  const before = new Date(deps.clock.now().getTime() - failingMs);
  for (const { endpointUid, failingSince, failuresCount } of failing) {
    if (failingSince > before || failuresCount < failuresMin) continue;
    const rule = { failingSinceBefore: before, failuresMin };
    const isDisabled = await inTransaction(db, (tx) => disableFailing(tx, endpointUid, rule, deps.clock.now()));
    if (!isDisabled) continue;
    deps.log.warn({ endpoint: endpointUid, failuresCount }, 'an endpoint that only failed for days was disabled');
    deps.onDisabled();
  }
};

/** 410: the receiver wants nothing more, ever (interface 12.4). Before its answer is written, so that nothing is claimed between. */
const noteGone = async (deps: RecordDeps, db: Kysely<unknown>, attempt: AttemptRecord): Promise<void> => {
  const isDisabled = await inTransaction(
    db,
    async (tx) =>
      (await holdsLease(tx, attempt)) && (await disableGone(tx, attempt.delivery.endpointUid, deps.clock.now())),
  );
  if (!isDisabled) return;
  deps.log.info({ endpoint: attempt.delivery.endpointUid }, 'an endpoint that is gone was disabled');
  deps.onDisabled();
};

/** Locks in one sequence: lanes, turns, deliveries, health. Returns the endpoints that fail, and whether others may go now. */
const writeAll = async (
  deps: RecordDeps,
  tx: Kysely<unknown>,
  batch: readonly Made[],
): Promise<{ failing: Health[]; isReleased: boolean }> => {
  // What tells nothing is not waited for: the next statement goes right behind it.
  await withCommit(tx, lockLanes(tx, batch.map(laneOf)));
  if (
    batch.some(({ attempt, endpoint, endpointClass }) => attempt.failure !== null || endpoint.class !== endpointClass)
  )
    await withCommit(tx, lockReadyRows(tx, [...new Set(batch.map(({ endpoint }) => endpoint.endpointUid))]));
  const written = await writeAttempts(
    tx,
    batch.map(({ attempt }) => attempt),
  );
  const now = deps.clock.now();
  // While one was held, an earlier event may have joined to be sent again: that one goes first now.
  const unfinished = written.filter(({ finished }) => !finished);
  await withCommit(tx, stepBack(tx, unfinished, now));
  const followed = written.filter((one) => one.followed);
  await withCommit(tx, releaseNext(tx, followed, now));
  const uids = new Set(written.map(({ uid }) => uid));
  const counted = batch.filter(({ attempt }) => uids.has(attempt.delivery.uid));
  const isReleased = followed.length > 0;
  if (counted.length === 0) return { failing: [], isReleased };
  const changes = healthChanges(counted);
  const unknownOnes = counted.filter(({ endpoint }) => !endpoint.hasHealth).map(({ endpoint }) => endpoint.endpointUid);
  await withCommit(tx, insertHealth(tx, [...new Set(unknownOnes)]));
  const failing = await writeHealth(tx, changes);
  await withCommit(tx, writeReady(tx, readyChanges(counted, changes, failing)));
  const warnBefore = new Date(now.getTime() - warnedMs);
  const toWarn = failing.filter(({ failingSince, warned }) => warned === null && failingSince <= warnBefore);
  for (const one of await writeWarned(
    tx,
    toWarn.map(({ endpointUid }) => endpointUid),
    now,
  ))
    deps.log.warn(one, 'an endpoint only fails and will be disabled two days from now');
  return { failing, isReleased };
};

const laneOf = ({ attempt: { delivery } }: Made): Lane => delivery;

/** Attempts of an endpoint in the sequence of their end: only those after the last success count. */
const healthChanges = (batch: readonly Made[]): HealthChange[] => {
  const changes = new Map<string, HealthChange>();
  const sorted = batch.toSorted((left, right) => left.attempt.ended.getTime() - right.attempt.ended.getTime());
  for (const { attempt } of sorted) {
    const { endpointUid } = attempt.delivery;
    const known = changes.get(endpointUid) ?? {
      endpointUid,
      lastSuccess: null,
      failuresCount: 0,
      firstFailure: null,
      lastFailure: null,
    };
    changes.set(
      endpointUid,
      attempt.failure === null
        ? { ...known, lastSuccess: attempt.ended, failuresCount: 0, firstFailure: null }
        : {
            ...known,
            failuresCount: known.failuresCount + 1,
            firstFailure: known.firstFailure ?? attempt.ended,
            lastFailure: attempt.ended,
          },
    );
  }
  return [...changes.values()];
};

const readyChanges = (
  batch: readonly Made[],
  changes: readonly HealthChange[],
  failing: readonly Health[],
): ReadyChange[] => {
  const last = new Map(batch.map((made) => [made.endpoint.endpointUid, made]));
  const failures = new Map(failing.map(({ endpointUid, failuresCount }) => [endpointUid, failuresCount]));
  return changes.flatMap(({ endpointUid, lastFailure, lastSuccess }) => {
    const made = last.get(endpointUid);
    if (made === undefined) return [];
    const heldMs = holdMs(failures.get(endpointUid) ?? 0);
    const gate = heldMs === 0 || lastFailure === null ? null : new Date(lastFailure.getTime() + heldMs);
    const recovered = made.endpoint.failuresCount >= failuresToHold && heldMs === 0 ? lastSuccess : null;
    if (gate === null && recovered === null && made.endpoint.class === made.endpointClass) return [];
    return [{ endpointUid, class: made.endpointClass, gate, recovered }];
  });
};
