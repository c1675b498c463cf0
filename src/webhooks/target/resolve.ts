/** Resolves the host name of a receiver. */
import { lookup, Resolver } from 'node:dns/promises';
import type { Resolve, TargetRules } from './target.ts';

/** chosen: several queries fit into the time limit of an attempt. */
const queryTimeoutMs = 3_000;
const queryTries = 2;
/**
 * chosen: how long IPv6 addresses are waited for when IPv4 addresses are known. The name servers of some domains never answer for
 * IPv6, and waiting for all tries takes half of the time of an attempt, with two servers all of it.
 */
const ipv6Ms = 500;

export const resolverFor = (rules: TargetRules): Resolve => (rules.allowPrivate ? bySystem : byDns());

/**
 * Names are resolved over the network only. The look-up of the operating system blocks one of few threads of the
 * process while a name server is silent, so one hostile name could stop all webhooks. `servers`: `address:port`, by
 * default those of the system.
 */
export const byDns =
  (servers?: readonly string[]): Resolve =>
  async (hostname, signal) => {
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTries });
    if (servers !== undefined) resolver.setServers(servers);
    // An open query would keep a process alive that wants to end.
    const cancel = (): void => resolver.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    let timer: NodeJS.Timeout | undefined;
    const ipv4 = resolver.resolve4(hostname).then((found) => {
      timer = setTimeout(cancel, ipv6Ms);
      return found;
    });
    const answers = await Promise.allSettled([ipv4, resolver.resolve6(hostname)]);
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };

/** Resolves through the operating system as well, because closed networks use hosts files and search domains. */
export const bySystem: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);
