/**
 * The events of one process that are not written yet: those that an answer waits for, gathered allowed requests, and
 * counted floods. `count` bounds all of them by the number of requests. A flood counts once, because its requests are answered
 * and it takes the memory of one event.
 */
import type { Clock } from '#src/platform/clock.ts';
import type { Allowed, AllowedUse } from '../../model/allowed-use.ts';
import { type AuditEvent, completeEvent, type NewAuditEvent } from '../event/event.ts';
import { createGatherAllowed, type Failed } from './gather-allowed.ts';
import { createFloodGrouping } from './group-floods.ts';

/** `done`: called once the event is durable. `requests`: the share of the event in `count`. */
export type WaitingEvent = { event: AuditEvent & { ids_indexed?: boolean }; done: () => void; requests: number };

export type WaitingEvents = {
  /** Requests whose event is not written yet. */
  count(): number;
  /** True when no further request may be added. */
  isFull(): boolean;
  /** Number of answers that wait for their event. */
  answers(): number;
  /** Counts a request before its event is added by `add`. */
  reserve(): void;
  /** Adds the event of a reserved request. Returns `answers()`. */
  add(event: NewAuditEvent, done: () => void): number;
  /** See group-floods.ts. */
  isListed(event: NewAuditEvent): boolean;
  describe(what: Allowed): AllowedUse;
  allow(use: AllowedUse, requestId: string): void;
  countFailed(what: Failed, requestId: string): void;
  /** Takes all events to be written. `isLast`: also the floods of the minute that has not ended. */
  take(isLast: boolean): WaitingEvent[];
  /** To be called for events that are written. */
  written(batch: readonly WaitingEvent[]): void;
  /** Time of the oldest event that is not written; undefined when there is none. */
  oldestMs(): number | undefined;
};

const requestsMax = 200_000;

export const createWaitingEvents = (clock: Clock): WaitingEvents => {
  const allowed = createGatherAllowed(clock);
  const floods = createFloodGrouping(() => performance.now());
  let waiting: WaitingEvent[] = [];
  let requests = 0;
  /** Time of the oldest event that was taken last. */
  let takenMs: number | undefined;

  const oldestMs = (): number | undefined => {
    const times = [takenMs, waiting[0]?.event.at.getTime(), allowed.oldest()?.getTime()].filter(
      (ms) => ms !== undefined,
    );
    return times.length === 0 ? undefined : Math.min(...times);
  };

  return {
    count: () => requests,
    isFull: () => requests >= requestsMax,
    answers: () => waiting.length,
    reserve: () => {
      requests += 1;
    },
    add: (event, done) => waiting.push({ event: completeEvent(event, clock.now()), done, requests: 1 }),
    isListed: floods.isListed,
    describe: allowed.describe,
    allow: (use, requestId) => {
      requests += 1;
      allowed.add(use, requestId);
    },
    countFailed: (what, requestId) => {
      requests += 1;
      allowed.add(allowed.describeFailed(what), requestId);
    },
    take: (isLast) => {
      // The events of the last call are written by now.
      takenMs = undefined;
      takenMs = oldestMs();
      const all = waiting;
      waiting = [];
      for (const event of allowed.take()) all.push({ event, done: noWaiter, requests: event.count });
      for (const event of floods.take(isLast)) {
        requests += 1;
        all.push({ event: completeEvent(event, clock.now()), done: noWaiter, requests: 1 });
      }
      // After an outage, gathered requests of the last month may wait with answers of this one. In the sequence of their months no
      // event of an old month follows one of a later month, which the retention takes for a changed event.
      return all.sort((one, other) => monthOf(one.event.at) - monthOf(other.event.at));
    },
    written: (batch) => {
      for (const { done, requests: ended } of batch) {
        requests -= ended;
        done();
      }
    },
    oldestMs,
  };
};

const monthOf = (at: Date): number => at.getUTCFullYear() * 12 + at.getUTCMonth();

const noWaiter = (): void => undefined;
