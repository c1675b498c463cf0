/** Metrics for Prometheus. Features count through this port and know no library. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { AcrossProcesses, MetricsReading, RenderedMetrics } from './prom-client/join-readings.ts';

export { type MetricsReading, type RenderedMetrics, renderReadings, totalsOf } from './prom-client/join-readings.ts';

import { createLeanCounter, createLeanHistogram } from './prom-client/lean-metrics.ts';

/** Label values must come from a bounded set: ids of routes and codes, never values of a caller. */
export type Metrics = {
  counter<L extends string>(name: string, help: string, labels: readonly L[]): MetricCounter<L>;
  histogram<L extends string>(name: string, help: string, buckets: readonly number[]): MetricHistogram<L>;
  /** For a total that is counted elsewhere: `read` returns the total since the start, at each scrape. */
  total(name: string, help: string, read: () => number): void;
  /** `read` is called at each scrape. When it fails the metric is NaN, and the page is still complete. */
  gauge(name: string, help: string, read: () => number | Promise<number>, across?: AcrossProcesses): void;
  /** A gauge with labels: `read` returns every set of them with its value. */
  gauges<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    read: () => readonly (readonly [Record<L, string>, number])[],
    across?: AcrossProcesses,
  ): void;
  /** The exposition format, and its content type. */
  render(): Promise<RenderedMetrics>;
  /** All values now, to be joined with those of other processes. */
  read(): Promise<MetricsReading>;
};

/** Look the child up once and keep it: to find it by its labels costs more than to count. */
type MetricCounter<L extends string> = { child(labels: Record<L, string>): { inc(by?: number): void } };
type MetricHistogram<L extends string> = { child(labels: Record<L, string>): { observe(value: number): void } };

const prefix = 'orderpass_';

/** `process`: also metrics of the process and of Node. */
export const createMetrics = ({ process = true }: { process?: boolean } = {}): Metrics => {
  const registry = new Registry();
  if (process) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    counter: (name, help, labels) => ({ child: createLeanCounter({ registry, name: prefix + name, help }, labels) }),
    histogram: (name, help, buckets) => ({
      child: createLeanHistogram({ registry, name: prefix + name, help }, buckets),
    }),
    total: (name, help, read) => {
      const counter: Counter = new Counter({
        name: prefix + name,
        help,
        registers,
        collect: () => {
          counter.reset();
          counter.inc(read());
        },
      });
    },
    gauge: (name, help, read, across = 'sum') => {
      const gauge: Gauge = new Gauge({
        name: prefix + name,
        help,
        registers,
        aggregator: across,
        collect: async (): Promise<void> => gauge.set(await orNaN(read)),
      });
    },
    gauges: (name, help, labelNames, read, across = 'sum') => {
      const gauge: Gauge = new Gauge({
        name: prefix + name,
        help,
        labelNames,
        registers,
        aggregator: across,
        collect: () => {
          gauge.reset();
          for (const [labels, value] of read()) gauge.set(labels, value);
        },
      });
    },
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    read: () => registry.getMetricsAsJSON(),
  };
};

const orNaN = async (read: () => number | Promise<number>): Promise<number> => {
  try {
    return await read();
  } catch {
    return Number.NaN;
  }
};
