/** The metrics of the gateway. */

import type { ReachedLimit } from '#src/contract/fault.ts';
import type { KvHealth } from '#src/platform/kv/index.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { TokenCacheFigures } from '../access/bearer-tokens.ts';
import type { CountAuthentication } from '../access/count-authentications.ts';
import type { CacheFigures } from '../credentials/lookup/cache.ts';
import type { Exchange } from '../request/exchange.ts';

export type GatewayMetrics = {
  /** Called when the status of an answer is written. */
  answered(exchange: Pick<Exchange, 'route' | 'place' | 'startedAtMs'>, status: number): void;
  refused(refused: { code: string; limit?: ReachedLimit | undefined }): void;
  authenticated: CountAuthentication;
  /** `outcome`: issued, or the error of RFC 6749. */
  token(outcome: string): void;
  revocationLag(seconds: number): void;
  /** `result`: what a report of a leaked credential led to. */
  leakReport(result: 'ended' | 'known' | 'unknown'): void;
  /** `result`: of reading the route table again. */
  reloaded(result: 'reloaded' | 'unchanged' | 'refused'): void;
  /** Requests that the log of callers' requests does not get. */
  requestsDropped(reason: 'queue' | 'caller' | 'store', count: number): void;
  /** A request lost its connection after it was sent. `isAllowed`: it is sent again, within the retry budget. */
  repeated(isAllowed: boolean): void;
  /** Adds figures that are read at each scrape. */
  watch(sources: GatewaySources): void;
};

type GatewaySources = {
  auditWaiting: () => number;
  /** Seconds. */
  auditLag: () => number;
  /** Places at which the audit was found changed. */
  auditProblems: () => number;
  upstreamAddresses: () => readonly { upstream: string; address: string; state: string }[];
  tokenCache: () => TokenCacheFigures;
  credentialCache: () => CacheFigures;
  sharedHealth: () => KvHealth;
  routeTable: () => { version: string; isRefused: boolean };
};

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const lagBuckets = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 5];

export const createGatewayMetrics = (metrics: Metrics, nowMs: () => number): GatewayMetrics => {
  const requests = metrics.counter('requests_total', 'Answers by route and class of status', ['route', 'status']);
  const seconds = metrics.histogram(
    'request_duration_seconds',
    'From the head of a request to the head of its answer',
    secondsBuckets,
  );
  const refusals = metrics.counter('refusals_total', 'Requests that the gateway refused, by code', ['code']);
  const limited = metrics.counter(
    'rate_limited_total',
    'Requests refused with 429, by the limit that was reached: units (of a window or a quota), concurrency (running requests), calls (of an endpoint of the gateway itself), failures (failed authentications)',
    ['limit'],
  );
  const authentications = metrics.counter(
    'authentications_total',
    'Requests by kind of credential and outcome: ok, or the reason of the refusal',
    ['kind', 'outcome'],
  );
  const leaks = metrics.counter(
    'leak_reports_total',
    'Reported values by result: ended, known (it had ended), unknown',
    ['result'],
  );
  const tokens = metrics.counter('tokens_total', 'Answers of the token endpoint by outcome: issued, or the error', [
    'outcome',
  ]);
  const lag = metrics
    .histogram(
      'revocation_lag_seconds',
      'From a revocation (token, secret, key, client, all tokens before a time) to its refusal here',
      lagBuckets,
    )
    .child({});
  const ofRoute = createChildren((route) => ({
    duration: seconds.child({ route }),
    byClass: [1, 2, 3, 4, 5].map((first) => requests.child({ route, status: `${first}xx` })),
  }));
  const ofKind = createChildren((kind) => createChildren((outcome) => authentications.child({ kind, outcome })));
  const ofLimit = {
    units: limited.child({ limit: 'units' }),
    concurrency: limited.child({ limit: 'concurrency' }),
    calls: limited.child({ limit: 'calls' }),
    failures: limited.child({ limit: 'failures' }),
  };
  const ofCode = createChildren((code) => refusals.child({ code }));
  const ofLeak = createChildren((result) => leaks.child({ result }));
  const ofOutcome = createChildren((outcome) => tokens.child({ outcome }));
  return {
    answered: ({ route, place, startedAtMs }, status) => {
      const { duration, byClass } = ofRoute(place ?? route?.id ?? 'none');
      byClass[Math.floor(status / 100) - 1]?.inc();
      duration.observe((nowMs() - startedAtMs) / 1000);
    },
    refused: ({ code, limit }) => {
      ofCode(code).inc();
      if (limit !== undefined) ofLimit[limit].inc();
    },
    authenticated: (kind, outcome) => ofKind(kind)(outcome).inc(),
    token: (outcome) => ofOutcome(outcome).inc(),
    reloaded: countReloads(metrics),
    revocationLag: (value) => lag.observe(value),
    leakReport: (result) => ofLeak(result).inc(),
    requestsDropped: countDroppedRequests(metrics),
    repeated: countRepeats(metrics),
    watch: (sources) => watchSources(metrics, sources),
  };
};

const countReloads = (metrics: Metrics): GatewayMetrics['reloaded'] => {
  const reloads = metrics.counter(
    'config_reload_total',
    'Readings of the route table since the start: reloaded, unchanged, or refused',
    ['result'],
  );
  const children = {
    reloaded: reloads.child({ result: 'reloaded' }),
    unchanged: reloads.child({ result: 'unchanged' }),
    refused: reloads.child({ result: 'refused' }),
  };
  return (result) => children[result].inc();
};

const countDroppedRequests = (metrics: Metrics): GatewayMetrics['requestsDropped'] => {
  const dropped = metrics.counter(
    'request_log_dropped_total',
    'Requests that their callers do not find in their own list: queue (too many waited for the store), caller (too many of one caller in an hour), store (it refused them, or did not confirm their counts)',
    ['reason'],
  );
  const children = {
    queue: dropped.child({ reason: 'queue' }),
    caller: dropped.child({ reason: 'caller' }),
    store: dropped.child({ reason: 'store' }),
  };
  return (reason, count) => children[reason].inc(count);
};

const watchRouteTable = (metrics: Metrics, routeTable: GatewaySources['routeTable']): void => {
  metrics.gauges(
    'config_info',
    '1 for the version of the route table that is served',
    ['version'],
    () => [[{ version: routeTable().version }, 1]],
    'max',
  );
  metrics.gauge(
    'config_refused',
    '1: the file of the route table cannot be used, so the earlier table is served',
    () => (routeTable().isRefused ? 1 : 0),
    'max',
  );
};

const watchCredentialCache = (metrics: Metrics, figures: GatewaySources['credentialCache']): void => {
  metrics.gauge('credential_cache_entries', 'Keys and clients that are remembered', () => figures().entries);
  metrics.total(
    'credential_cache_hits_total',
    'Keys and clients that were remembered, or remembered as unknown',
    () => figures().hits,
  );
  metrics.total('credential_cache_misses_total', 'Keys and clients that had to be read', () => figures().misses);
  metrics.total(
    'credential_cache_clears_total',
    'How often all keys and clients were forgotten at once: at each new connection to PostgreSQL, and when it is not known what changed',
    () => figures().clears,
  );
};

const watchSources = (metrics: Metrics, sources: GatewaySources): void => {
  const {
    auditWaiting,
    auditLag,
    auditProblems,
    upstreamAddresses,
    routeTable,
    tokenCache,
    credentialCache,
    sharedHealth,
  } = sources;
  metrics.gauge('audit_waiting', 'Events of the audit that are not written yet', auditWaiting);
  metrics.gauge('audit_problems', 'Places at which the audit was found changed or removed', auditProblems, 'max');
  watchUpstreams(metrics, upstreamAddresses);
  watchRouteTable(metrics, routeTable);
  metrics.gauge('audit_lag_seconds', 'Age of the oldest event of the audit that is not written yet', auditLag, 'max');
  metrics.gauge('token_cache_entries', 'Verified tokens that are remembered', () => tokenCache().entries);
  metrics.total('token_cache_hits_total', 'Tokens that were remembered', () => tokenCache().hits);
  metrics.total('token_cache_misses_total', 'Tokens that had to be verified', () => tokenCache().misses);
  metrics.total('token_cache_evictions_total', 'Tokens forgotten for want of room', () => tokenCache().evictions);
  watchCredentialCache(metrics, credentialCache);
  metrics.gauge(
    'shared_state_up',
    '0: limits are counted by each process alone, though a Redis is named',
    () => (sharedHealth() === 'down' ? 0 : 1),
    'min',
  );
};

const countRepeats = (metrics: Metrics): GatewayMetrics['repeated'] => {
  const repeats = metrics.counter(
    'upstream_repeats_total',
    'Requests that lost their connection after they were sent and may be repeated, and refused HEADs that GET may be sent for: repeated, or over_budget',
    ['outcome'],
  );
  const repeated = repeats.child({ outcome: 'repeated' });
  const overBudget = repeats.child({ outcome: 'over_budget' });
  return (isAllowed) => (isAllowed ? repeated : overBudget).inc();
};

const watchUpstreams = (metrics: Metrics, upstreamAddresses: GatewaySources['upstreamAddresses']): void => {
  metrics.gauge(
    'upstream_addresses_out',
    'Addresses of upstreams that failed their checks or several requests in a row',
    () => upstreamAddresses().filter(({ state }) => state !== 'in_use').length,
    'max',
  );
  metrics.gauges(
    'upstream_address_state',
    '1 for the state of each address: in_use; failing (in use, since half of the addresses are out); paused (left out after failed requests); down (left out by its checks)',
    ['upstream', 'address', 'state'],
    () => upstreamAddresses().map((labels) => [labels, 1]),
    'max',
  );
};

const createChildren = <T>(make: (name: string) => T): ((name: string) => T) => {
  const made = new Map<string, T>();
  return (name) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const child = make(name);
    made.set(name, child);
    return child;
  };
};
