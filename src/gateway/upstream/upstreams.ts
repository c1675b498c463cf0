/** The services behind the gateway: their addresses, a bounded pool of connections for each, and the choice of the next. */
import { addressesIn, type UpstreamPolicy } from '../model/upstream-policy.ts';
import { addressesOf, type PolicySettings } from '../policy/config.ts';
import { createHealth, type Health, type HealthBounds, readinessOf } from './address-health.ts';
import { type Connections, createConnections } from './connections.ts';
import { createPublicLocation, type ToPublicLocation } from './public-location.ts';

export type Address = {
  readonly origin: string;
  readonly connections: Connections;
  readonly health: Health;
  /** Requests and upgraded connections at this address now. */
  inFlight: number;
};

export type Upstream = {
  readonly name: string;
  readonly addresses: readonly Address[];
  /** Requests that have a connection or wait for one. */
  inFlight: number;
  readonly inFlightMax: number;
  readonly bounds: HealthBounds;
  readonly connectTimeoutMs: number;
  readonly toPublicLocation: ToPublicLocation;
  /** Start of the search for the least busy address, so that equally busy ones alternate. */
  turn: number;
};

export type UpstreamSettings = Pick<PolicySettings, 'upstream_failures_max' | 'upstream_pause_ms_max'> & {
  upstream_connect_timeout_ms: number;
  upstream_connections_max: number;
  upstream_waiting_max: number;
};

/** Above this an upstream's header is a broken answer. */
const headerBytesMax = 64 * 1024;

/**
 * `policies`: those of the route table. `urls`: name -> address, several separated by `|`; they win over the table. `origin`:
 * the public address.
 */
export const createUpstreams = (
  { policies, urls }: { policies: Readonly<Record<string, UpstreamPolicy>>; urls: Readonly<Record<string, string>> },
  settings: UpstreamSettings,
  origin: string,
): ReadonlyMap<string, Upstream> =>
  new Map(
    upstreamNames(policies, urls).map((name) => {
      const url = urls[name];
      const origins = url === undefined ? addressesIn(policies[name] ?? {}) : addressesOf(url);
      const addresses = origins.map((one) => createAddress(one, settings));
      return [
        name,
        {
          name,
          addresses,
          inFlight: 0,
          inFlightMax: settings.upstream_connections_max * addresses.length + settings.upstream_waiting_max,
          bounds: { failuresMax: settings.upstream_failures_max, pauseMsMax: settings.upstream_pause_ms_max },
          connectTimeoutMs: settings.upstream_connect_timeout_ms,
          toPublicLocation: createPublicLocation(origins, origin),
          turn: 0,
        },
      ];
    }),
  );

/** Names of the upstreams that have an address. */
export const upstreamNames = (
  policies: Readonly<Record<string, UpstreamPolicy>>,
  urls: Readonly<Record<string, string>>,
): string[] => [
  ...new Set([
    ...Object.keys(urls),
    ...Object.keys(policies).filter((name) => policies[name]?.addresses !== undefined),
  ]),
];

const createAddress = (url: string, settings: UpstreamSettings): Address => {
  const { origin } = new URL(url);
  return {
    origin,
    connections: createConnections(origin, settings.upstream_connections_max, {
      // One request per connection at a time: a slow or broken answer must never block the answer to another caller.
      pipelining: 1,
      connectTimeout: settings.upstream_connect_timeout_ms,
      maxHeaderSize: headerBytesMax,
      allowH2: false,
    }),
    health: createHealth(),
    inFlight: 0,
  };
};

export type Choice = { address: Address; trial: boolean };

/**
 * Chooses the least busy address in use. An address whose pause is over is tried with a request that may be repeated, or when
 * there is no other. Undefined when all are out. `without`: addresses that failed this request; used again only with
 * `orAgain` and when no other is left.
 */
export const chooseAddress = (
  upstream: Upstream,
  nowMs: number,
  options: { mayRepeat: boolean; without?: readonly Address[]; orAgain?: boolean },
): Choice | undefined => {
  const { addresses } = upstream;
  let ready: Address | undefined;
  let again: Address | undefined;
  let trial: Address | undefined;
  for (let i = 0; i < addresses.length; i += 1) {
    const address = addresses[(upstream.turn + i) % addresses.length] as Address;
    const readiness = readinessOf(address.health, nowMs);
    if (readiness === 'out') continue;
    if (options.without?.includes(address)) {
      if (readiness === 'ready' && options.orAgain === true) again ??= address;
    } else if (readiness === 'trial') trial ??= address;
    else if (ready === undefined || address.inFlight < ready.inFlight) ready = address;
  }
  upstream.turn = (upstream.turn + 1) % addresses.length;
  if (trial !== undefined && (options.mayRepeat || ready === undefined)) {
    trial.health.trying = true;
    return { address: trial, trial: true };
  }
  const address = ready ?? again;
  return address === undefined ? undefined : { address, trial: false };
};

/** Whole seconds until an address may be tried, at least 1. */
export const secondsUntilTrial = ({ addresses }: Upstream, nowMs: number): number => {
  const soonest = Math.min(...addresses.map(({ health }) => health.outUntilMs));
  return Math.max(1, Math.ceil((soonest - nowMs) / 1000));
};
