/** Readiness as a metric, because Prometheus sees no probe of a load balancer. */
import { lastKnown } from '#src/platform/telemetry/last-known.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { ReadRoleReadiness } from './role-readiness.ts';

/** chosen: below the second after which a scrape leaves out the gauges of a process (src/app/processes/gather-metrics.ts). */
const waitMsMax = 500;

/**
 * Of several processes of a gateway each one shows this metric, and the smallest value counts. The process that supervises them shows
 * it too: while none of them serves, nothing else does.
 */
export const watchReadiness = (metrics: Pick<Metrics, 'gauge'>, read: ReadRoleReadiness): void => {
  // While PostgreSQL is silent the checks take seconds, and the other gauges of this process must not be late with them.
  const readReadiness = lastKnown(read, waitMsMax);
  metrics.gauge(
    'ready',
    '1: the process does its work, as /readyz of the internal listener says',
    async () => (['ok', 'degraded'].includes((await readReadiness()).status) ? 1 : 0),
    'min',
  );
};
