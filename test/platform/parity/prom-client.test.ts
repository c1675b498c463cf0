/** What src/platform/telemetry/prom-client leans on in prom-client, beyond its documentation. */
import { Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createLeanCounter, createLeanHistogram } from '#src/platform/telemetry/prom-client/lean-metrics.ts';

const changed = (what: string): string =>
  `prom-client changed what src/platform/telemetry/prom-client leans on: ${what}`;

test('a registry renders any object with a name and a get', async () => {
  const registry = new Registry();
  const get = async () => ({
    name: 'parity',
    help: 'Parity',
    type: 'gauge',
    aggregator: 'sum',
    values: [{ labels: {}, value: 3 }],
  });
  registry.registerMetric({ name: 'parity', get } as unknown as Histogram);
  expect(await registry.metrics().catch(String), changed('the text of a metric')).toBe(
    '# HELP parity Parity\n# TYPE parity gauge\nparity 3\n',
  );
});

test('the lean histogram renders as the histogram of the library, and the lean counter counts as its counter', async () => {
  const [own, library] = [new Registry(), new Registry()];
  const buckets = [0.1, 1, 10];
  const settings = { name: 'parity_seconds', help: 'Parity' };
  const lean = createLeanHistogram({ registry: own, ...settings }, buckets);
  const plain = new Histogram({ ...settings, buckets, labelNames: ['route'], registers: [library] });
  for (const [route, value] of [
    ['a', 0.05],
    ['a', 1],
    ['b', 11],
    ['a', 5],
  ] as const) {
    lean({ route }).observe(value);
    plain.observe({ route }, value);
  }
  expect(await own.metrics().catch(String), changed('the series of a histogram')).toBe(
    await library.metrics().catch(() => 'no text'),
  );
  const count = createLeanCounter({ registry: own, name: 'parity_total', help: 'Parity' }, ['route']);
  count({ route: 'a' }).inc();
  count({ route: 'a' }).inc(2);
  expect(await own.getSingleMetricAsString('parity_total'), changed('collect of a counter')).toContain(
    'parity_total{route="a"} 3',
  );
});
