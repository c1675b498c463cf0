/**
 * Runs the attempts of one worker, whether their deliveries were claimed or leased by the fast path: slots, the recorder
 * of results, and the end of the worker. Attempts outlive a failed run of the claim loop: they keep their slots, and the
 * next run goes on beside them.
 */
import type { Pool } from 'pg';
import { unixSeconds } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';
import { createBatchedStarts } from '../pacing/batched-starts.ts';
import { claiming, slotting } from '../pacing/bounds.ts';
import { createSlots, type Slot, type Slots } from '../pacing/slots.ts';
import { signText } from '../signing/message-signature.ts';
import { type AttemptDeps, attempt } from './attempt.ts';
import { createHeldVersions, type HeldVersions } from './held-versions.ts';
import type { Leased, SignedAhead } from './leased.ts';
import { createRecorder } from './record.ts';
import type { WorkerIdentity } from './worker-identity.ts';

type SenderDeps = Pick<AttemptDeps, 'db' | 'clock' | 'send' | 'headersFor' | 'secretsOf' | 'isWithheld' | 'random'> & {
  pool: Pool;
  log: Logger;
  /** As in the configuration: attempts in flight of this worker, and of one endpoint. */
  settings: { concurrency_max: number; endpoint_concurrency_max: number };
  identity: WorkerIdentity;
  /** False until it is known what owners of endpoints may read. */
  areRightsKnown: () => boolean;
  /** An endpoint was disabled: its backlog has to be cancelled. */
  onDisabled: () => void;
};

type SenderListener = {
  /** An attempt has ended and released its slot. */
  onEnded?(): void;
  /** Deliveries that waited in their entity queue may go now. */
  onReleased?(): void;
};

export type Sender = {
  slots: Slots;
  /** The endpoints of deliveries whose attempts have not started. */
  held: HeldVersions;
  /** Attempts in usual slots at most. */
  slotsMax: number;
  /** False while this worker must not take leases: it is stopping or starting, or the database did not confirm it. */
  isOpen(): boolean;
  /** The token for leases that are taken now. */
  leaseToken(): string;
  /** Signs in this thread, for an attempt that starts soon. A failure is reported by that attempt. */
  sign(delivery: Leased): SignedAhead;
  /** Starts an attempt. The lease counts from `leasedMs` of `performance.now()`. */
  start(delivery: Leased, slot: Slot, leasedMs: number): void;
  listen(listener: SenderListener): void;
  /** `stop` waits for this work, within its bound. */
  waitFor(work: Promise<unknown>): void;
  /** True when no attempt is in flight. */
  isDone(): boolean;
  /** Lets attempts finish within a bound, then cuts them and returns their leases. */
  stop(): Promise<void>;
};

export const createSender = (deps: SenderDeps): Sender => {
  const { concurrency_max: slotsMax, endpoint_concurrency_max: perEndpointMax } = deps.settings;
  const { slowMs, shortMs, slowFactor, unwrittenFactor } = slotting;
  const slots = createSlots({ slotsMax, slowSlotsMax: slotsMax * slowFactor, perEndpointMax, slowMs, shortMs });
  const held = createHeldVersions();
  const running = newPending();
  const others = newPending();
  const listeners: SenderListener[] = [];
  const cut = new AbortController();
  const stopping = new AbortController();
  const recorder = createRecorder({
    ...deps,
    onDisabled: (endpoint) => {
      held.markDisabled(endpoint);
      deps.onDisabled();
    },
    unwrittenMax: slotsMax * unwrittenFactor,
    runningCount: () => running.count,
    onReleased: () => {
      for (const listener of listeners) listener.onReleased?.();
    },
  });
  const attemptDeps: AttemptDeps = {
    ...deps,
    recorder,
    held,
    starts: createBatchedStarts(claiming.startsPerTurn),
    cut: cut.signal,
    stopping: stopping.signal,
    onSlotReleased: () => {
      for (const listener of listeners) listener.onEnded?.();
    },
  };
  const run = async (delivery: Leased, slot: Slot, leasedMs: number): Promise<void> => {
    try {
      await attempt(attemptDeps, { delivery, slot, leasedMs });
    } catch (error) {
      deps.log.error({ delivery: delivery.uid, err: error }, 'the result of an attempt was not recorded');
    }
  };
  return {
    slots,
    held,
    slotsMax,
    isOpen: () => !stopping.signal.aborted && deps.identity.isHeld() && deps.areRightsKnown(),
    leaseToken: deps.identity.leaseToken,
    sign: (delivery) => {
      const timestampSeconds = unixSeconds(deps.clock.now());
      const headers = deps.headersFor(delivery, timestampSeconds, signText);
      // The attempt awaits it later, or never when the transaction fails. Until then a rejection would end the process.
      headers.catch(() => undefined);
      return { timestampSeconds, headers };
    },
    start: (delivery, slot, leasedMs) => keep(running, run(delivery, slot, leasedMs)),
    listen: (listener) => void listeners.push(listener),
    waitFor: (work) => keep(others, work),
    isDone: () => running.count === 0,
    stop: async () => {
      stopping.abort();
      cut.signal.addEventListener('abort', deps.identity.cut, { once: true });
      await finished([others, running], claiming.drainMs);
      cut.abort();
      await finished([others, running], claiming.returnLeasesMs);
      recorder.close();
    },
  };
};

/** Work that has not ended. */
type Pending = { count: number; onNone: (() => void) | undefined };

const newPending = (): Pending => ({ count: 0, onNone: undefined });

/** Counts the work until it has ended, in whatever way. */
const keep = (pending: Pending, work: Promise<unknown>): void => {
  pending.count += 1;
  const leave = (): void => {
    pending.count -= 1;
    if (pending.count === 0) pending.onNone?.();
  };
  work.then(leave, leave);
};

/** Waits until all work has ended, also what begins meanwhile, within the bound. */
const finished = async (pendings: readonly Pending[], timeoutMs: number): Promise<void> => {
  const over = new AbortController();
  const look = (): void => {
    if (pendings.every(({ count }) => count === 0)) over.abort();
  };
  for (const pending of pendings) pending.onNone = look;
  look();
  await pause(timeoutMs, over.signal);
};
