/** The readiness of a process without a gateway as a metric: Prometheus sees no probe of a load balancer. */
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { ReadRoleReadiness } from './role-readiness.ts';

export const watchReadiness = (metrics: Pick<Metrics, 'gauge'>, read: ReadRoleReadiness): void =>
  metrics.gauge(
    'ready',
    'Of a core or worker, 1: it does its work, as /readyz of the internal listener says',
    async () => (['ok', 'degraded'].includes((await read()).status) ? 1 : 0),
  );
