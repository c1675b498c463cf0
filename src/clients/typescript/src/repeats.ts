/** Which failures are repeated, and when. */
import { ApiError, TransportError } from './errors.ts';

export type RepeatOptions = {
  /** Repeats of one call, by default 3. */
  retries?: number;
  /** The first pause, by default 500 ms; each one after it is twice as long, at most 8 s, less a random part of up to a half. */
  backoffMs?: number;
  /**
   * A longer Retry-After is not waited for, by default 60 s: the error has it as `retryAfter`. As long a call waits for a write
   * of its own that still runs.
   */
  retryAfterMaxMs?: number;
};

const backoffMsMax = 8_000;

/** The service, or something on the way to it, could not answer now. 409 counts only with Retry-After: the same request still runs. */
const isPassing = (error: unknown): boolean => {
  if (error instanceof TransportError) return true;
  if (!(error instanceof ApiError)) return false;
  if (error.status === 409) return error.retryAfter !== undefined;
  // The operator may enable the old statuses, with which 429 and 500 are 200.
  if (error.status === 200) return ['RATE_LIMIT_EXCEEDED', 'INTERNAL_ERROR'].includes(error.code);
  return [408, 429, 500, 502, 503, 504].includes(error.status);
};

/** The request with this idempotency key still runs. Waiting for its end is no repeat that `retries` counts. */
const isRunning = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.retryAfter !== undefined;

/** The service may have got the request, and may do it yet. */
const isUnknown = (error: unknown): error is TransportError | ApiError =>
  error instanceof TransportError || (error instanceof ApiError && [502, 504].includes(error.status));

/**
 * The refusal says nothing about an earlier attempt: the service gives it before it looks for the idempotency key, or something
 * on the way gives it in place of the service.
 */
const isSilent = (error: unknown): boolean =>
  error instanceof ApiError && (isPassing(error) || [401, 403].includes(error.status) || error.status >= 500);

/** The earlier error, with the last one as its cause. The reason of an earlier one without an answer goes into its text. */
const withLast = (lost: TransportError | ApiError, last: unknown): Error => {
  const earlier =
    lost instanceof TransportError && lost.cause !== undefined
      ? new TransportError(`${lost.message} (${String(lost.cause)})`)
      : lost;
  earlier.cause = last;
  return earlier;
};

type Call<Prepared, Result> = {
  /** The request has no second effect when it is sent twice. Any other one is sent once. */
  isSafe: boolean;
  /** The request changes something: whether an attempt did so must not be reported wrongly. */
  isWrite: boolean;
  signal?: AbortSignal | undefined;
  /** The call waits for `prepare` at most this long. */
  prepareMs?: number | undefined;
  /** Runs before each attempt. It has repeats of its own, so its failure ends the call. */
  prepare(): Promise<Prepared>;
  attempt(prepared: Prepared): Promise<Result>;
  /** True when what was prepared caused the failure and another one may succeed: the next attempt follows at once. */
  renew?(error: unknown, prepared: Prepared): boolean;
};

export type Repeats = { run<Prepared, Result>(call: Call<Prepared, Result>): Promise<Result> };

export const createRepeats = (options: RepeatOptions): Repeats => {
  const { retries = 3, backoffMs = 500, retryAfterMaxMs = 60_000 } = options;

  const pauseMs = (error: unknown, number: number): number => {
    const given = error instanceof ApiError && error.retryAfter !== undefined ? error.retryAfter * 1000 : 0;
    // Each request costs units, so those that only wait for the first one come at growing distances.
    const asked = isRunning(error) ? Math.max(given, Math.min(backoffMsMax, given * 2 ** number)) : given;
    const own = Math.min(backoffMsMax, backoffMs * 2 ** number) * (0.5 + Math.random() / 2);
    // Callers that were refused together come again at different times.
    return asked === 0 ? own : asked + own / 4;
  };

  return {
    run: async ({ isSafe, isWrite, signal, prepareMs, prepare, attempt, renew }) => {
      let lost: TransportError | ApiError | undefined;
      let runningMs = 0;
      /** A refusal would say that the write was not carried out, while the outcome of an earlier attempt is not known. */
      const failureOf = (error: unknown): unknown =>
        isWrite && lost !== undefined && lost !== error ? withLast(lost, error) : error;
      for (let number = 0, waits = 0; ; ) {
        const prepared = await within(prepare(), signal, prepareMs).catch((error: unknown) => {
          throw failureOf(error);
        });
        try {
          return await attempt(prepared);
        } catch (error) {
          if (renew?.(error, prepared) === true) continue;
          const isOwnRunning = isRunning(error) && retries > 0;
          if (isUnknown(error)) lost ??= error;
          const ms = pauseMs(error, isOwnRunning ? waits : number);
          if (isOwnRunning) runningMs += ms;
          const isOver = isOwnRunning ? runningMs > retryAfterMaxMs : number >= retries;
          const isTooLong = error instanceof ApiError && (error.retryAfter ?? 0) * 1000 > retryAfterMaxMs;
          if (!isSafe || isOver || isTooLong || signal?.aborted === true || !isPassing(error))
            throw isSilent(error) ? failureOf(error) : error;
          await pause(ms, signal);
          if (isOwnRunning) waits += 1;
          else number += 1;
        }
      }
    },
  };
};

/** The promise goes on when the wait for it ends: other calls may wait for it too. */
const within = <Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined,
  ms: number | undefined,
): Promise<Result> => {
  if (signal === undefined && ms === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new TransportError('the call was aborted', { cause: signal?.reason }));
    const expire = (): void => reject(new TransportError(`no token within ${ms} ms`));
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true });
    const timer = ms === undefined ? undefined : setTimeout(expire, ms);
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    });
  });
};

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(new TransportError('the call was aborted', { cause: signal?.reason }));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
