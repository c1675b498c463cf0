/**
 * Pushes waiting events to receivers (RFC 8935), each stream in order and by one worker at a time. An event is deleted after
 * its receiver has answered, so a crash sends it again, with the same `jti`, and loses none.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { newId } from '#src/platform/ids.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { deleteEvents, type QueuedEvent, readEvents } from '../events/queue-store.ts';
import { authorizationLabel } from '../stream/stream-config.ts';
import {
  endLease,
  type Leased,
  leaseStreams,
  type Pushed,
  renewLease,
  renewLeases,
  type Stream,
} from '../stream/stream-store.ts';
import type { SignSet } from './sign-set.ts';
import type { CountPush } from './signal-metrics.ts';

/**
 * One POST to a checked address. `status` null: there was no answer. `response`: the start of its body. `askedSeconds`: how long the
 * receiver wants no other one.
 */
type SendSet = (url: string, headers: Record<string, string>, body: string, signal: AbortSignal) => Promise<Sent>;

type Sent = {
  status: number | null;
  failure: string | null;
  response: string | null;
  askedSeconds: number | undefined;
};

export type PushDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'open'>;
  clock: Clock;
  log: Logger;
  send: SendSet;
  sign: SignSet;
  count: CountPush;
};

/** chosen: an event is at its receiver well within a second of the commit. */
const lookEveryMs = 200;
/**
 * chosen: how long the events of a killed worker wait for another one. A worker renews its leases far more often, so one ends
 * only when its worker is gone or silent for that long. Then an event may be sent twice, with the same `jti`, which receivers
 * remember (RFC 8417 section 2.2).
 */
const leaseMs = 8_000;
const renewEveryMs = 2_000;
const streamsMax = 50;
const eventsMax = 50;
const pauseMsMax = 300_000;

export const createSignalPush = (deps: PushDeps): Service => {
  const by = newId('wrk');
  /** They outlive a failed run; the next one renews their leases. */
  const running = new Map<string, Promise<void>>();
  const ended = new AbortController();
  const push = (stream: Leased): void => {
    const { streamId } = stream;
    const pushing = pushStream(deps, by, stream, ended.signal)
      .catch((err: unknown) => deps.log.warn({ err, stream_id: streamId }, 'a stream of signals was not pushed'))
      .finally(() => running.delete(streamId));
    running.set(streamId, pushing);
  };
  const lease = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const free = streamsMax - running.size;
      const leased = free > 0 ? await leaseStreams(deps.db, leaseOf(deps, by), free) : [];
      // The lease of a running one has ended when the store was away for long; it goes on under the new lease.
      for (const stream of leased) if (!running.has(stream.streamId)) push(stream);
      await pause(lookEveryMs, signal);
    }
  };
  return {
    name: 'signal-push',
    run: async (signal) => {
      await Promise.all([lease(signal), renewWhile(deps, by, running, signal)]);
    },
    end: async () => {
      ended.abort();
      await Promise.all(running.values());
    },
  };
};

/** An attempt may last longer than a lease, so the leases of all running ones are renewed together. */
const renewWhile = async (
  deps: PushDeps,
  by: string,
  running: ReadonlyMap<string, unknown>,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    await pause(renewEveryMs, signal);
    if (running.size === 0) continue;
    await renewLeases(deps.db, [...running.keys()], leaseOf(deps, by)).catch((err: unknown) =>
      deps.log.warn({ err }, 'leases of streams of signals were not renewed'),
    );
  }
};

const leaseOf = ({ clock }: PushDeps, by: string) => {
  const now = clock.now();
  return { by, now, until: new Date(now.getTime() + leaseMs) };
};

const pushStream = async (deps: PushDeps, by: string, leased: Leased, signal: AbortSignal): Promise<void> => {
  const { db, clock } = deps;
  const { streamId } = leased;
  const end: Pick<Pushed, 'pushedAt' | 'error'> = { pushedAt: null, error: null };
  let tried: Leased = leased;
  /** Undefined until an attempt has ended. */
  let failures: number | undefined;
  let askedMs = 0;
  try {
    for (let pushed = 0; pushed < eventsMax; pushed += 1) {
      // Read anew before each event, so that a changed address, status or right holds for the next one.
      const stream = signal.aborted ? undefined : await renewLease(db, streamId, leaseOf(deps, by));
      if (stream === undefined) break;
      tried = stream;
      const [event] = await readEvents(db, streamId, 1);
      if (event === undefined) break;
      const outcome = await pushEvent(deps, stream, event, signal);
      // The end of this worker cut the attempt: it does not count.
      if (outcome === 'cut') break;
      end.error = outcome.error ?? end.error;
      askedMs = (outcome.askedSeconds ?? 0) * 1000;
      failures = outcome.isOver ? 0 : (failures ?? stream.failures) + 1;
      if (!outcome.isOver) break;
      if (outcome.error === undefined) end.pushedAt = clock.now();
      await deleteEvents(db, streamId, [event.jti]);
    }
  } catch (error) {
    // Such as a sealed authorization that cannot be opened. Without a pause the stream would be tried again at once, for ever.
    failures = (failures ?? tried.failures) + 1;
    end.error = 'internal error, see the log of the worker';
    throw error;
  } finally {
    const now = clock.now();
    await endLease(
      db,
      streamId,
      by,
      failures === undefined ? undefined : { ...end, tried, failures, nextTry: nextTryOf(failures, askedMs, now), now },
    );
  }
};

/** A receiver can make it later only, and no later than the longest pause. */
const nextTryOf = (failures: number, askedMs: number, now: Date): Date =>
  new Date(
    now.getTime() + (failures === 0 ? 0 : Math.min(pauseMsMax, Math.max(askedMs, 500 * 2 ** Math.min(failures, 10)))),
  );

/**
 * `isOver`: the receiver has the event, or refused it for good. `error`: it did not take it; shown to operators. `cut`: the end
 * of this worker ended the attempt.
 */
const pushEvent = async (
  { box, log, send, sign, count }: PushDeps,
  stream: Stream,
  event: QueuedEvent,
  signal: AbortSignal,
): Promise<{ isOver: boolean; error?: string; askedSeconds?: number | undefined } | 'cut'> => {
  const { streamId, endpointUrl, authorizationSealed } = stream;
  if (endpointUrl === null) return { isOver: false };
  const authorization =
    authorizationSealed === null ? undefined : box.open(authorizationSealed, authorizationLabel(streamId));
  const headers = {
    'content-type': 'application/secevent+jwt',
    accept: 'application/json',
    'user-agent': 'Orderpass-Signals/1',
    ...(authorization === undefined ? undefined : { authorization }),
  };
  const { status, failure, response, askedSeconds } = await send(
    endpointUrl,
    headers,
    await sign(event, stream),
    signal,
  );
  if (status !== null && status >= 200 && status < 300) {
    count('delivered');
    return { isOver: true };
  }
  if (status === null && signal.aborted) return 'cut';
  const refusal = status === 400 ? readError(response) : undefined;
  const about = { stream_id: streamId, jti: event.jti, status, failure };
  // Without the text of the receiver, which could repeat the authorization.
  const error = [status ?? failure ?? 'no answer', refusal].filter((part) => part !== undefined).join(' ');
  if (refusal !== undefined && !temporary.has(refusal)) {
    count('refused');
    log.warn({ ...about, err_code: refusal }, 'a receiver refused a security event; it is not sent again');
    return { isOver: true, error };
  }
  count('failed');
  log.info(about, 'a security event was not delivered; it is sent again');
  return { isOver: false, error, askedSeconds };
};

/** RFC 8935 section 2.4: the same event is accepted later, once the receiver or the configuration was put right. */
const temporary: ReadonlySet<string> = new Set(['authentication_failed', 'access_denied', 'invalid_key']);
const refusals: ReadonlySet<string> = new Set([
  ...['invalid_request', 'invalid_key', 'invalid_issuer', 'invalid_audience'],
  ...['authentication_failed', 'access_denied'],
]);

const readError = (response: string | null): string | undefined => {
  try {
    const body: unknown = JSON.parse(response ?? '');
    const err = typeof body === 'object' && body !== null && 'err' in body ? body.err : undefined;
    return typeof err === 'string' && refusals.has(err) ? err : undefined;
  } catch {
    return undefined;
  }
};
