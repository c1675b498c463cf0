/** Readiness as a metric, where no gateway of this process shows it: Prometheus sees no probe of a load balancer. */
import { lastKnown } from '#src/platform/telemetry/last-known.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { ReadRoleReadiness } from './role-readiness.ts';

const watch = (metrics: Pick<Metrics, 'gauge'>, help: string, read: ReadRoleReadiness, ...across: ['min'] | []): void =>
  metrics.gauge('ready', help, async () => (['ok', 'degraded'].includes((await read()).status) ? 1 : 0), ...across);

export const watchReadiness = (metrics: Pick<Metrics, 'gauge'>, read: ReadRoleReadiness): void =>
  watch(metrics, 'Of a core or worker, 1: it does its work, as /readyz of the internal listener says', read);

/** A scrape waits no longer for processes that are silent. */
const waitMsMax = 1_000;

/**
 * For a process that supervises those of a gateway. Each of them shows this metric too, and the smallest value counts; while none
 * serves, nothing else shows it.
 */
export const watchReadinessOfProcesses = (metrics: Pick<Metrics, 'gauge'>, read: ReadRoleReadiness): void =>
  watch(metrics, '1: traffic may be sent here, as /readyz says', lastKnown(read, waitMsMax), 'min');
