/**
 * Deliveries to attempts: claim what is due under a lease, send outside any transaction, record what happened. A worker
 * that dies leaves leases that end by themselves; whoever takes over sends the same event id again.
 */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { newId } from '#src/platform/ids.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import { claim, type Leased, leaseMs } from './claim.ts';
import { type ClaimedDelivery, returnLease } from './claim-store.ts';
import type { WebhooksSettings } from './config.ts';
import type { Sender } from './hand-over.ts';
import { openLoop } from './loop-connection.ts';
import { createPlaces, type Place, quick, slow } from './places.ts';
import { createRecorder, type Made, type Recorder } from './record.ts';
import { redactAnswer } from './redact-answer.ts';
import { nextDelayMs, parseRetryAfter } from './retry-schedule.ts';
import type { Failure, Send, SendResult } from './send.ts';

export type DeliverDeps = {
  db: Kysely<unknown>;
  pool: Pool;
  clock: Clock;
  log: Logger;
  settings: WebhooksSettings;
  send: Send;
  /** Headers of a delivery, signatures included. */
  headersFor: (delivery: ClaimedDelivery, timestampSeconds: number) => Promise<Record<string, string>>;
  /** What the endpoint's receiver must not show in its answer. */
  secretsOf: (delivery: ClaimedDelivery) => readonly string[];
  /** In [0, 1): jitter. */
  random: () => number;
  /** An endpoint was disabled: its backlog is to be cancelled. */
  onDisabled: () => void;
};

const pollMs = 250;
const returnedMs = 5_000;
/** A worker that was held up for so long after its claim may not finish an attempt within its lease any more. */
const startMsMax = 5_000;
/** At the end of the service: for attempts to finish, then for their leases to be given back. */
const drainMs = 2_000;
const returnMs = 500;
/** A receiver that takes longer is a slow one. */
const slowMs = 1_000;
/** While others want its place. */
const shortMs = 50;
/** For each usual place so many for receivers that let their sender wait. */
const waitingFactor = 4;
/** Claims follow each other so far apart, or when so many attempts have ended: one of many costs what one of one does. */
const claimGapMs = 10;
const claimEnough = 64;
/** What is handed over: so many together. */
const handEnough = 128;

export type Deliver = {
  service: Service;
  /** There may be something to claim. */
  wake(): void;
  sender: Sender;
};

export const createDeliver = (deps: DeliverDeps): Deliver => {
  let current: Wake | undefined;
  // These outlive a run that failed: its attempts go on and hold their places, and the next run ends them with its own.
  const running = new Set<Promise<void>>();
  const cut = new AbortController();
  const stopping = new AbortController();
  const { concurrency_max: placesMax, endpoint_concurrency_max: perEndpointMax } = deps.settings;
  const waitingMax = placesMax * waitingFactor;
  const places = createPlaces({ placesMax, waitingMax, perEndpointMax, slowMs, shortMs });
  const onReleased = (): void => {
    isOwing = true;
    if (ended === undefined) wakeSoon(claimedAtMs + claimGapMs - performance.now());
  };
  const recorder = createRecorder({ ...deps, runningCount: () => running.size, onReleased });
  const enough = Math.min(claimEnough, Math.ceil(placesMax / 2));
  /** Attempts that ended since the last claim; undefined: each is news. */
  let ended: number | undefined;
  /** Something due may lie there; else nobody need look when places are given back. */
  let isOwing = true;
  let claimedAtMs = 0;
  /** Who waits for places. */
  const someEnded = createSomeEnded(Math.min(handEnough, placesMax));
  const wake = (): void => {
    isOwing = true;
    current?.now();
  };
  const wakeSoon = createWakeSoon(() => current?.now());
  const onEnded = (): void => {
    someEnded.count();
    if (!isOwing) return;
    if (ended === undefined) return wakeSoon(claimedAtMs + claimGapMs - performance.now());
    ended += 1;
    if (ended >= enough) current?.now();
  };
  const start = (delivery: Leased, place: Place, claimedMs: number): void => {
    const work = attempt(deps, recorder, { delivery, claimedMs, place }, { cut: cut.signal, stopping: stopping.signal }, onEnded)
      .catch((error: unknown) => deps.log.error({ delivery: delivery.uid, err: error }, 'an attempt was not recorded'))
      .finally(() => {
        running.delete(work);
      });
    running.add(work);
  };
  const handing = new Set<Promise<void>>();
  const waitFor = (work: Promise<unknown>): void => {
    const leave = (): void => void handing.delete(ends);
    const ends = work.then(leave, leave);
    handing.add(ends);
  };
  return {
    wake,
    sender: { places, isOpen: () => !stopping.signal.aborted, start, waitFor, someEnded: someEnded.wait },
    service: {
      name: 'webhook-deliver',
      run: async (signal) => {
        const own = createWake(signal);
        current = own;
        const loop = await openLoop(deps.pool);
        try {
          while (!signal.aborted) {
            const claimedMs = performance.now();
            const now = deps.clock.now();
            claimedAtMs = claimedMs;
            // What comes up while the store is asked is asked for next.
            isOwing = false;
            const { deliveries, nextAt, isWhole } = await claim(loop.db, now, places);
            if (!isWhole) isOwing = true;
            ended = deliveries.length === 0 ? undefined : 0;
            for (const { delivery, place } of deliveries) start(delivery, place, claimedMs);
            const lookMs = places.isShort() ? shortMs : pollMs;
            if (deliveries.length === 0)
              await own.wait(nextAt === undefined ? lookMs : Math.min(lookMs, nextAt.getTime() - now.getTime()));
            else await own.wait(Math.max(0, claimedMs + claimGapMs - performance.now()));
          }
        } finally {
          loop.release();
          if (signal.aborted) {
            stopping.abort();
            await end([handing, running], cut);
            recorder.close();
          }
        }
      },
    },
  };
};

type Running = readonly ReadonlySet<Promise<void>>[];

/** What runs may finish, within a bound; then it is cut, and its leases are given back. */
const end = async (running: Running, cut: AbortController): Promise<void> => {
  await finished(running, drainMs);
  cut.abort();
  await finished(running, returnMs);
};

/** Waits for what runs and what comes of it, within a bound. */
const finished = async (running: Running, timeoutMs: number): Promise<void> => {
  const over = new AbortController();
  const late = pause(timeoutMs, over.signal).then(() => over.abort());
  while (running.some(({ size }) => size > 0) && !over.signal.aborted)
    await Promise.race([Promise.all(running.flatMap((set) => [...set])), late]);
  over.abort();
};

/** Calls at once or after a while, once for all who ask meanwhile. */
const createWakeSoon = (wake: () => void): ((delayMs: number) => void) => {
  let timer: NodeJS.Timeout | undefined;
  return (delayMs) => {
    if (timer !== undefined) return;
    if (delayMs <= 0) return wake();
    timer = setTimeout(() => {
      timer = undefined;
      wake();
    }, delayMs);
  };
};

/** A wait until so many attempts have ended, or for a moment. */
const createSomeEnded = (enough: number): { count(): void; wait(): Promise<void> } => {
  let left = 0;
  let end: (() => void) | undefined;
  return {
    count: () => {
      left -= 1;
      if (left <= 0) end?.();
    },
    wait: () =>
      new Promise((resolve) => {
        left = enough;
        const timer = setTimeout(resolve, claimGapMs);
        end = () => {
          end = undefined;
          clearTimeout(timer);
          resolve();
        };
      }),
  };
};

type Task = { delivery: Leased; claimedMs: number; place: Place };

const attempt = async (
  deps: DeliverDeps,
  recorder: Recorder,
  { delivery, claimedMs, place }: Task,
  { cut, stopping }: { cut: AbortSignal; stopping: AbortSignal },
  onPlace: () => void,
): Promise<void> => {
  await place.turn(stopping);
  const started = deps.clock.now();
  // It waited, or its process stood still: an attempt could outlast its lease, and another worker would send it as well.
  if (stopping.aborted || performance.now() - claimedMs > startMsMax) {
    place.answered();
    place.giveBack(undefined);
    return returnLease(deps.db, delivery, started);
  }
  let headers: Record<string, string>;
  try {
    headers = await deps.headersFor(delivery, Math.floor(started.getTime() / 1000));
  } catch (error) {
    place.answered();
    place.giveBack(undefined);
    // Our own trouble before anything was sent is no attempt.
    await returnLease(deps.db, delivery, new Date(started.getTime() + returnedMs));
    throw error;
  }
  const result = await deps.send(delivery.url, headers, delivery.body, cut).finally(place.answered);
  // Cut short by our own end: another worker sends it again, under the same number.
  const isCut = cut.aborted && result.status === null;
  const giveBack = (): void =>
    place.giveBack(isCut ? undefined : { tookMs: tookMs(result), failed: result.failure !== null });
  let isGiven = false;
  try {
    if (isCut) return await returnLease(deps.db, delivery, started);
    const written = recorder.add(madeOf(deps, delivery, result, started, claimedMs), cut);
    if (recorder.hasRoom()) {
      isGiven = true;
      giveBack();
      onPlace();
    }
    await written;
  } finally {
    // Only now: more attempts than can be written would pile up here.
    if (!isGiven) {giveBack(); onPlace(); }
  }
};

const tookMs = ({ failure, timings }: SendResult): number =>
  failure === 'timeout' ? Number.POSITIVE_INFINITY : timings.total;

const madeOf = (deps: DeliverDeps, delivery: Leased, result: SendResult, started: Date, claimedMs: number): Made => {
  const ended = deps.clock.now();
  const asked = result.status === 429 || result.status === 503 ? parseRetryAfter(result.retryAfter, ended) : undefined;
  const { address, status, failure, response, timings } = result;
  const delayMs = nextDelayMs(delivery.attemptsCount + 1, asked, deps.random());
  return {
    attempt: {
      delivery,
      uid: newId('att', started.getTime()),
      started,
      ended,
      address,
      status,
      failure,
      retryAfterSeconds: asked ?? null,
      response: response === null || response === '' ? response : redactAnswer(response, deps.secretsOf(delivery)),
      timings,
      ...outcomeOf(failure, status, delayMs, ended),
    },
    endpoint: delivery.endpoint,
    endpointClass: tookMs(result) <= slowMs ? quick : slow,
    endMs: claimedMs + leaseMs,
  };
};

type Outcome = Pick<Made['attempt'], 'state' | 'nextAttemptAt'>;

const outcomeOf = (failure: Failure | null, status: number | null, delayMs: number | undefined, now: Date): Outcome => {
  if (failure === null) return { state: 'succeeded', nextAttemptAt: null };
  // The endpoint is gone, and everything that was still to be sent to it is cancelled.
  if (status === 410) return { state: 'cancelled', nextAttemptAt: null };
  if (delayMs === undefined) return { state: 'exhausted', nextAttemptAt: null };
  return { state: 'pending', nextAttemptAt: new Date(now.getTime() + delayMs) };
};
