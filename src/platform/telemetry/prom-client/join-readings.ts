/**
 * Joins the metrics of several processes into one page. Counters and histograms are summed; a gauge says how its values are
 * joined.
 */
import { AggregatorRegistry, type Registry } from 'prom-client';

/** The values of all metrics of one process at one time. */
export type MetricsReading = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** What a gauge of several processes shows together. */
export type AcrossProcesses = 'sum' | 'max' | 'min';

const join = (readings: readonly MetricsReading[]): Registry => AggregatorRegistry.aggregate([...readings]);

/** One page in the exposition format. */
export type RenderedMetrics = { contentType: string; text: string };

export const renderReadings = async (readings: readonly MetricsReading[]): Promise<RenderedMetrics> => {
  const registry = join(readings);
  return { contentType: registry.contentType, text: await registry.metrics() };
};

/** Only what may never fall, as one reading: a process that ended leaves its totals, and its gauges go with it. */
export const totalsOf = async (readings: readonly MetricsReading[]): Promise<MetricsReading> => {
  const joined = await join(readings).getMetricsAsJSON();
  return joined.filter(({ type }) => String(type) === 'counter' || String(type) === 'histogram');
};
