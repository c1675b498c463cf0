/**
 * Deliveries to attempts: claim what is due under a lease, send outside any transaction, record what happened. A worker
 * that dies leaves leases that others take back when they find it dead (`worker-identity.ts`) or that end by themselves; who
 * takes over sends the same event id again.
 */
import type { Pool } from 'pg';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createWake, startWait, type Wait, type Wake } from '#src/platform/wake.ts';
import { createSteps } from '../pacing/batched-starts.ts';
import { createPlaces } from '../pacing/slots.ts';
import { openLoop } from '../queue/loop-connection.ts';
import { type AttemptDeps, attempt, slowMs } from './attempt.ts';
import { claim } from './claim.ts';
import type { Sender } from './fast-path.ts';
import { createRecorder } from './record.ts';
import type { WorkerIdentity } from './worker-identity.ts';

export type DeliverDeps = Pick<AttemptDeps, 'db' | 'clock' | 'send' | 'headersFor' | 'secretsOf' | 'random'> & {
  pool: Pool;
  log: Logger;
  /** As in the configuration: deliveries in flight of this worker, and of one endpoint. */
  settings: { concurrency_max: number; endpoint_concurrency_max: number };
  identity: WorkerIdentity;
  /** An endpoint was disabled: its backlog is to be cancelled. */
  onDisabled: () => void;
};

const pollMs = 250;
/** At the end of the service: for attempts to finish, then for their leases to be given back. */
const drainMs = 2_000;
const returnMs = 500;
/** While others want its place. */
const shortMs = 50;
/** For each usual place so many for receivers that let their sender wait. */
const waitingFactor = 4;
/** For each usual place so many attempts whose outcome is not written yet and that have no place any more. */
const unwrittenFactor = 2;
/** So many attempts begin together. */
const stepMax = 8;
/** Claims follow each other so far apart, or when so many attempts have ended: one of many costs what one of one does. */
const claimGapMs = 10;
const claimEnough = 64;
/** What is handed over: so many together. */
const handEnough = 128;

export type Deliver = {
  service: Service;
  /** There may be something to claim. */
  wake(): void;
  /** Nothing is on its way any more. */
  isDone(): boolean;
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
  const recorder = createRecorder({
    ...deps,
    unwrittenMax: placesMax * unwrittenFactor,
    runningCount: () => running.size,
    onReleased,
  });
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
  const attemptDeps: AttemptDeps = {
    ...deps,
    recorder,
    steps: createSteps(stepMax),
    cut: cut.signal,
    stopping: stopping.signal,
    onLeft: onEnded,
  };
  const start: Sender['start'] = (delivery, place, claimedMs) => {
    const run = async (): Promise<void> => {
      try {
        await attempt(attemptDeps, { delivery, place, claimedMs });
      } catch (error) {
        deps.log.error({ delivery: delivery.uid, err: error }, 'an attempt was not recorded');
      } finally {
        running.delete(work);
      }
    };
    const work = run();
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
    isDone: () => running.size === 0,
    sender: {
      places,
      isOpen: () => !stopping.signal.aborted && deps.identity.isHeld(),
      leaseToken: deps.identity.leaseToken,
      start,
      waitFor,
      someEnded: someEnded.wait,
    },
    service: {
      name: 'webhook-deliver',
      run: async (signal) => {
        const own = createWake(signal);
        current = own;
        const loop = await openLoop(deps.pool);
        try {
          while (!signal.aborted) {
            if (!deps.identity.isHeld()) {
              await own.wait(shortMs);
              continue;
            }
            const claimedMs = performance.now();
            const now = deps.clock.now();
            claimedAtMs = claimedMs;
            // What comes up while the store is asked is asked for next.
            isOwing = false;
            const { deliveries, nextAt, isWhole } = await claim(loop.db, now, places, deps.identity.leaseToken());
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
            cut.signal.addEventListener('abort', deps.identity.cut, { once: true });
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
  let current: Wait | undefined;
  return {
    count: () => {
      left -= 1;
      if (left <= 0) current?.end();
    },
    wait: () => {
      left = enough;
      current = startWait(claimGapMs);
      return current.over;
    },
  };
};
