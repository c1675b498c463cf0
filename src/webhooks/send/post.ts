/** One request over a connection, and the start of its response. It never throws; every failure is a result. */
import { performance } from 'node:perf_hooks';
import type { Dispatcher } from 'undici';
import type { Connection } from './connections.ts';
import { cutResponse, responseBytesMax } from './redact-response.ts';
import type { Failure, SendResult } from './send-result.ts';
import type { TimeLimit } from './time-limits.ts';

type Post = {
  path: string;
  headers: Record<string, string>;
  body: string;
  limit: TimeLimit;
  startedMs: number;
};

type PostOutcome = Pick<SendResult, 'status' | 'failure' | 'retryAfter' | 'response'> & {
  firstByteMs: number | null;
  /** The response was read to its end. */
  reusable: boolean;
};

/**
 * chosen: time for the rest of a response whose status is known. A delivery needs only the status, and other attempts
 * need the slot.
 */
const answerMs = 2_000;

export const sinceMs = (startedMs: number): number => Math.round(performance.now() - startedMs);

/** chosen: as many as the gateway passes over. Each costs the worker some microseconds, and a receiver could send them without an end. */
const informationalMax = 100;

const enough = new Error('the attempt is over');

/** A response that has begun. */
type Begun = { status: number; retryAfter: string | undefined; firstByteMs: number; chunks: Buffer[]; bytes: number };

export const post = ({ client }: Connection, { path, headers, body, limit, startedMs }: Post): Promise<PostOutcome> =>
  new Promise((resolve) => {
    let begun: Begun | undefined;
    let rest: NodeJS.Timeout | undefined;
    let isSettled = false;
    let controller: Dispatcher.DispatchController | undefined;
    let informationalCount = 0;
    const settle = (reusable: boolean, error?: unknown): void => {
      isSettled = true;
      if (rest !== undefined) clearTimeout(rest);
      limit.onOver = undefined;
      resolve(begun === undefined ? unanswered(limit, error) : outcomeOf(begun, reusable));
    };
    // The status decides the result; a failure in the rest of the response does not change it.
    const cutShort = (): void => {
      settle(false);
      controller?.abort(enough);
    };
    const awaitRest = (): void => {
      if (!isSettled) rest = setTimeout(cutShort, answerMs);
    };
    limit.onOver = () => (controller === undefined ? settle(false) : controller.abort(enough));
    client.dispatch(
      // No other request waits on this connection.
      { path, method: 'POST', headers, body, blocking: false },
      {
        onRequestStart: (started) => {
          controller = started;
          if (limit.isOver) started.abort(enough);
        },
        onResponseStart: (_controller, status, fields) => {
          if (status < 200) {
            informationalCount += 1;
            if (informationalCount > informationalMax) controller?.abort(enough);
            return;
          }
          const retryAfter = fields['retry-after'];
          const asked = typeof retryAfter === 'string' ? retryAfter : undefined;
          begun = { status, retryAfter: asked, firstByteMs: sinceMs(startedMs), chunks: [], bytes: 0 };
          // Most responses are complete by then, so that no timer is started.
          queueMicrotask(awaitRest);
        },
        onResponseData: (_controller, chunk) => {
          if (begun === undefined || begun.bytes >= responseBytesMax) return;
          begun.chunks.push(chunk);
          begun.bytes += chunk.length;
          if (begun.bytes >= responseBytesMax) cutShort();
        },
        onResponseEnd: () => settle(true),
        onResponseError: (_controller, error) => settle(false, error),
      },
    );
  });

const unanswered = (limit: TimeLimit, error: unknown): PostOutcome => ({
  status: null,
  failure: limit.isOver ? 'timeout' : classify(error),
  retryAfter: undefined,
  response: null,
  firstByteMs: null,
  reusable: false,
});

const outcomeOf = ({ status, retryAfter, firstByteMs, chunks }: Begun, reusable: boolean): PostOutcome => ({
  status,
  failure: failureOf(status),
  retryAfter,
  response: chunks.length === 0 ? '' : printable(Buffer.concat(chunks)),
  firstByteMs,
  reusable,
});

const failureOf = (status: number): Failure | null => {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect' : 'status';
};

/** Text within the bound in UTF-8. PostgreSQL stores no U+0000, and each invalid byte becomes three. */
const printable = (bytes: Buffer): string =>
  cutResponse(bytes.subarray(0, responseBytesMax).toString('utf8').replaceAll('\0', '\ufffd'));

const classify = (error: unknown): Failure => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/.test(code)) return 'timeout';
  if (['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EACCES'].includes(code)) return 'connect';
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code) || code === 'EPROTO') return 'tls';
  return 'reset';
};
