/** Reads documents of other servers under the rules of webhook targets (target/target.ts): a checked address, no redirect, bounded. */
import { isIP } from 'node:net';
import type { Dispatcher } from 'undici';
import { byDns, bySystem } from '../target/resolve.ts';
import { checkTarget, hostOf, type Resolve, type TargetRules, urlProblem } from '../target/target.ts';

type Bounds = { bytesMax: number; timeoutMs: number };

/**
 * Resolves with the text of a document that was answered with 200. Rejects with an Error whose message names the reason.
 * `allowedOrigins`: origins that may be at private addresses; all others must be https at public ones.
 */
export const createFetchDocument =
  (allowedOrigins: readonly string[]) =>
  async (text: string, { bytesMax, timeoutMs }: Bounds): Promise<string> => {
    const rules: TargetRules = { allowPrivate: false, allowedOrigins };
    const problem = urlProblem(text, rules);
    if (problem !== undefined) throw new Error(`the address ${problem}`);
    const url = new URL(text);
    const signal = AbortSignal.timeout(timeoutMs);
    const addresses = await inTime(signal, resolveChecked(url, rules, signal));
    // Loaded with the first document: commands that read none do not wait for the HTTP client.
    const { createConnections } = await import('./connections.ts');
    const connections = createConnections(timeoutMs);
    try {
      const { client } = connections.take(url.origin, addresses);
      const answer = await inTime(
        signal,
        client.request({ path: url.pathname + url.search, method: 'GET', headers, signal }),
      );
      if (answer.statusCode !== 200) throw new Error(`answered with the status ${answer.statusCode}`);
      return await inTime(signal, readText(answer.body, bytesMax));
    } finally {
      await connections.close();
    }
  };

const headers = { accept: 'application/json', 'user-agent': 'Orderpass' };

/** A name in the own network may stand in a hosts file or need a search domain. */
const resolverOf = ({ origin }: URL, { allowedOrigins }: TargetRules): Resolve =>
  allowedOrigins.includes(origin) ? bySystem : byDns();

const resolveChecked = async (url: URL, rules: TargetRules, signal: AbortSignal): Promise<readonly string[]> => {
  const resolve = isIP(hostOf(url)) === 0 ? resolverOf(url, rules) : bySystem;
  const verdict = await checkTarget(url, rules, resolve, signal);
  if (verdict.kind !== 'allowed') throw new Error(verdict.reason);
  return verdict.addresses;
};

const readText = async (body: Dispatcher.ResponseData['body'], bytesMax: number): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`the document is longer than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** A look-up of the system cannot be cancelled, so its result is not awaited. */
const inTime = async <T>(signal: AbortSignal, work: Promise<T>): Promise<T> => {
  let onAbort: (() => void) | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new Error('no answer in time'));
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
    work.catch(() => undefined);
  }
};
