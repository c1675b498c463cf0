/**
 * How many events per second do two workers dispatch with 1, 2 and 4 queues? Each event of 1,000 tenants becomes one
 * delivery, which is not sent. Nothing is pinned: the queues shall use what is free. Figures without a goal, since on two cores PostgreSQL
 * and two workers already compete for both.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { median, print, ratiosOf, startPart, stopPart, withParts } from './kit/parts.ts';
import { type Harness, openHarness } from './kit/webhook-harness.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const eventsPerRound = Number(process.env.BENCH_EVENTS ?? 20_000);
const queueCounts = [1, 2, 4];
const tenants = Array.from({ length: 1_000 }, (_, number) => `rst_${number}`);

const dispatchAll = async (harness: Harness, events: number): Promise<number> => {
  await harness.record(tenants, events);
  const startedAt = performance.now();
  for (;;) {
    const { rows } = await sql`select from outbox.waiting limit 1`.execute(harness.db);
    if (rows.length === 0) return (events * 1000) / (performance.now() - startedAt);
    await sleep(10);
  }
};

await withParts(async (start) => {
  const { ready } = await start('store', undefined, []);
  const harness = await openHarness(String(ready.url), 'bench');
  try {
    await Promise.all(tenants.map((tenant) => harness.addEndpoint(tenant, 'http://127.0.0.1:49151/hook')));
    const rates = new Map<number, number[]>(queueCounts.map((count) => [count, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const count of queueCounts) {
        const workers = await Promise.all(
          [0, 1].map(() => startPart('dispatcher', undefined, [harness.url, String(count)])),
        );
        // Opens connections and warms the code.
        await dispatchAll(harness, eventsPerRound / 4);
        rates.get(count)?.push(await dispatchAll(harness, eventsPerRound));
        await Promise.all(workers.map(stopPart));
      }
    }
    print(`two workers, ${rounds} rounds of ${eventsPerRound} events of ${tenants.length} tenants`);
    for (const [count, measured] of rates) {
      const ratio = median(ratiosOf(measured, rates.get(1)));
      print(
        `${count} ${count === 1 ? 'queue ' : 'queues'}: ${median(measured).toFixed(0).padStart(7)} events per second, ${ratio.toFixed(2)} of one queue`,
      );
    }
  } finally {
    await harness.close();
  }
});
