/** The addresses of a receiver's name. */
import { lookup, Resolver } from 'node:dns/promises';
import type { Resolve, TargetRules } from './target.ts';

const queryTimeoutMs = 3_000;
const queryTries = 2;

export const resolverFor = (rules: TargetRules): Resolve => (rules.allowPrivate ? bySystem : byDns());

/**
 * Names of receivers that anybody may register are asked over the network only. The system's own look-up holds one of
 * few threads of the process for as long as a name server keeps silent: a hostile name would stop everybody's webhooks.
 * `servers`: `address:port`; default those of the system.
 */
export const byDns =
  (servers?: readonly string[]): Resolve =>
  async (hostname, signal) => {
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTries });
    if (servers !== undefined) resolver.setServers(servers);
    // An open question would keep a process that wants to end.
    const cancel = (): void => resolver.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    signal?.removeEventListener('abort', cancel);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };

/** In a closed network names come from hosts files and search domains as well. */
const bySystem: Resolve = async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address);
