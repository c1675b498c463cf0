import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { kindScopes } from '#src/app/webhooks/wire-engine.ts';
import { describedOperations as ordering } from '#src/ordering/index.ts';
import { describedOperations as webhooks } from '#src/webhooks/index.ts';
import { growLists } from '../../support/grown/grown-lists.ts';
import type { Json } from '../../support/ordering.ts';
import { openShop, type Shop } from '../../support/orders/order-sender.ts';
import { startWebhookApi, type WebhookApi } from '../../webhooks/harness/webhook-api.ts';

const rows = 1_500;

let api: WebhookApi;
let shop: Shop;

beforeAll(async () => {
  api = await startWebhookApi();
  shop = await openShop(api.core);
  await shop.placed();
  await growLists(api.core.pool, { restuid: shop.restuid, clientId: shop.caller.id, rows, now: api.clock.now() });
});
afterAll(() => api?.close());

/** A new list is among them by itself. */
const lists = [...ordering(), ...webhooks(kindScopes)].flatMap((operation) => {
  const answer = (operation.answer as z.ZodObject).shape as Record<string, z.ZodType>;
  const items = Object.keys(answer).find((name) => answer[name]?.type === 'array');
  if (!Object.hasOwn(answer, 'more') || items === undefined) return [];
  return [{ path: operation.path, params: Object.keys(operation.params.shape), members: Object.keys(answer), items }];
});

const read = async (path: string, query: Record<string, string | number>): Promise<Json> => {
  const { status, json, text } = await api.get(path, query, shop.caller);
  expect([path, query, status, status === 200 ? '' : text]).toEqual([path, query, 200, '']);
  return json;
};

/** The members that identify an item. */
const nameOf = (item: Json): string => item.uid ?? item.id ?? `${item.created_iso} ${item.version}`;

const follow = async (
  { path, items }: { path: string; items: string },
  query: Record<string, string | number>,
): Promise<string[]> => {
  const seen: string[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await read(path, { ...query, ...(cursor === undefined ? undefined : { cursor }) });
    seen.push(...page[items].map(nameOf));
    if (!page.more) return seen;
    expect([path, typeof page.next_cursor]).toEqual([path, 'string']);
    cursor = page.next_cursor;
  }
};

test('F-07 every list takes a cursor and gives one in the same member', () => {
  expect(lists.map(({ path }) => path)).toEqual(expect.arrayContaining(['/menu/products', '/webhook/deliveries']));
  for (const { path, params, members } of lists) {
    expect([path, params.includes('cursor')]).toEqual([path, true]);
    expect([path, members.includes('next_cursor')]).toEqual([path, true]);
  }
});

for (const list of lists)
  test(`F-07 a client that follows the cursors of ${list.path} sees every item once, as by large pages`, async () => {
    const seen = await follow(list, { pagesize: 37 });
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(await follow(list, { pagesize: 100 }));
    const { total_count: total } = await read(list.path, { pagesize: 1 });
    if (typeof total === 'number') expect(seen).toHaveLength(total);
    else expect(seen.length).toBeGreaterThan(1_000);
  });

test('F-09 a filter that few of many pass is followed to its last item over pages that have none', async () => {
  // The customer with a fifth of the orders, none of them in a tenth that each is of another kind.
  const uid = `cus_${shop.restuid.slice(-6)}000000001`;
  const query = { subrestaurant_uid: 'loc_most', status: 'closed,timed_out', updated_from: '2020-01-01T00:00:00Z' };
  const found = await follow({ path: '/orders/list', items: 'orders' }, query);
  const { rows: expected } = await api.core.pool.query<{ uid: string }>(
    `select uid from ordering.orders where restuid = $1 and location_uid = 'loc_most' and status in ('closed', 'timed_out')
     order by date desc, uid desc`,
    [shop.restuid],
  );
  expect(found).toEqual(expected.map((row) => row.uid));
  // Each has more than is looked through at once, together they have none.
  const first = await read('/orders/list', { subrestaurant_uid: 'loc_most', updated_from: '2020-01-01T00:00:00Z' });
  expect(first).toMatchObject({ total_count: null, more: true });
  const none = { dmethod: '0t', status: 'cancelled', client_uid: uid };
  expect(await follow({ path: '/orders/list', items: 'orders' }, none)).toEqual([]);
});

test('F-09 a page by number that the bound does not reach is refused and never a wrong one', async () => {
  const far = await api.get('/orders/list', { page: 1_000_000 }, shop.caller);
  expect([far.status, far.json.orders, far.json.more]).toEqual([200, [], false]);
  const path = '/customerstats/customers';
  const query = { q: 'name', subrestaurant_uid: 'loc_most', pagesize: 100 };
  const byNumber: string[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await api.get(path, { ...query, page }, shop.caller);
    if (answer.status === 400) {
      expect(answer.json.errors).toMatchObject([{ pointer: 'page', code: 'RANGE' }]);
      break;
    }
    byNumber.push(...answer.json.customers.map(nameOf));
    if (!answer.json.more) break;
  }
  const byCursor = await follow({ path, items: 'customers' }, query);
  expect(byNumber).toEqual(byCursor.slice(0, byNumber.length));
  expect(byCursor).toHaveLength(rows * 0.8 - 2);
});
