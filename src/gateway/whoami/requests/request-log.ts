/**
 * Keeps the requests of callers without delaying one: entries are queued in memory and written in batches, at most a second
 * later, and everything is counted by hour and route. The queue is bounded, in total and for each caller; what exceeds it is
 * dropped and counted. No answer depends on it. A process that is stopped writes what it holds; one that is killed loses the
 * entries of the last second and the counts of the last seconds.
 */
import { randomInt } from 'node:crypto';
import type { Kysely } from 'kysely';
import { type Clock, hourMs } from '#src/platform/clock.ts';
import { inTransaction, isTransient, sendOnce } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { type TokenRefusal, tokenRoute } from '../../model/traced-fault.ts';
import type { Exchange } from '../../request/exchange.ts';
import { createHourCounts, type HourCounts } from './hour-counts.ts';
import { addHours, type HourCount } from './hour-store.ts';
import { makeDay } from './request-day-store.ts';
import { entryOf, type Outcome, outcomeOf, type RequestEntry, tokenEntry } from './request-entry.ts';
import { insertRequests } from './request-store.ts';

export type RequestLog = {
  /** The head of the answer is written. */
  answered(exchange: Exchange, status: number): void;
  /** The request ended. It has no answer when its client closed the connection before. */
  ended(exchange: Exchange): void;
  /** A request of an operation that does not exist, whose caller was found after the answer. */
  probed(exchange: Exchange, callerId: string): void;
  /** A refusal of the token endpoint, which has no exchange, once its client was identified. */
  tokenRefused(refusal: TokenRefusal): void;
  writer: Service;
};

/** `queue`: too many wait for the store. `caller`: too many of one caller in an hour. `store`: the store refused them. */
export type Dropped = (reason: 'queue' | 'caller' | 'store', count: number) => void;

export type RequestLogDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  log: Logger;
  /** Monotonic, as `startedAtMs` of an exchange. */
  nowMs: () => number;
  dropped: Dropped;
};

const writeEveryMs = 500;
/** The counts of a caller change one row again and again, so they are written less often. */
const countEveryMs = 5_000;
const retryMs = 5_000;
const batchMax = 500;
const countBatchMax = 5_000;
const queueMax = 20_000;
/** A caller that only fails, or writes without end, could fill the disk: these of an hour and process are kept, all are counted. */
const perHourMax: Readonly<Record<'writes' | 'refused' | 'failed', number>> = {
  writes: 100_000,
  refused: 3_000,
  failed: 3_000,
};

export const createRequestLog = (deps: RequestLogDeps): RequestLog => {
  const { clock, nowMs, dropped } = deps;
  const hours = createHourCounts();
  const hasRoom = createRoom();
  const queue: RequestEntry[] = [];
  let number = randomInt(numbersMax);

  /** `entry` is called when there is room for it. */
  const add = (
    { caller, route, outcome }: { caller: string; route: string; outcome: Outcome },
    entry: (place: { at: Date; number: number }) => RequestEntry,
  ): void => {
    const at = clock.now();
    if (!hours.count(caller, route, outcome, at.getTime())) dropped('queue', 1);
    if (outcome === 'reads') return;
    if (queue.length >= queueMax) return dropped('queue', 1);
    if (!hasRoom(caller, outcome, at.getTime())) return dropped('caller', 1);
    number = (number + 1) % numbersMax;
    queue.push(entry({ at, number }));
  };

  const note = (exchange: Exchange, { caller, outcome, status, answeredMs }: Noted): void => {
    const durationMs = Math.max(0, Math.round(answeredMs - exchange.startedAtMs));
    add({ caller, route: exchange.route?.id ?? '', outcome }, (place) =>
      entryOf(exchange, { caller, status, durationMs, ...place }),
    );
  };

  return {
    answered: (exchange, status) => {
      if (exchange.isNoted) return;
      exchange.isNoted = true;
      const { principal, refused } = exchange;
      const caller = principal?.id ?? refused?.callerId;
      if (caller === undefined) return;
      const honest = refused?.status ?? status;
      const outcome = outcomeOf(exchange, honest);
      note(exchange, { caller, outcome, status: isAllowedCheck(exchange) ? null : honest, answeredMs: nowMs() });
    },
    ended: (exchange) => {
      const { principal, isNoted, res } = exchange;
      if (isNoted || principal === undefined || !res.destroyed || res.headersSent) return;
      exchange.isNoted = true;
      note(exchange, { caller: principal.id, outcome: 'failed', status: null, answeredMs: nowMs() });
    },
    probed: (exchange, caller) => {
      const { refused } = exchange;
      if (refused === undefined) return;
      const { status, atMs } = refused;
      note(exchange, { caller, outcome: outcomeOf(exchange, status), status, answeredMs: atMs });
    },
    tokenRefused: (refusal) =>
      add({ caller: refusal.clientId, route: tokenRoute.id, outcome: 'refused' }, (place) =>
        tokenEntry(refusal, place),
      ),
    writer: createWriter(deps, queue, hours),
  };
};

type Noted = { caller: string; outcome: Outcome; status: number | null; answeredMs: number };

/** The answer of /auth/check only lets another proxy forward the request. */
const isAllowedCheck = ({ asked, refused }: Exchange): boolean => asked !== undefined && refused === undefined;

const numbersMax = 2 ** 31;

/** Bounds what is kept of one caller in an hour. */
const createRoom = (): ((caller: string, outcome: Exclude<Outcome, 'reads'>, nowMs: number) => boolean) => {
  let counts = new Map<string, { writes: number; refused: number; failed: number }>();
  let untilMs = 0;
  return (caller, outcome, nowMs) => {
    // Before it began: a clock that was ahead is set back.
    if (nowMs >= untilMs || nowMs < untilMs - hourMs) {
      counts = new Map();
      untilMs = nowMs + hourMs;
    }
    let known = counts.get(caller);
    if (known === undefined) {
      known = { writes: 0, refused: 0, failed: 0 };
      counts.set(caller, known);
    }
    known[outcome] += 1;
    return known[outcome] <= perHourMax[outcome];
  };
};

/** Takes from the front of `queue` what is written; a batch that the store refuses is dropped, so that it blocks no other. */
const createWriter = ({ db, log, dropped }: RequestLogDeps, queue: RequestEntry[], hours: HourCounts): Service => {
  const days = new Set<number>();

  const ensureDays = async (moments: readonly Date[]): Promise<void> => {
    for (const moment of moments) {
      const day = moment.getUTCFullYear() * 400 + moment.getUTCMonth() * 32 + moment.getUTCDate();
      if (days.has(day)) continue;
      await inTransaction(db, (tx) => makeDay(tx, moment));
      days.add(day);
    }
  };

  const writeQueued = async (): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.slice(0, batchMax);
      try {
        await ensureDays(batch.map(({ at }) => at));
        await insertRequests(db, batch);
      } catch (error) {
        days.clear();
        if (isTransient(error)) throw error;
        log.error({ err: error, requests: batch.length }, 'the store refused requests of callers; they are dropped');
        dropped('store', batch.length);
      }
      queue.splice(0, batch.length);
    }
  };

  const writeCounts = async (): Promise<void> => {
    const counts = hours.take();
    while (counts.length > 0) {
      const batch = counts.splice(0, countBatchMax);
      try {
        await ensureDays(batch.map(({ hour }) => hour));
        // Not repeated when it was not confirmed, so that no count is too high.
        if (!(await sendOnce(db, (connection) => addHours(connection, batch)))) dropped('store', requestsOf(batch));
      } catch (error) {
        days.clear();
        const isKept = isTransient(error);
        if (!isKept) dropped('store', requestsOf(batch));
        hours.keep(isKept ? [...batch, ...counts] : counts);
        throw error;
      }
    }
  };

  return { name: 'request-log-writer', run: (signal) => runWriter(signal, { log, writeQueued, writeCounts }) };
};

const requestsOf = (counts: readonly HourCount[]): number =>
  counts.reduce((sum, { reads, writes, refused, failed }) => sum + reads + writes + refused + failed, 0);

type Writes = { log: Logger; writeQueued: () => Promise<void>; writeCounts: () => Promise<void> };

/** After the signal everything is written once more. */
const runWriter = async (signal: AbortSignal, { log, writeQueued, writeCounts }: Writes): Promise<void> => {
  let countedAtMs = performance.now();
  for (let isLast = false; !isLast; ) {
    isLast = signal.aborted;
    try {
      await writeQueued();
      if (isLast || performance.now() - countedAtMs >= countEveryMs) {
        countedAtMs = performance.now();
        await writeCounts();
      }
      if (!isLast) await pause(writeEveryMs, signal);
    } catch (error) {
      log.warn({ err: error, lost: isLast }, 'the requests of callers cannot be written');
      if (!isLast) await pause(retryMs, signal);
    }
  }
};
