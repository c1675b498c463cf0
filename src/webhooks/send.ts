/**
 * One POST to a receiver over undici: to the address that was checked, without following redirects, 15 s in all, at most
 * 16 KiB of the answer kept. Never throws: whatever happens is the result of an attempt.
 */
import { isIP } from 'node:net';
import { Agent, type Dispatcher, request } from 'undici';
import type { Resolve, TargetRules } from './target.ts';
import { checkTarget, urlProblem } from './target.ts';

export type Failure = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'status' | 'redirect' | 'target_refused';

export type SendResult = {
  address: string | null;
  status: number | null;
  /** null: the receiver has it. */
  failure: Failure | null;
  retryAfter: string | undefined;
  response: string | null;
};

export type Send = (
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
) => Promise<SendResult>;

type SendDeps = { rules: TargetRules; resolve: Resolve; timeoutMs: number };

const responseBytesMax = 16 * 1024;
const agentsMax = 512;

export const createSend = (deps: SendDeps): { send: Send; close(): Promise<void> } => {
  const agents = createPinnedAgents(deps.timeoutMs);
  const send: Send = async (url, headers, body, signal) => {
    const refused = (failure: Failure, response: string): SendResult => ({
      address: null,
      status: null,
      failure,
      retryAfter: undefined,
      response,
    });
    const problem = urlProblem(url, deps.rules);
    if (problem !== undefined) return refused('target_refused', problem);
    const parsed = new URL(url);
    const within = AbortSignal.any([signal, AbortSignal.timeout(deps.timeoutMs)]);
    const verdict = await Promise.race([checkTarget(parsed, deps.rules, deps.resolve), aborted(within)]);
    if (verdict === undefined) return refused('timeout', 'the name was not resolved in time');
    if (verdict.kind === 'refused') return refused('target_refused', verdict.reason);
    if (verdict.kind === 'unresolved') return refused('dns', verdict.reason);
    return post(agents.to(parsed.origin, verdict.address), verdict.address, { url, headers, body, within });
  };
  return { send, close: agents.close };
};

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });

type Post = { url: string; headers: Record<string, string>; body: string; within: AbortSignal };

const post = async (
  dispatcher: Dispatcher,
  address: string,
  { url, headers, body, within }: Post,
): Promise<SendResult> => {
  let status: number | null = null;
  try {
    const answer = await request(url, { dispatcher, method: 'POST', headers, body, signal: within });
    status = answer.statusCode;
    const retryAfter = answer.headers['retry-after'];
    return {
      address,
      status,
      failure: failureOf(status),
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      response: await readStart(answer.body),
    };
  } catch (error) {
    // A receiver that has said 2xx has the event, even when the rest of its answer never comes.
    if (status !== null && failureOf(status) === null)
      return { address, status, failure: null, retryAfter: undefined, response: null };
    return {
      address,
      status,
      failure: within.aborted ? 'timeout' : classify(error),
      retryAfter: undefined,
      response: null,
    };
  }
};

const failureOf = (status: number): Failure | null => {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect' : 'status';
};

/** The first bytes of the answer as text; the rest is not read. */
const readStart = async (body: Dispatcher.ResponseData['body']): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= responseBytesMax) break;
  }
  // PostgreSQL keeps no U+0000.
  return Buffer.concat(chunks).subarray(0, responseBytesMax).toString('utf8').replaceAll('\0', '\ufffd');
};

const classify = (error: unknown): Failure => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return 'timeout';
  if (['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EACCES'].includes(code)) return 'connect';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns';
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code) || code === 'EPROTO') return 'tls';
  return 'reset';
};

/** Kept-alive connections by origin and address: one that was opened to a checked address is never used for another. */
const createPinnedAgents = (timeoutMs: number) => {
  const agents = new Map<string, Agent>();
  const open = (address: string): Agent =>
    new Agent({
      connections: 16,
      keepAliveTimeout: 10_000,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      connect: {
        timeout: timeoutMs,
        lookup: (_host, options, done) => {
          const family = isIP(address);
          if (options.all === true) done(null, [{ address, family }]);
          else done(null, address, family);
        },
      },
    });
  return {
    to: (origin: string, address: string): Agent => {
      const key = `${origin} ${address}`;
      const known = agents.get(key);
      agents.delete(key);
      const agent = known ?? open(address);
      agents.set(key, agent);
      const [oldest] = agents;
      if (agents.size > agentsMax && oldest !== undefined) {
        agents.delete(oldest[0]);
        void oldest[1].close();
      }
      return agent;
    },
    close: async (): Promise<void> => {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
      agents.clear();
    },
  };
};
