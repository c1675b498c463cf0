/**
 * Counters and histograms of the hot path. prom-client looks a child up by its labels for each observation; here a child is
 * a few numbers, and the library reads them at a scrape.
 *
 * It leans on parts of prom-client 15 that its documentation does not promise; test/platform/parity/prom-client.test.ts
 * holds them:
 * - a registry calls only `name` and `get` of a registered metric, or `getForPromString` where a metric has it;
 * - the value of `get` has the shape that `seriesOf` builds;
 * - `collect` of a counter runs before its values are rendered, and may reset it.
 */
import { Counter, type Histogram, type Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;
type Settings = { registry: Registry; name: string; help: string };

/** Series appear with their first count, as with the library's own. */
export const createLeanCounter = (
  { registry, name, help }: Settings,
  labelNames: readonly string[],
): ((labels: Labels) => { inc(by?: number): void }) => {
  const children = new Map<string, { labels: Labels; value: number }>();
  const counter: Counter = new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect: () => {
      counter.reset();
      for (const { labels, value } of children.values()) if (value > 0) counter.inc(labels, value);
    },
  });
  return (labels) => {
    const child = childOf(children, labels, () => ({ labels, value: 0 }));
    return {
      inc: (by = 1) => {
        child.value += by;
      },
    };
  };
};

type Observed = { labels: Labels; counts: number[]; sum: number };

/** `buckets`: rising upper bounds. */
export const createLeanHistogram = (
  { registry, name, help }: Settings,
  buckets: readonly number[],
): ((labels: Labels) => { observe(value: number): void }) => {
  const children = new Map<string, Observed>();
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: [...children.values()].flatMap((child) => seriesOf(name, buckets, child)),
  });
  // The registry uses only these two members; its types know only its own classes.
  registry.registerMetric({ name, get } as unknown as Histogram);
  return (labels) => {
    const child = childOf(children, labels, () => ({ labels, counts: [...buckets, 0].fill(0), sum: 0 }));
    return {
      observe: (value) => {
        let bucket = 0;
        while (bucket < buckets.length && value > (buckets[bucket] as number)) bucket += 1;
        child.counts[bucket] = (child.counts[bucket] ?? 0) + 1;
        child.sum += value;
      },
    };
  };
};

/** The same labels lead to the same child. */
const childOf = <T>(children: Map<string, T>, labels: Labels, make: () => T): T => {
  const key = JSON.stringify(Object.entries(labels).toSorted());
  const child = children.get(key) ?? make();
  children.set(key, child);
  return child;
};

const seriesOf = (name: string, buckets: readonly number[], { labels, counts, sum }: Observed) => {
  let total = 0;
  const cumulated = counts.map((count, i) => {
    total += count;
    return { metricName: `${name}_bucket`, labels: { le: String(buckets[i] ?? '+Inf'), ...labels }, value: total };
  });
  return [
    ...cumulated,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ];
};
