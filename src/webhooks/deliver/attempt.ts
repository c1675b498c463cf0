/**
 * One attempt: in its turn it is signed and sent, and what it came to is written. Where the receiver took it in time its
 * place is free at once; waiting to be written holds a place only when there are too many.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { Steps } from '../pacing/batched-starts.ts';
import { quick, slow } from '../pacing/concurrency-limit.ts';
import { nextDelayMs, parseRetryAfter } from '../pacing/retry-schedule.ts';
import type { Place } from '../pacing/slots.ts';
import { type ClaimedDelivery, returnLease } from '../queue/claim-store.ts';
import { redactAnswer } from '../send/redact-response.ts';
import type { Send } from '../send/send.ts';
import type { Failure, SendResult } from '../send/send-result.ts';
import { type Leased, leaseMs } from './claim.ts';
import type { Made, Recorder } from './record.ts';
import type { WorkerIdentity } from './worker-identity.ts';

export type AttemptDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  send: Send;
  /** Headers of a delivery, signatures included. */
  headersFor: (delivery: ClaimedDelivery, timestampSeconds: number) => Promise<Record<string, string>>;
  /** What the endpoint's receiver must not show in its answer. */
  secretsOf: (delivery: ClaimedDelivery) => readonly string[];
  /** In [0, 1): jitter. */
  random: () => number;
  recorder: Recorder;
  identity: Pick<WorkerIdentity, 'isHeld' | 'sending'>;
  steps: Steps;
  /** Nothing is waited for any more. */
  cut: AbortSignal;
  /** Nothing more is to be sent. */
  stopping: AbortSignal;
  /** A place is free again. */
  onLeft: () => void;
};

export type Task = {
  delivery: Leased;
  place: Place;
  /** Of `performance.now()`: its lease counts from then. */
  claimedMs: number;
};

/** A receiver that takes longer is a slow one. */
export const slowMs = 1_000;
const returnedMs = 5_000;
/** A worker that was held up for so long after its claim may not finish an attempt within its lease any more. */
const startMsMax = 5_000;

/** Resolves when it is written, or its lease is given back. Rejects when that failed, or when it could not be signed. */
export const attempt = async (deps: AttemptDeps, task: Task): Promise<void> => {
  const { delivery, place } = task;
  let said: Parameters<Place['giveBack']>[0];
  let isLeft = false;
  const leave = (): void => {
    if (isLeft) return;
    isLeft = true;
    place.giveBack(said);
    deps.onLeft();
  };
  try {
    const sent = await sendInTurn(deps, task);
    if (sent.result === undefined) {
      leave();
      await giveBack(deps, delivery, sent.nextAttemptAt);
      if (sent.error !== undefined) throw sent.error;
      return;
    }
    said = { tookMs: tookMs(sent.result), failed: sent.result.failure !== null };
    const written = deps.recorder.add(madeOf(deps, task, sent.result, sent.started), deps.cut);
    // What else an answer says is written before the next one of its endpoint goes: that it is gone, fails or is slow.
    if (!said.failed && said.tookMs <= slowMs && deps.recorder.hasRoom()) leave();
    await written;
  } finally {
    leave();
  }
};

/** Where the store is away, the lease ends by itself. */
const giveBack = async (deps: AttemptDeps, delivery: Leased, nextAttemptAt: Date): Promise<void> => {
  try {
    await returnLease(deps.db, delivery, nextAttemptAt);
  } catch (error) {
    if (deps.identity.isHeld() || !isTransient(error)) throw error;
  }
};

/** Without a result it was no attempt: somebody else makes it, from then on. */
type Sent = { result: SendResult; started: Date } | { result?: never; nextAttemptAt: Date; error?: unknown };

const sendInTurn = async (deps: AttemptDeps, { delivery, place, claimedMs }: Task): Promise<Sent> => {
  await place.turn(deps.stopping);
  try {
    const step = deps.steps.turn();
    if (step !== undefined) await step;
    const started = deps.clock.now();
    // It waited, or its process stood still: it could outlast its lease, and another worker would send it as well.
    if (deps.stopping.aborted || !deps.identity.isHeld() || performance.now() - claimedMs > startMsMax)
      return { nextAttemptAt: started };
    let headers: Record<string, string>;
    try {
      headers = await deps.headersFor(delivery, Math.floor(started.getTime() / 1000));
    } catch (error) {
      // Our own trouble before anything was sent.
      return { nextAttemptAt: new Date(started.getTime() + returnedMs), error };
    }
    const sending = deps.identity.sending();
    const result = await deps.send(delivery.url, headers, delivery.body, sending);
    // Cut short by the end of this worker: another one sends it again, under the same number.
    return sending.aborted && result.status === null ? { nextAttemptAt: started } : { result, started };
  } finally {
    place.answered();
  }
};

const tookMs = ({ failure, timings }: SendResult): number =>
  failure === 'timeout' ? Number.POSITIVE_INFINITY : timings.total;

const madeOf = (deps: AttemptDeps, { delivery, claimedMs }: Task, result: SendResult, started: Date): Made => {
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
