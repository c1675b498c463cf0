/**
 * One POST to a receiver: to an address that was checked, without following redirects, 15 s in all, at most 16 KiB of
 * the answer kept. Never throws: whatever happens is the result of an attempt.
 */
import { performance } from 'node:perf_hooks';
import type { Dispatcher } from 'undici';
import { type Connection, createConnections } from './connections.ts';
import type { Resolve, TargetRules } from './target.ts';
import { checkTarget, urlProblem } from './target.ts';

export type Failure = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'status' | 'redirect' | 'target_refused';

/** Milliseconds; null for a part that was not reached, 0 for one that a kept connection spared. */
export type Timings = {
  dns: number | null;
  connect: number | null;
  tls: number | null;
  firstByte: number | null;
  total: number;
};

export type SendResult = {
  address: string | null;
  status: number | null;
  /** null: the receiver has it. */
  failure: Failure | null;
  retryAfter: string | undefined;
  /** The start of the answer's body, or why nothing was sent. */
  response: string | null;
  timings: Timings;
};

export type Send = (
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
) => Promise<SendResult>;

type SendDeps = { rules: TargetRules; resolve: Resolve; timeoutMs: number };

const responseBytesMax = 16 * 1024;
/** For the rest of an answer whose status is known: that is all a delivery needs, and its place is wanted by others. */
const answerMs = 2_000;

export const createSend = (deps: SendDeps): { send: Send; close(): Promise<void> } => {
  const connections = createConnections(deps.timeoutMs);
  const sendWithin: Send = async (url, headers, body, within) => {
    const elapsed = stopwatch();
    const unsent = (failure: Failure, response: string, dns: number | null): SendResult => ({
      address: null,
      status: null,
      failure,
      retryAfter: undefined,
      response,
      timings: { dns, connect: null, tls: null, firstByte: null, total: elapsed() },
    });
    const problem = urlProblem(url, deps.rules);
    if (problem !== undefined) return unsent('target_refused', problem, null);
    const parsed = new URL(url);
    const verdict = await Promise.race([checkTarget(parsed, deps.rules, deps.resolve, within), aborted(within)]);
    const dns = elapsed();
    if (verdict === undefined) return unsent('timeout', 'the name was not resolved in time', dns);
    if (verdict.kind === 'refused') return unsent('target_refused', verdict.reason, dns);
    if (verdict.kind === 'unresolved') return unsent('dns', verdict.reason, dns);
    const connection = connections.take(parsed.origin, verdict.addresses);
    const { reusable, firstByteMs, ...outcome } = await post(connection, {
      url: parsed,
      headers,
      body,
      within,
      elapsed,
    });
    const opening = connection.takeOpening();
    const reached = connection.address() !== null;
    connections.giveBack(connection, reusable);
    return {
      ...outcome,
      address: connection.address() ?? verdict.addresses[0],
      timings: {
        dns,
        connect: opening?.connectMs ?? (reached ? 0 : null),
        tls: opening === undefined ? (reached && parsed.protocol === 'https:' ? 0 : null) : opening.tlsMs,
        firstByte: firstByteMs,
        total: elapsed(),
      },
    };
  };
  const send: Send = async (url, headers, body, signal) => {
    // Not AbortSignal.timeout and any: their timers would stay behind for the whole bound after each attempt.
    const limit = new AbortController();
    const end = (): void => limit.abort();
    const timer = setTimeout(end, deps.timeoutMs);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    try {
      return await sendWithin(url, headers, body, limit.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
  };
  return { send, close: connections.close };
};

const stopwatch = (): (() => number) => {
  const startedMs = performance.now();
  return () => Math.round(performance.now() - startedMs);
};

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });

type Post = {
  url: URL;
  headers: Record<string, string>;
  body: string;
  within: AbortSignal;
  elapsed: () => number;
};

type PostOutcome = Pick<SendResult, 'status' | 'failure' | 'retryAfter' | 'response'> & {
  firstByteMs: number | null;
  reusable: boolean;
};

const post = async ({ client }: Connection, { url, headers, body, within, elapsed }: Post): Promise<PostOutcome> => {
  let answer: Dispatcher.ResponseData;
  try {
    const path = `${url.pathname}${url.search}`;
    answer = await client.request({ path, method: 'POST', headers, body, signal: within });
  } catch (error) {
    const failure = within.aborted ? 'timeout' : classify(error);
    return { status: null, failure, retryAfter: undefined, response: null, firstByteMs: null, reusable: false };
  }
  const firstByteMs = elapsed();
  const retryAfter = answer.headers['retry-after'];
  // The status is the receiver's word: what becomes of the rest of its answer does not change it.
  const { text, ended } = await readStart(answer.body);
  return {
    status: answer.statusCode,
    failure: failureOf(answer.statusCode),
    retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
    response: text,
    firstByteMs,
    reusable: ended,
  };
};

const failureOf = (status: number): Failure | null => {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect' : 'status';
};

/** The first bytes of the answer as text; the rest is not read. */
const readStart = async (body: Dispatcher.ResponseData['body']): Promise<{ text: string; ended: boolean }> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let ended = false;
  const timer = setTimeout(() => body.destroy(), answerMs);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= responseBytesMax) break;
    }
    ended = bytes < responseBytesMax;
  } catch {
    // Cut off or too slow: what came is kept.
  } finally {
    clearTimeout(timer);
  }
  return { text: printable(Buffer.concat(chunks)), ended };
};

/** UTF-8 within the bound. PostgreSQL keeps no U+0000, and each byte that is not UTF-8 becomes three. */
const printable = (bytes: Buffer): string => {
  const text = bytes.subarray(0, responseBytesMax).toString('utf8').replaceAll('\0', '\ufffd');
  if (Buffer.byteLength(text) <= responseBytesMax) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(responseBytesMax));
  return text.slice(0, read);
};

const classify = (error: unknown): Failure => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/.test(code)) return 'timeout';
  if (['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EACCES'].includes(code)) return 'connect';
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code) || code === 'EPROTO') return 'tls';
  return 'reset';
};
