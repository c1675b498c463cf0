/** What the gateway counts. */
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { Exchange } from './exchange.ts';

export type GatewayMetrics = {
  /** When the status of an answer is written. */
  answered(exchange: Exchange, status: number): void;
  refused(code: string): void;
  /** `outcome`: issued, or the error of RFC 6749. */
  token(outcome: string): void;
  revocationLag(seconds: number): void;
  /** Figures that are read when somebody looks. */
  watch(sources: { auditWaiting: () => number; storeWaiting: () => number; upstreamsOut: () => number }): void;
};

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const lagBuckets = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 5];

export const createGatewayMetrics = (metrics: Metrics, nowMs: () => number): GatewayMetrics => {
  const requests = metrics.counter('requests_total', 'Answers by route and class of status', ['route', 'status']);
  const seconds = metrics.histogram(
    'request_duration_seconds',
    'From the head of a request to the head of its answer',
    ['route'],
    secondsBuckets,
  );
  const refusals = metrics.counter('refusals_total', 'Requests that the gateway refused, by code', ['code']);
  const tokens = metrics.counter('tokens_total', 'Answers of the token endpoint by outcome', ['outcome']);
  const lag = metrics
    .histogram('revocation_lag_seconds', 'From the revocation of a token to its refusal here', [], lagBuckets)
    .child({});
  const ofRoute = createChildren((route) => ({
    duration: seconds.child({ route }),
    byClass: [1, 2, 3, 4, 5].map((first) => requests.child({ route, status: `${first}xx` })),
  }));
  const ofCode = createChildren((code) => refusals.child({ code }));
  const ofOutcome = createChildren((outcome) => tokens.child({ outcome }));
  return {
    answered: ({ route, startedAtMs }, status) => {
      const { duration, byClass } = ofRoute(route?.id ?? 'none');
      byClass[Math.floor(status / 100) - 1]?.inc();
      duration.observe((nowMs() - startedAtMs) / 1000);
    },
    refused: (code) => ofCode(code).inc(),
    token: (outcome) => ofOutcome(outcome).inc(),
    revocationLag: (value) => lag.observe(value),
    watch: ({ auditWaiting, storeWaiting, upstreamsOut }) => {
      metrics.gauge('audit_waiting', 'Events of the audit that are not written yet', auditWaiting);
      metrics.gauge('store_waiting', 'Statements that wait for a connection to the store', storeWaiting);
      metrics.gauge('upstream_addresses_out', 'Addresses of upstreams that are left out for a while', upstreamsOut);
    },
  };
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
