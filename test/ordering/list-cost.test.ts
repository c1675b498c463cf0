import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type AskedQuery, askedOf, type Grown, growLists, pagingNames, queriesOf } from '../support/grown-lists.ts';
import { openShop } from '../support/order-sender.ts';
import type { Json, TestRestaurant } from '../support/ordering.ts';
import { startWebhookApi, type WebhookApi } from '../webhooks/api.ts';

const sizes = [10_000, 50_000];

type Shop = { restaurant: TestRestaurant; grown: Grown };

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
}, 240_000);
afterAll(() => api?.close());

type Statement = { text: string; values: unknown[] };

/** What goes to the database meanwhile. Watches the driver and changes nothing of it. */
const statementsOf = async (act: () => Promise<unknown>): Promise<Statement[]> => {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await act();
    return query.mock.calls.map(([asked, values]: unknown[]) =>
      typeof asked === 'string'
        ? { text: asked, values: (values ?? []) as unknown[] }
        : { text: (asked as Statement).text, values: (asked as Statement).values ?? [] },
    );
  } finally {
    query.mockRestore();
  }
};

/** Pages of memory that the statements of a request touch: the same on a machine at rest and on a busy one. */
const costOf = async ({ restaurant }: Shop, path: string, query: AskedQuery): Promise<number> => {
  const sent = await statementsOf(async () => {
    const { status, text } = await api.get(path, query, restaurant.caller);
    expect([path, query, status, status === 200 ? '' : text]).toEqual([path, query, 200, '']);
  });
  let pages = 0;
  for (const { text, values } of sent.filter(({ text }) => /^\s*(\/\*.*\*\/)?\s*(with|select)\b/i.test(text))) {
    const { rows } = await api.core.pool.query<{ 'QUERY PLAN': Json[] }>(
      `explain (analyze, buffers, timing off, format json) ${text}`,
      values,
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  }
  return pages;
};

test('debug', async () => {
  const [small, large] = shops as [Shop, Shop];
  for (const path of Object.keys(askedOf(small.grown))) {
    const [few, many] = [queriesOf(askedOf(small.grown)[path] ?? {}), queriesOf(askedOf(large.grown)[path] ?? {})];
    const out: [number, number, string][] = [];
    for (const [i, query] of few.entries()) {
      const a = await costOf(small, path, query);
      const b = await costOf(large, path, many[i] ?? {});
      out.push([a, b, JSON.stringify(query)]);
    }
    out.sort((x, y) => y[1] / y[0] - x[1] / x[0]);
    console.log(
      path,
      out.length,
      '\n',
      out
        .slice(0, 25)
        .map((o) => o.join(' '))
        .join('\n'),
    );
    console.log(
      'absolute\n',
      out
        .toSorted((x, y) => y[1] - x[1])
        .slice(0, 12)
        .map((o) => o.join(' '))
        .join('\n'),
    );
  }
}, 600_000);
void pagingNames;
