/** What each upstream is made with: the settings where they are given, then the file of routes, then the defaults. */
import { readClientTls } from '#src/platform/http/tls/read-client-tls.ts';
import { addressesIn, type UpstreamPolicy, upstreamPolicy, type WeightedAddress } from '../../model/upstream-policy.ts';
import { addressesOf, type PolicySettings } from '../../policy/config.ts';
import type { AddressTls } from './address.ts';
import type { CheckPolicy } from './watch-address.ts';

/** Equal options make equal upstreams. */
export type UpstreamOptions = {
  name: string;
  addresses: readonly WeightedAddress[];
  tls: AddressTls | undefined;
  preserveHost: boolean;
  passesErrors: boolean;
  connectMs: number;
  /** To one address. */
  connectionsMax: number;
  waitingMax: number;
  check: CheckPolicy | undefined;
  failuresMax: number;
  pauseMsMax: number;
  retries: UpstreamPolicy['retries'];
};

export type UpstreamSettings = Pick<PolicySettings, 'upstream_failures_max' | 'upstream_pause_ms_max'> & {
  upstream_connect_timeout_ms?: number | undefined;
  upstream_connections_max?: number | undefined;
  upstream_waiting_max?: number | undefined;
};

type Policies = Readonly<Record<string, UpstreamPolicy>>;
/** Name -> address, several separated by `|`. */
type Urls = Readonly<Record<string, string>>;

/** Names of the upstreams that have an address in the table or in the settings. */
export const upstreamNames = (policies: Policies, urls: Urls): string[] => [
  ...new Set([
    ...Object.keys(urls),
    ...Object.keys(policies).filter((name) => policies[name]?.addresses !== undefined),
  ]),
];

/** Throws when a file of TLS cannot be used; `routeTableProblems` names all such problems before. */
export const resolveUpstreams = (policies: Policies, urls: Urls, settings: UpstreamSettings): UpstreamOptions[] =>
  upstreamNames(policies, urls).map((name) => {
    const policy = policies[name] ?? upstreamPolicy.parse({});
    const url = urls[name];
    return {
      name,
      addresses: url === undefined ? addressesIn(policy) : addressesOf(url).map(toPlainAddress),
      tls: policy.tls && readTls(name, policy.tls),
      preserveHost: policy.preserveHost,
      passesErrors: policy.errors === 'pass',
      connectMs: settings.upstream_connect_timeout_ms ?? policy.timeouts.connectMs,
      connectionsMax: settings.upstream_connections_max ?? policy.connections.max,
      waitingMax: settings.upstream_waiting_max ?? policy.connections.waitingMax,
      check: policy.health,
      failuresMax: settings.upstream_failures_max,
      pauseMsMax: settings.upstream_pause_ms_max,
      retries: policy.retries,
    };
  });

const toPlainAddress = (url: string): WeightedAddress => ({ origin: new URL(url).origin, weight: 1 });

const readTls = (name: string, { serverName, ...files }: NonNullable<UpstreamPolicy['tls']>): AddressTls => {
  const { tls, problems } = readClientTls(files);
  if (problems.length > 0)
    throw new Error(`the TLS of upstream ${name}: ${problems.map(({ message }) => message).join('; ')}`);
  return { ...tls, serverName };
};
