/**
 * One POST to a receiver: to an address that was checked, without following redirects, 15 s in all, at most 16 KiB of
 * the answer kept. Never throws: whatever happens is the result of an attempt.
 */
import { isIP } from 'node:net';
import { performance } from 'node:perf_hooks';
import { createConnections } from './connections.ts';
import { createLimit, type Limit } from './limit.ts';
import { post } from './post.ts';
import { checkTarget, hostOf, type Resolve, type TargetRules, type TargetVerdict, urlProblem } from './target.ts';

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

/** A URL as it was read; what it says never changes, what its name leads to is asked each time. */
type Target = { problem: string } | { problem?: never; url: URL; path: string };

const targetsMax = 4_096;

const createTargets = (rules: TargetRules): ((text: string) => Target) => {
  const known = new Map<string, Target>();
  const read = (text: string): Target => {
    const problem = urlProblem(text, rules);
    if (problem !== undefined) return { problem };
    const url = new URL(text);
    return { url, path: `${url.pathname}${url.search}` };
  };
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (known.size >= targetsMax) known.clear();
    const target = read(text);
    known.set(text, target);
    return target;
  };
};

export const createSend = (deps: SendDeps): { send: Send; close(): Promise<void> } => {
  const connections = createConnections(deps.timeoutMs);
  const targetOf = createTargets(deps.rules);
  const sendWithin = async (
    target: Target,
    headers: Record<string, string>,
    body: string,
    limit: Limit,
  ): Promise<SendResult> => {
    const elapsed = stopwatch();
    const unsent = (failure: Failure, response: string, dns: number | null): SendResult => ({
      address: null,
      status: null,
      failure,
      retryAfter: undefined,
      response,
      timings: { dns, connect: null, tls: null, firstByte: null, total: elapsed() },
    });
    if (target.problem !== undefined) return unsent('target_refused', target.problem, null);
    const { url, path } = target;
    const verdict = await judge(deps, url, limit);
    const dns = elapsed();
    if (verdict === undefined) return unsent('timeout', 'the name was not resolved in time', dns);
    if (verdict.kind === 'refused') return unsent('target_refused', verdict.reason, dns);
    if (verdict.kind === 'unresolved') return unsent('dns', verdict.reason, dns);
    const connection = connections.take(url.origin, verdict.addresses);
    const { reusable, firstByteMs, ...outcome } = await post(connection, { path, headers, body, limit, elapsed });
    const opening = connection.takeOpening();
    const reached = connection.address() !== null;
    connections.giveBack(connection, reusable);
    return {
      ...outcome,
      address: connection.address() ?? verdict.addresses[0],
      timings: {
        dns,
        connect: opening?.connectMs ?? (reached ? 0 : null),
        tls: opening === undefined ? (reached && url.protocol === 'https:' ? 0 : null) : opening.tlsMs,
        firstByte: firstByteMs,
        total: elapsed(),
      },
    };
  };
  const send: Send = async (url, headers, body, signal) => {
    const limit = createLimit(deps.timeoutMs, signal);
    try {
      return await sendWithin(targetOf(url), headers, body, limit);
    } finally {
      limit.close();
    }
  };
  return { send, close: connections.close };
};

const stopwatch = (): (() => number) => {
  const startedMs = performance.now();
  return () => Math.round(performance.now() - startedMs);
};

/** Undefined: not in time. */
const judge = async ({ rules, resolve }: SendDeps, url: URL, limit: Limit): Promise<TargetVerdict | undefined> => {
  if (limit.isOver) return undefined;
  // Nobody is asked.
  if (isIP(hostOf(url)) !== 0) return checkTarget(url, rules, resolve);
  const waiting = new AbortController();
  const over = new Promise<undefined>((end) => {
    limit.onOver = () => {
      waiting.abort();
      end(undefined);
    };
  });
  const verdict = await Promise.race([checkTarget(url, rules, resolve, waiting.signal), over]);
  limit.onOver = undefined;
  return verdict;
};
