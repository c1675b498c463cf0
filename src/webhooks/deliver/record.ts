/**
 * Writes the results of attempts in batches. While one batch is written the next one gathers. Under load a batch waits a
 * moment for results of attempts in flight, so that many share a transaction; a single result is written at once. The same
 * transaction updates the health of the endpoint and its breaker. Afterwards an endpoint that is gone or has only failed
 * for days is disabled.
 */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import { inTransaction, isTransient, withCommit } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';
import { startWait, type Wait } from '#src/platform/wake.ts';
import { disableFailing, disableGone } from '../endpoints/endpoint-store.ts';
import { recording } from '../pacing/bounds.ts';
import { failuresToHold } from '../pacing/breaker.ts';
import {
  type Health,
  holdsLease,
  insertHealth,
  type Written,
  writeAttempts,
  writeHealth,
  writeScheduleChanges,
  writeWarned,
} from '../queue/attempt-store.ts';
import type { DueEndpoint } from '../queue/claim-store.ts';
import {
  type EndedQueue,
  type EntityQueue,
  lockEntityQueues,
  releaseNext,
  yieldToEarlier,
} from '../queue/entity-queue-store.ts';
import { type Loop, openLoop } from '../queue/loop-connection.ts';
import { lockSchedule } from '../queue/schedule-store.ts';
import { type AttemptResult, healthChangesOf, scheduleChangesOf } from './endpoint-health.ts';

export type { AttemptResult };

type RecordDeps = {
  pool: Pool;
  clock: Clock;
  log: Logger;
  /** The endpoint is disabled: its backlog has to be cancelled. `endpoint`: as it was at an attempt that led to it. */
  onDisabled: (endpoint: DueEndpoint) => void;
  /** `hasRoom` is false while more results than this are not written yet. */
  unwrittenMax: number;
  /** Attempts in flight, with those whose result is not written yet. */
  runningCount: () => number;
  /** Deliveries that waited in their entity queue may go now. */
  onReleased: () => void;
};

export type Recorder = {
  /**
   * Resolves when the result is written, or when another worker holds the lease by now. Rejects when writing failed, or
   * when `cut` was aborted before it succeeded.
   */
  add(result: AttemptResult, cut: AbortSignal): Promise<void>;
  /** True while so few results are unwritten that the caller need not wait for its own. */
  hasRoom(): boolean;
  /** Call when no result is added any more. */
  close(): void;
};

/** Interface 12.4: when an endpoint that only fails is disabled, and when its owner is warned. */
const failingMs = 5 * dayMs;
const warnedMs = 3 * dayMs;
const failuresMin = 10;

type Waiting = { result: AttemptResult; cut: AbortSignal; resolve: () => void; reject: (error: unknown) => void };

export const createRecorder = (deps: RecordDeps): Recorder => {
  const waiting: Waiting[] = [];
  let loop: Loop | undefined;
  let isWriting = false;
  let writingCount = 0;
  let gathering: Wait | undefined;

  const write = async (batch: readonly AttemptResult[]): Promise<void> => {
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
      await write(batch.map(({ result }) => result));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (isTransient(error)) return requeue(batch, error);
      // One result that cannot be written must not fail the others, so each is written alone.
      if (batch.length > 1) for (const one of batch) await settle([one]);
      else batch[0]?.reject(error);
    }
  };
  /** Keeps the results until their leases end: without them the deliveries would be sent again. */
  const requeue = async (batch: readonly Waiting[], error: unknown): Promise<void> => {
    const nowMs = performance.now();
    const isLost = ({ result, cut }: Waiting): boolean => cut.aborted || nowMs > result.leaseEndMs;
    for (const one of batch) if (isLost(one)) one.reject(error);
    const kept = batch.filter((one) => !isLost(one));
    waiting.unshift(...kept);
    const [first] = kept;
    if (first !== undefined) await pause(recording.retryMs, first.cut);
  };
  const isEnough = (): boolean => waiting.length >= Math.min(recording.batchEnough, deps.runningCount());
  const gather = async (): Promise<void> => {
    if (isEnough()) return;
    gathering = startWait(recording.gatherMs);
    await gathering.over;
    gathering = undefined;
  };
  const run = async (): Promise<void> => {
    isWriting = true;
    while (waiting.length > 0) {
      await gather();
      const batch = waiting.splice(0, recording.batchMax);
      writingCount = batch.length;
      await settle(batch);
      writingCount = 0;
    }
    isWriting = false;
  };
  return {
    add: (result, cut) =>
      new Promise((resolve, reject) => {
        waiting.push({ result, cut, resolve, reject });
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

const writeBatch = async (deps: RecordDeps, db: Kysely<unknown>, batch: readonly AttemptResult[]): Promise<void> => {
  const results: AttemptResult[] = [];
  for (const result of batch)
    results.push(result.attempt.status === 410 ? await withDisabling(deps, db, result) : result);
  const { failing, isReleased } = await inTransaction(db, (tx) => writeAll(deps, tx, results));
  if (isReleased) deps.onReleased();
  const before = new Date(deps.clock.now().getTime() - failingMs);
  for (const { endpointUid, failingSince, failuresCount } of failing) {
    if (failingSince > before || failuresCount < failuresMin) continue;
    const rule = { failingSinceBefore: before, failuresMin };
    const isDisabled = await inTransaction(db, (tx) => disableFailing(tx, endpointUid, rule, deps.clock.now()));
    if (!isDisabled) continue;
    deps.log.warn({ endpoint: endpointUid, failuresCount }, 'an endpoint was disabled because it only failed for days');
    const made = results.find(({ endpoint }) => endpoint.endpointUid === endpointUid);
    if (made !== undefined) deps.onDisabled(made.endpoint);
  }
};

/**
 * 410 disables the endpoint and cancels its backlog (interface 12.4). This happens before the result is written, so that no
 * claim comes between. An endpoint that has another address by now stays enabled, and the delivery is tried again there.
 */
const withDisabling = async (deps: RecordDeps, db: Kysely<unknown>, result: AttemptResult): Promise<AttemptResult> => {
  const { attempt, endpoint } = result;
  const { endpointUid: uid } = attempt.delivery;
  const outcome = await inTransaction(db, async (tx) =>
    (await holdsLease(tx, attempt)) ? disableGone(tx, { uid, url: endpoint.url }, deps.clock.now()) : 'stays',
  );
  if (outcome === 'stays') return result;
  if (outcome === 'disabled')
    deps.log.info({ endpoint: uid }, 'an endpoint was disabled because its receiver answered 410');
  deps.onDisabled(endpoint);
  return { ...result, attempt: { ...attempt, state: 'cancelled', nextAttemptAt: null } };
};

/**
 * Locks rows in the order that every transaction uses: entity queues, schedule, deliveries, health. Returns the endpoints
 * that fail, and whether deliveries were released that waited in their entity queue.
 */
const writeAll = async (
  deps: RecordDeps,
  tx: Kysely<unknown>,
  batch: readonly AttemptResult[],
): Promise<{ failing: Health[]; isReleased: boolean }> => {
  // Pipelined: results that are not needed are awaited with the commit.
  await withCommit(tx, lockEntityQueues(tx, batch.map(entityQueueOf)));
  if (batch.some(changesSchedule))
    await withCommit(tx, lockSchedule(tx, [...new Set(batch.map(({ endpoint }) => endpoint.endpointUid))]));
  const written = await writeAttempts(
    tx,
    batch.map(({ attempt }) => attempt),
  );
  const now = deps.clock.now();
  const unfinished = resultsOf(
    batch,
    written.filter(({ finished }) => !finished),
  );
  // During the attempt a redelivery may have added an earlier event, which goes first now.
  await withCommit(tx, yieldToEarlier(tx, unfinished.map(entityQueueOf), now));
  const followed = resultsOf(
    batch,
    written.filter((one) => one.followed),
  );
  await withCommit(tx, releaseNext(tx, followed.map(endedQueueOf), now));
  const counted = resultsOf(batch, written);
  const isReleased = followed.length > 0;
  if (counted.length === 0) return { failing: [], isReleased };
  const changes = healthChangesOf(counted);
  const unknownOnes = counted.filter(({ endpoint }) => !endpoint.hasHealth).map(({ endpoint }) => endpoint.endpointUid);
  await withCommit(tx, insertHealth(tx, [...new Set(unknownOnes)]));
  const failing = await writeHealth(tx, changes);
  await withCommit(tx, writeScheduleChanges(tx, scheduleChangesOf(counted, changes, failing)));
  const warnBefore = new Date(now.getTime() - warnedMs);
  const toWarn = failing.filter(({ failingSince, warned }) => warned === null && failingSince <= warnBefore);
  for (const one of await writeWarned(
    tx,
    toWarn.map(({ endpointUid }) => endpointUid),
    now,
  ))
    deps.log.warn(one, 'an endpoint has only failed for three days and will be disabled in two days');
  return { failing, isReleased };
};

/** A retry, another class, or the end of a hold of the breaker. */
const changesSchedule = ({ attempt, endpoint, endpointClass }: AttemptResult): boolean =>
  attempt.failure !== null || endpoint.class !== endpointClass || endpoint.failuresCount >= failuresToHold;

const entityQueueOf = ({ attempt: { delivery } }: AttemptResult): EntityQueue => delivery;

/**
 * The next delivery keeps the turn only after a success. After a failure the breaker may hold the endpoint, and it lets deliveries
 * pass that have been due for long.
 */
const endedQueueOf = ({ attempt: { delivery, state } }: AttemptResult): EndedQueue => {
  const { endpointUid, kind, entity, dueAt } = delivery;
  return state === 'succeeded' ? { endpointUid, kind, entity, turn: dueAt } : delivery;
};

/** The results of the deliveries. */
const resultsOf = (batch: readonly AttemptResult[], deliveries: readonly Written[]): AttemptResult[] => {
  const uids = new Set(deliveries.map(({ uid }) => uid));
  return batch.filter(({ attempt }) => uids.has(attempt.delivery.uid));
};
