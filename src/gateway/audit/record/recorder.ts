/**
 * What one gateway decides, on its way to the store. Refusals and issued tokens are durable before their answer is sent:
 * whatever waits at that moment is written by one statement, so a thousand waiting answers cost one. Allowed requests only
 * leave their id here and are written at most 200 ms later, together as gather-allowed.ts has it.
 *
 * While the store is away the same statement is tried again and again. What waits is bounded: nothing is issued then, a
 * refusal stays a refusal and is written later, and when the bound is reached nobody is let in any more.
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
import { type AuditEvent, completeEvent, type NewAuditEvent } from '../event/event.ts';
import { createGatherAllowed, type Failed } from './gather-allowed.ts';
import { createGatherAnswers } from './group-commit.ts';
import { createCrowd } from './group-floods.ts';
import { createOutage } from './outage.ts';
import { openOwnChain } from './process-chain.ts';

export type Recorder = {
  /** Resolves when the event is durable. Rejects with OVERLOADED after 2 s, at once while an outage lasts (outage.ts); it may be written all the same. */
  record(event: NewAuditEvent): Promise<void>;
  /** For what is refused in any case: resolves when the event is durable, or after 2 s; of a flood, at once (crowd.ts). */
  recordRefusal(event: NewAuditEvent): Promise<void>;
  /** Once per caller, route and address, for `allow`. */
  describe(what: Allowed): AllowedUse;
  /** Throws OVERLOADED when too much waits, so that nothing is let through that could not be written. */
  assertRoom(): void;
  /** What was let through, once it is known what came of it. */
  allow(use: AllowedUse, requestId: string): void;
  /** Counts a request that failed, gathered like those that are let through. Nothing while too much waits. */
  countFailed(what: Failed, requestId: string): void;
  /** Requests whose event is not written yet. */
  waiting(): number;
  /** Seconds since the oldest of them; 0 when there is none. */
  lag(): number;
  service: Service;
};

type RecorderDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  log: Logger;
  process: string;
  /** Signatures of a head that did not grow, for tests. */
  signEveryMs?: number;
};

const writeEveryMs = 150;
const signEveryMsDefault = 15_000;
const waitMsMax = 2_000;
const retryMs = 250;
const waitingMax = 200_000;
const batchMax = 500;

type Waiting = { event: AuditEvent & { ids_indexed?: boolean }; done: () => void };

export const openRecorder = async (deps: RecorderDeps): Promise<Recorder> => {
  const { db, clock, log } = deps;
  const own = await openOwnChain(deps);
  let waiting: Waiting[] = [];
  const allowed = createGatherAllowed(clock);
  let waitingCount = 0;
  let takenMs: number | undefined;
  let writing: Promise<void> | undefined;
  const gathering = createGatherAnswers(() => waiting.length);
  const ended = new AbortController();
  const outage = createOutage();
  const crowd = createCrowd(() => performance.now());

  const waitFor = async (event: NewAuditEvent, onLate: (() => Error) | undefined): Promise<void> => {
    if (waitingCount >= waitingMax) {
      if (onLate !== undefined) throw onLate();
      return;
    }
    waitingCount += 1;
    await new Promise<void>((resolve, reject) => {
      const late = (): void => {
        outage.begin();
        if (onLate === undefined) resolve();
        else reject(onLate());
      };
      const timer = setTimeout(late, outage.lasts() ? 0 : waitMsMax);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      gathering.came(waiting.push({ event: completeEvent(event, clock.now()), done }));
      // Fails only when the process ends, and then nobody waits any more.
      flush().catch(() => undefined);
    });
  };

  const months = new Set<number>();
  const ensureMonth = async (at: Date): Promise<void> => {
    const month = at.getUTCFullYear() * 12 + at.getUTCMonth();
    if (months.has(month)) return;
    await ensurePartition(db, at);
    months.add(month);
  };

  const oldestMs = (): number | undefined => {
    const times = [takenMs, waiting[0]?.event.at.getTime(), allowed.oldest()?.getTime()].filter(
      (ms) => ms !== undefined,
    );
    return times.length === 0 ? undefined : Math.min(...times);
  };

  const takeAll = (): Waiting[] => {
    const all = waiting;
    waiting = [];
    for (const event of allowed.take()) all.push({ event, done: nobodyWaits });
    for (const event of crowd.take(ended.signal.aborted)) {
      waitingCount += event.count ?? 1;
      all.push({ event: completeEvent(event, clock.now()), done: nobodyWaits });
    }
    return all;
  };

  /** Until it is written, or until the process ends while the store stays away. */
  const write = async (batch: readonly Waiting[]): Promise<void> => {
    const events = batch.map(({ event }) => event);
    for (let attempt = 0; ; attempt += 1) {
      try {
        for (const { at } of events) await ensureMonth(at);
        await own.append(events);
        break;
      } catch (error) {
        if (attempt % 20 === 0)
          log.error({ err: error, events: batch.length }, 'the audit cannot be written; trying again');
        if (ended.signal.aborted) throw error;
        await pause(retryMs, ended.signal);
      }
    }
    outage.end();
    for (const { event, done } of batch) {
      waitingCount -= event.count;
      done();
    }
  };

  const writeAll = async (): Promise<void> => {
    for (;;) {
      await gathering.wait();
      const answers = waiting.length;
      // What was taken before is written.
      takenMs = undefined;
      takenMs = oldestMs();
      const all = takeAll();
      if (all.length === 0) return;
      for (let i = 0; i < all.length; i += batchMax) await write(all.slice(i, i + batchMax));
      gathering.wrote(answers);
    }
  };

  /** One at a time: what comes while a statement runs goes with the next. */
  const flush = (): Promise<void> => {
    writing ??= writeAll().finally(() => {
      writing = undefined;
      // What came after the last look would wait for the next one.
      if (waiting.length > 0 && !ended.signal.aborted) flush().catch(() => undefined);
    });
    return writing;
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    signal.addEventListener('abort', () => ended.abort(), { once: true });
    let signedAtMs = performance.now();
    while (!signal.aborted) {
      await pause(writeEveryMs, signal);
      await flush();
      if (performance.now() - signedAtMs < (deps.signEveryMs ?? signEveryMsDefault)) continue;
      signedAtMs = performance.now();
      await own.sign(false).catch((error: unknown) => log.warn({ err: error }, 'the head of the audit was not signed'));
    }
    await flush();
    await own.sign(true);
  };

  return {
    record: (event) => waitFor(event, auditAway),
    recordRefusal: (event) => (crowd.isListed(event) ? waitFor(event, undefined) : Promise.resolve()),
    describe: allowed.describe,
    assertRoom: () => {
      if (waitingCount >= waitingMax) throw overloaded('too much of the audit waits to be written');
    },
    allow: (use, requestId) => {
      waitingCount += 1;
      allowed.add(use, requestId);
    },
    countFailed: (what, requestId) => {
      if (waitingCount >= waitingMax) return;
      waitingCount += 1;
      allowed.add(allowed.describeFailed(what), requestId);
    },
    waiting: () => waitingCount,
    lag: () => Math.max(0, clock.now().getTime() - (oldestMs() ?? Number.POSITIVE_INFINITY)) / 1000,
    service: { name: 'audit', run },
  };
};

const nobodyWaits = (): void => undefined;

const auditAway = (): Fault => overloaded('the audit cannot be written');
