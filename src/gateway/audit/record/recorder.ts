/**
 * Writes the decisions of one gateway process to the audit. Refusals and issued tokens are durable before their answer
 * is sent: one statement writes all events that wait at that moment, so a thousand waiting answers cost one statement.
 * Allowed requests only leave their id here. They are written at most 200 ms later, gathered as described in
 * gather-allowed.ts.
 *
 * While the store is unavailable, the same statement is retried. The number of waiting requests is bounded. Meanwhile
 * no token is issued, and a refusal is still answered and written later. When the bound is reached, every request is
 * refused.
 */
import type { Kysely } from 'kysely';
import type { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import type { Allowed, AllowedUse } from '../../model/allowed-use.ts';
import { overloaded } from '../../model/faults.ts';
import { ensurePartition } from '../chain/event-store.ts';
import type { NewAuditEvent } from '../event/event.ts';
import { storableEvent } from '../event/storable-event.ts';
import type { Failed } from './gather-allowed.ts';
import { createGroupCommit, type GroupCommit } from './group-commit.ts';
import { createOutage, type Outage } from './outage.ts';
import { openProcessChain, type ProcessChain } from './process-chain.ts';
import { createWaitingEvents, type WaitingEvent, type WaitingEvents } from './waiting-events.ts';

export type Recorder = {
  /**
   * Resolves when the event is durable. Rejects with OVERLOADED after 2 s, or at once during an outage (outage.ts); the
   * event may still be written later.
   */
  record(event: NewAuditEvent): Promise<void>;
  /** For refusals: resolves when the event is durable, or after 2 s, or at once for a flood (group-floods.ts). */
  recordRefusal(event: NewAuditEvent): Promise<void>;
  /** Describes a caller on a route for `allow`. Call it once per caller, route and address. */
  describe(what: Allowed): AllowedUse;
  /** Throws OVERLOADED when too many requests wait, so that no request passes that cannot be recorded. */
  assertRoom(): void;
  /** Records a request that was let through, once its answer is known. */
  allow(use: AllowedUse, requestId: string): void;
  /** Records a failed request, gathered like the allowed ones. Does nothing while too many requests wait. */
  countFailed(what: Failed, requestId: string): void;
  /** Requests whose event is not written yet. */
  waiting(): number;
  /** Age in seconds of the oldest event that is not written; 0 when there is none. */
  lag(): number;
  service: Service;
};

type RecorderDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  log: Logger;
  process: string;
  /** How often an idle process signs its head, for tests. */
  signEveryMs?: number;
};

const writeEveryMs = 150;
const signEveryMsDefault = 15_000;
const waitMsMax = 2_000;
const retryMs = 250;
const batchMax = 500;

export const openRecorder = async (deps: RecorderDeps): Promise<Recorder> => {
  const chain = await openProcessChain(deps);
  const events = createWaitingEvents(deps.clock);
  const commits = createGroupCommit(events.answers);
  const outage = createOutage();
  const ended = new AbortController();
  const write = createWriter(deps, chain, ended.signal);
  const flush = createFlush({ events, commits, outage, write, ended: ended.signal });
  const waitFor = createWaitFor({ events, commits, outage, flush });
  return {
    record: (event) => waitFor(event, auditUnavailable),
    recordRefusal: (event) => (events.isListed(event) ? waitFor(event, undefined) : Promise.resolve()),
    describe: events.describe,
    assertRoom: () => {
      if (events.isFull()) throw overloaded('too many events of the audit wait to be written');
    },
    allow: events.allow,
    countFailed: (what, requestId) => {
      if (!events.isFull()) events.countFailed(what, requestId);
    },
    waiting: events.count,
    lag: () => Math.max(0, deps.clock.now().getTime() - (events.oldestMs() ?? Number.POSITIVE_INFINITY)) / 1000,
    service: { name: 'audit', run: createRun(deps, chain, flush, ended), end: async () => ended.abort() },
  };
};

type WaitFor = (event: NewAuditEvent, onLate: (() => Error) | undefined) => Promise<void>;

/** `onLate`: makes the error with which a late event rejects; without it the promise resolves. */
const createWaitFor =
  (deps: { events: WaitingEvents; commits: GroupCommit; outage: Outage; flush: () => Promise<void> }): WaitFor =>
  async (event, onLate) => {
    const { events, commits, outage, flush } = deps;
    if (events.isFull()) {
      if (onLate !== undefined) throw onLate();
      return;
    }
    events.reserve();
    await new Promise<void>((resolve, reject) => {
      const lasted = outage.lasts();
      const late = (): void => {
        // A wait of 0 ms proves nothing: the store may be back and this event in the write that runs.
        if (!lasted) outage.begin();
        if (onLate === undefined) resolve();
        else reject(onLate());
      };
      const timer = setTimeout(late, lasted ? 0 : waitMsMax);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      commits.added(events.add(event, done));
      // Rejects only when the process ends; then no answer waits any more.
      flush().catch(() => undefined);
    });
  };

type Write = (batch: readonly WaitingEvent[]) => Promise<void>;

/** Retries until the batch is written. Rejects only when the process ends while the store is unavailable. */
const createWriter = ({ db, log }: RecorderDeps, chain: ProcessChain, ended: AbortSignal): Write => {
  const months = new Set<number>();
  const ensureMonth = async (at: Date): Promise<void> => {
    const month = at.getUTCFullYear() * 12 + at.getUTCMonth();
    if (months.has(month)) return;
    await ensurePartition(db, at);
    months.add(month);
  };
  return async (batch) => {
    const events = batch.map(({ event }) => storableEvent(event));
    for (let attempt = 0; ; attempt += 1) {
      try {
        for (const { at } of events) await ensureMonth(at);
        await chain.append(events);
        return;
      } catch (error) {
        if (attempt % 20 === 0)
          log.error({ err: error, events: batch.length }, 'the audit cannot be written; trying again');
        if (ended.aborted) throw error;
        await pause(retryMs, ended);
      }
    }
  };
};

/** Writes all waiting events. Calls share one run, and events that are added meanwhile go with the next statement. */
const createFlush = (deps: {
  events: WaitingEvents;
  commits: GroupCommit;
  outage: Outage;
  write: Write;
  ended: AbortSignal;
}): (() => Promise<void>) => {
  const { events, commits, outage, write, ended } = deps;
  let writing: Promise<void> | undefined;

  const writeAll = async (): Promise<void> => {
    for (;;) {
      await commits.wait();
      const answers = events.answers();
      const all = events.take(ended.aborted);
      if (all.length === 0) return;
      for (let i = 0; i < all.length; i += batchMax) {
        const batch = all.slice(i, i + batchMax);
        await write(batch);
        outage.end();
        events.written(batch);
      }
      commits.written(answers);
    }
  };

  const flush = (): Promise<void> => {
    writing ??= writeAll().finally(() => {
      writing = undefined;
      // An event that was added after the last `take` must not wait for the next interval.
      if (events.answers() > 0 && !ended.aborted) flush().catch(() => undefined);
    });
    return writing;
  };
  return flush;
};

const createRun =
  (
    { log, signEveryMs = signEveryMsDefault }: RecorderDeps,
    chain: ProcessChain,
    flush: () => Promise<void>,
    ended: AbortController,
  ) =>
  async (signal: AbortSignal): Promise<void> => {
    const stop = (): void => ended.abort();
    signal.addEventListener('abort', stop, { once: true });
    try {
      let signedAtMs = performance.now();
      while (!signal.aborted) {
        await pause(writeEveryMs, signal);
        await flush();
        if (performance.now() - signedAtMs < signEveryMs) continue;
        signedAtMs = performance.now();
        await chain
          .sign(false)
          .catch((error: unknown) => log.warn({ err: error }, 'the head of the audit chain could not be signed'));
      }
      await flush();
      await chain.sign(true);
    } finally {
      // A run that failed has not ended the recorder: the next one goes on.
      signal.removeEventListener('abort', stop);
    }
  };

const auditUnavailable = (): Fault => overloaded('the audit cannot be written');
