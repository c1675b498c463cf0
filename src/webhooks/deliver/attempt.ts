/**
 * One attempt: waits for its slot, signs, sends, and hands the result to the recorder. After a success in time the slot is
 * released at once. Any other result keeps it until the result is written, and so does a full recorder.
 */
import type { Kysely } from 'kysely';
import { type Clock, unixSeconds } from '#src/platform/clock.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { AuthorizedSend } from '../auth/authorized-send.ts';
import type { BatchedStarts } from '../pacing/batched-starts.ts';
import { claiming, signing, slotting } from '../pacing/bounds.ts';
import { quick, slow } from '../pacing/concurrency-limit.ts';
import { askedSeconds, nextDelayMs } from '../pacing/retry-schedule.ts';
import type { Slot } from '../pacing/slots.ts';
import { type ClaimedDelivery, returnLease } from '../queue/claim-store.ts';
import { redactResponse } from '../send/redact-response.ts';
import type { Failure, SendResult } from '../send/send-result.ts';
import type { SignText } from '../signing/message-signature.ts';
import type { HeldVersion, HeldVersions } from './held-versions.ts';
import type { Leased } from './leased.ts';
import type { AttemptResult, Recorder } from './record.ts';
import type { WorkerIdentity } from './worker-identity.ts';

export type AttemptDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  send: AuthorizedSend;
  /** Headers of a delivery, signatures included. `sign`: in place of the thread that signs. */
  headersFor: (delivery: ClaimedDelivery, timestampSeconds: number, sign?: SignText) => Promise<Record<string, string>>;
  /** Secrets that must not appear in the stored response. */
  secretsOf: (delivery: ClaimedDelivery) => readonly string[];
  /** In [0, 1), for jitter. */
  random: () => number;
  recorder: Recorder;
  /** The owner of the endpoint may not read the event any more. Then its pending deliveries of the kind are cancelled. */
  isWithheld: (delivery: ClaimedDelivery) => boolean;
  held: Pick<HeldVersions, 'hold' | 'drop'>;
  identity: Pick<WorkerIdentity, 'isHeld' | 'sending'>;
  starts: BatchedStarts;
  /** Aborted when the worker stops waiting for results. */
  cut: AbortSignal;
  /** Aborted when the worker must not start attempts any more. */
  stopping: AbortSignal;
  onSlotReleased: () => void;
};

type Task = {
  delivery: Leased;
  slot: Slot;
  /** When the lease was taken, as of `performance.now()`. */
  leasedMs: number;
};

/** Resolves when the result is written or the lease is returned. Rejects when that fails, or when signing failed. */
export const attempt = async (deps: AttemptDeps, task: Task): Promise<void> => {
  const { delivery, slot } = task;
  let answer: Parameters<Slot['release']>[0];
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    slot.release(answer);
    deps.onSlotReleased();
  };
  try {
    const sent = await waitAndSend(deps, task);
    if (sent.result === undefined) {
      release();
      await tryReturnLease(deps, delivery, sent.nextAttemptAt);
      if (sent.error !== undefined) throw sent.error;
      return;
    }
    answer = { tookMs: tookMs(sent.result), failed: sent.result.failure !== null };
    const result = resultOf(deps, task, sent.result, sent.started);
    const written = deps.recorder.add(result, deps.cut);
    // A failure must be written before the next attempt of the endpoint starts, since a 410 disables it.
    if (!answer.failed && answer.tookMs <= slotting.slowMs && deps.recorder.hasRoom()) release();
    await written;
    // It asks for the cancelling of a delivery that would else stay pending until its next attempt.
    if (result.attempt.state === 'pending') deps.isWithheld(delivery);
  } finally {
    release();
  }
};

/** While the database is away the lease ends by itself. */
const tryReturnLease = async (deps: AttemptDeps, delivery: Leased, nextAttemptAt: Date): Promise<void> => {
  try {
    await returnLease(deps.db, delivery, nextAttemptAt, deps.clock.now());
  } catch (error) {
    if (deps.identity.isHeld() || !isTransient(error)) throw error;
  }
};

/** Nothing counts as an attempt, and a worker may make one from `nextAttemptAt` on. */
type Unsent = { result?: never; nextAttemptAt: Date; error?: unknown };
type Sent = { result: SendResult; started: Date } | Unsent;

const waitAndSend = async (deps: AttemptDeps, task: Task): Promise<Sent> => {
  const { delivery, slot } = task;
  let mayFollow = true;
  try {
    const ready = await untilReady(deps, task);
    if (ready.headers === undefined) return ready;
    const { headers, sending, started } = ready;
    const result = await deps.send(delivery, headers, delivery.body, sending);
    mayFollow = result.failure === null;
    // The end of this worker cut the attempt: it does not count, and the next one has the same number.
    return sending.aborted && result.status === null ? { nextAttemptAt: delivery.dueAt } : { result, started };
  } finally {
    slot.answered(mayFollow);
  }
};

type Ready = { headers: Record<string, string>; sending: AbortSignal; started: Date };

const untilReady = async (deps: AttemptDeps, task: Task): Promise<Ready | (Unsent & { headers?: never })> => {
  const { delivery, slot } = task;
  const held = deps.held.hold(delivery.endpoint);
  try {
    // A claim decides when its endpoint may have a slot.
    if (!(await slot.waitForSlot(deps.stopping))) return { nextAttemptAt: delivery.dueAt };
    const start = deps.starts.waitForStart();
    if (start !== undefined) await start;
    const started = deps.clock.now();
    // Taken before the headers: an attempt that is cut while they are made must not start with the permission that comes after.
    const sending = deps.identity.sending();
    const refused = refusedNow(deps, task, { held, sending, started });
    if (refused !== undefined) return refused;
    let headers: Record<string, string>;
    try {
      headers = await headersOf(deps, delivery, unixSeconds(started));
    } catch (error) {
      return { nextAttemptAt: new Date(started.getTime() + claiming.unsignedRetryMs), error };
    }
    // Headers may have waited for keys.
    return refusedNow(deps, task, { held, sending, started }) ?? { headers, sending, started };
  } finally {
    deps.held.drop(held);
  }
};

/** Undefined when the attempt may be sent now. */
const refusedNow = (
  deps: AttemptDeps,
  { delivery, leasedMs }: Task,
  { held, sending, started }: { held: HeldVersion } & Pick<Ready, 'sending' | 'started'>,
): Unsent | undefined => {
  // After a long wait the attempt could outlast its lease, and another worker would send the delivery as well.
  const isLate = performance.now() - leasedMs > claiming.startMsMax;
  const isEnding = deps.stopping.aborted || sending.aborted || !deps.identity.isHeld();
  // A claim decides what is sent to the endpoint as it is now. The delivery keeps its turn before the backlog of the endpoint.
  if (isEnding || isLate || held.isEarlier) return { nextAttemptAt: delivery.dueAt };
  if (deps.isWithheld(delivery)) return { nextAttemptAt: new Date(started.getTime() + claiming.withheldRetryMs) };
  return undefined;
};

/** Headers that were made ahead are used while they are hardly older than the attempt. */
const headersOf = (
  { headersFor }: AttemptDeps,
  delivery: Leased,
  timestampSeconds: number,
): Promise<Record<string, string>> => {
  const { signed } = delivery;
  const isFresh =
    signed !== undefined && Math.abs(timestampSeconds - signed.timestampSeconds) <= signing.aheadSecondsMax;
  return isFresh ? signed.headers : headersFor(delivery, timestampSeconds);
};

const tookMs = ({ failure, timings }: SendResult): number =>
  failure === 'timeout' ? Number.POSITIVE_INFINITY : timings.total;

const resultOf = (
  deps: AttemptDeps,
  { delivery, leasedMs }: Task,
  result: SendResult,
  started: Date,
): AttemptResult => {
  const ended = deps.clock.now();
  const asked = askedSeconds(result, ended);
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
      response: response === null || response === '' ? response : redactResponse(response, deps.secretsOf(delivery)),
      timings,
      ...outcomeOf(failure, delayMs, ended),
    },
    endpoint: delivery.endpoint,
    endpointClass: tookMs(result) <= slotting.slowMs ? quick : slow,
    leaseEndMs: leasedMs + claiming.leaseMs,
  };
};

type Outcome = Pick<AttemptResult['attempt'], 'state' | 'nextAttemptAt'>;

const outcomeOf = (failure: Failure | null, delayMs: number | undefined, now: Date): Outcome => {
  if (failure === null) return { state: 'succeeded', nextAttemptAt: null };
  if (delayMs === undefined) return { state: 'exhausted', nextAttemptAt: null };
  return { state: 'pending', nextAttemptAt: new Date(now.getTime() + delayMs) };
};
