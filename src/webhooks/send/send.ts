/**
 * One POST to a receiver: only to a checked address, without following redirects, within the time limit, with at most
 * 16 KiB of the response kept. It never throws; every failure is a result.
 */
import { isIP } from 'node:net';
import { performance } from 'node:perf_hooks';
import {
  checkTarget,
  hostOf,
  type Resolve,
  type TargetRules,
  type TargetVerdict,
  urlProblem,
} from '../target/target.ts';
import type { ClientCertificate, Connections } from './connections.ts';
import { post, sinceMs } from './post.ts';
import type { Failure, SendResult } from './send-result.ts';
import { createTimeLimits, type TimeLimit } from './time-limits.ts';

export type Send = (
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
  certificate?: ClientCertificate,
) => Promise<SendResult>;

type SendDeps = { rules: TargetRules; resolve: Resolve; timeoutMs: number };

/**
 * A parsed URL. The URL never changes, but its host name is resolved for each attempt. `verdict`: for a literal
 * address, once it was checked.
 */
type Target =
  | { problem: string }
  | { problem?: never; url: URL; origin: string; path: string; verdict?: TargetVerdict };

/** chosen: parsed URLs that are cached before the cache starts over. */
const targetsMax = 4_096;

const createTargets = (rules: TargetRules): ((text: string) => Target) => {
  const known = new Map<string, Target>();
  const read = (text: string): Target => {
    const problem = urlProblem(text, rules);
    if (problem !== undefined) return { problem };
    const url = new URL(text);
    return { url, origin: url.origin, path: `${url.pathname}${url.search}` };
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
  // Loaded with the first attempt: the HTTP client takes longer to load than many a command that sends nothing takes as a whole.
  let opening: Promise<Connections> | undefined;
  const open = (): Promise<Connections> => {
    opening ??= import('./connections.ts').then(({ createConnections }) => createConnections(deps.timeoutMs));
    return opening;
  };
  const targetOf = createTargets(deps.rules);
  const beginLimit = createTimeLimits(deps.timeoutMs);
  const send: Send = async (url, headers, body, signal, certificate) => {
    const startedMs = performance.now();
    const target = targetOf(url);
    if (target.problem !== undefined) return unsent('target_refused', target.problem, startedMs, null);
    const limit = beginLimit(signal);
    try {
      const verdict = limit.isOver ? undefined : (target.verdict ?? (await checkAddress(deps, target, limit)));
      const dns = sinceMs(startedMs);
      if (verdict === undefined) return unsent('timeout', 'the name was not resolved in time', startedMs, dns);
      if (verdict.kind === 'refused') return unsent('target_refused', verdict.reason, startedMs, dns);
      if (verdict.kind === 'unresolved') return unsent('dns', verdict.reason, startedMs, dns);
      const { origin, path } = target;
      const connections = await open();
      // The limit may be reached while nothing listens to it: `post` does from here on.
      if (limit.isOver) return unsent('timeout', 'the time was over before a connection began', startedMs, dns);
      const connection = connections.take(origin, verdict.addresses, certificate);
      const { status, failure, retryAfter, response, firstByteMs, reusable } = await post(connection, {
        path,
        headers,
        body,
        limit,
        startedMs,
      });
      const handshake = connection.takeOpening();
      const address = connection.address();
      connections.release(connection, reusable);
      return {
        address: address ?? verdict.addresses[0],
        status,
        failure,
        retryAfter,
        response,
        timings: {
          dns,
          connect: handshake?.connectMs ?? (address === null ? null : 0),
          tls: handshake === undefined ? (address !== null && origin.startsWith('https:') ? 0 : null) : handshake.tlsMs,
          firstByte: firstByteMs,
          total: sinceMs(startedMs),
        },
      };
    } finally {
      limit.close();
    }
  };
  return {
    send,
    close: async () => (await opening)?.close(),
  };
};

const unsent = (failure: Failure, response: string, startedMs: number, dns: number | null): SendResult => ({
  address: null,
  status: null,
  failure,
  retryAfter: undefined,
  response,
  timings: { dns, connect: null, tls: null, firstByte: null, total: sinceMs(startedMs) },
});

/** Returns undefined when the limit was reached first. */
const checkAddress = async (
  { rules, resolve }: SendDeps,
  target: Extract<Target, { url: URL }>,
  limit: TimeLimit,
): Promise<TargetVerdict | undefined> => {
  const { url } = target;
  if (isIP(hostOf(url)) !== 0) {
    // A literal address is not resolved, so the verdict stays the same.
    target.verdict = await checkTarget(url, rules, resolve);
    return target.verdict;
  }
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
