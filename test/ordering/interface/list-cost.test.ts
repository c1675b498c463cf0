import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { kindScopes } from '#src/app/webhooks/wire-engine.ts';
import { describedOperations as ordering } from '#src/ordering/index.ts';
import { describedOperations as webhooks } from '#src/webhooks/index.ts';
import {
  type AskedQuery,
  askedOf,
  type Grown,
  growLists,
  pagingNames,
  queriesOf,
} from '../../support/grown/grown-lists.ts';
import type { Json, TestRestaurant } from '../../support/ordering.ts';
import { openShop } from '../../support/orders/order-sender.ts';
import { statementsOf } from '../../support/statements-of.ts';
import { startWebhookApi, type WebhookApi } from '../../webhooks/harness/webhook-api.ts';

const sizes = [10_000, 50_000];

type Shop = { restaurant: TestRestaurant; grown: Grown };

/** A new list is among them by itself. */
const lists = [...ordering(), ...webhooks(kindScopes)].filter(({ answer }) =>
  Object.hasOwn((answer as z.ZodObject).shape, 'next_cursor'),
);

let api: WebhookApi;
let shops: Shop[];

beforeAll(async () => {
  api = await startWebhookApi();
  shops = [];
  for (const rows of sizes) {
    const shop = await openShop(api.core);
    await shop.placed();
    const restaurant = { restuid: shop.restuid, locationUid: shop.locationUid, caller: shop.caller };
    const grown = { restuid: shop.restuid, clientId: shop.caller.id, rows, now: api.clock.now() };
    await growLists(api.core.pool, grown);
    shops.push({ restaurant, grown });
  }
});
afterAll(() => api?.close());

/** Pages of memory that the statements of a request touch: the same on a machine at rest and on a busy one. */
const costOf = async ({ restaurant }: Shop, path: string, query: AskedQuery): Promise<number> => {
  const sent = await statementsOf(async () => {
    const { status, text } = await api.get(path, query, restaurant.caller);
    expect([path, query, status, status === 200 ? '' : text]).toEqual([path, query, 200, '']);
  });
  const client = await api.core.pool.connect();
  try {
    let pages = 0;
    await client.query('begin');
    for (const { text, values } of sent.filter(({ text }) => /^\s*(\/\*.*\*\/)?\s*(with|select)\b/i.test(text))) {
      const { rows } = await client.query<{ 'QUERY PLAN': Json[] }>(
        // What a request asks of the planner holds for the statements after it.
        text.includes('set_config') ? text : `explain (analyze, buffers, timing off, format json) ${text}`,
        values,
      );
      const plan = rows[0]?.['QUERY PLAN']?.[0].Plan;
      if (plan !== undefined) pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    }
    return pages;
  } finally {
    await client.query('rollback');
    client.release();
  }
};

/**
 * In pages, where what grows with the rows would grow five times: indexes of more rows have more levels, and rows lie
 * more scattered, up to a page for each. The goal is 1.3 times the time; `npm run bench:orders` measures that.
 */
const levels = 40;
const ratioMax = 1.6;

for (const { path, params } of lists)
  test(`F-09 GET ${path} costs the same with five times as many rows, with every filter alone and in pairs`, async () => {
    const [small, large] = shops as [Shop, Shop];
    const asked = askedOf(small.grown)[path];
    const filters = Object.keys(params.shape).filter((name) => !pagingNames.includes(name));
    // A filter that is new has no values to be tried with.
    expect(Object.keys(asked ?? {}).toSorted()).toEqual(filters.toSorted());
    const [few, many] = [queriesOf(asked ?? {}), queriesOf(askedOf(large.grown)[path] ?? {})];
    const dearer: unknown[] = [];
    for (const [i, query] of few.entries()) {
      const [less, more] = [await costOf(small, path, query), await costOf(large, path, many[i] ?? {})];
      expect([query, less > 0, more > 0]).toEqual([query, true, true]);
      if (more > less * ratioMax + levels) dearer.push([query, less, more]);
    }
    expect(dearer).toEqual([]);
  }, 240_000);

test('the measurement detects a growing cost', async () => {
  const { grown } = shops[1] as Shop;
  const pages = async (rows: number): Promise<number> => {
    const answer = await api.core.pool.query<{ 'QUERY PLAN': Json[] }>(
      `explain (analyze, buffers, format json)
       select notes from ordering.orders where restuid = $1 order by date desc, uid desc limit $2`,
      [grown.restuid, rows],
    );
    const plan = answer.rows[0]?.['QUERY PLAN'][0].Plan;
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  };
  expect(await pages(5_000)).toBeGreaterThan((await pages(1_000)) * ratioMax + levels);
});
