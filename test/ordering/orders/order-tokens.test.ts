/**
 * The token of an order is shown to those who may act on it, and lies in the database nowhere but in the events it is
 * sent with.
 */
import { type RawBuilder, sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, type Shop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;
let shop: Shop;

beforeAll(async () => {
  core = await startOrdering();
  shop = await openShop(core);
});
afterAll(() => core.close());

const read = async <T>(statement: RawBuilder<T>): Promise<T[]> => (await statement.execute(core.db)).rows;

/** Tables of which a row shows this text. */
const tablesWith = async (text: string): Promise<string[]> => {
  const tables = await read(sql<{ schema: string; name: string }>`
    select table_schema as schema, table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`);
  const found: string[] = [];
  for (const { schema, name } of tables) {
    const [row] = await read(sql<{ hits: number }>`
      select count(*)::int as hits from ${sql.table(`${schema}.${name}`)} t where strpos(t::text, ${text}) > 0`);
    if (row !== undefined && row.hits > 0) found.push(`${schema}.${name}`);
  }
  return found;
};

let keys = 0;
const headersOf = (): Record<string, string> => {
  keys += 1;
  return { 'idempotency-key': `token-${keys}` };
};

test('F-37 no table holds the token of an order once it was given, confirmed and cancelled', async () => {
  await core.setKinds({ orders: false }, shop.restuid);
  const order = (await shop.create({ external_id: 'till-1' }, { headers: headersOf() })).json.order;
  expect(order.token).toMatch(/^[\w-]{43}$/);
  // What is searched for is found where it lies.
  expect(await tablesWith(order.uid)).toContain('ordering.orders');
  for (const action of ['confirm', 'cancel']) {
    const body = { uid: order.uid, token: order.token };
    const moved = await shop.call('POST', `/order/${action}`, { body, headers: headersOf() });
    expect(moved.status).toBe(200);
  }
  expect(await tablesWith(order.token)).toEqual([]);
  expect((await shop.read(order.uid)).token).toBe(order.token);
  const listed: Json[] = (await shop.call('GET', '/orders/list')).json.orders;
  expect(listed.find(({ uid }) => uid === order.uid).token).toBe(order.token);
  await core.setKinds({ orders: true }, shop.restuid);
  const announced = await shop.placed();
  expect((await tablesWith(announced.token)).filter((table) => !table.startsWith('outbox.events'))).toEqual([]);
});

test('F-37 an order sent again, by its key or its external id, gives the first receipt with its token', async () => {
  const headers = headersOf();
  const first = await shop.create({ external_id: 'till-2' }, { headers });
  const byKey = await shop.create({ external_id: 'till-2' }, { headers });
  const byId = await shop.create({ external_id: 'till-2' });
  expect([byKey.text, byId.text]).toEqual([first.text, first.text]);
  const other = await shop.placed();
  expect(other.token).not.toBe(first.json.order.token);
  const { uid } = first.json.order;
  for (const token of [other.token, '.', first.json.order.token.slice(0, -1), `${first.json.order.token}a`])
    expect((await shop.act('confirm', { uid, token })).json.error).toBe('INVALID_TOKEN');
  expect((await shop.act('confirm', first.json.order)).status).toBe(200);
});

test('F-37 orders and receipts of an earlier version, with their tokens in clear, go on', async () => {
  const headers = headersOf();
  const first = await shop.create({ external_id: 'till-3' }, { headers });
  const { uid } = first.json.order;
  const old = 'older-version-older-version-older-version-0';
  const clear = first.text.replace(first.json.order.token, old);
  await sql`update ordering.orders set token = ${old}, receipt = receipt || jsonb_build_object('token', ${old}::text)
    where uid = ${uid}`.execute(core.db);
  await sql`update platform.receipts set body = ${clear} where key = ${headers['idempotency-key']}`.execute(core.db);
  const replays: Answer[] = [
    await shop.create({ external_id: 'till-3' }, { headers }),
    await shop.create({ external_id: 'till-3' }),
  ];
  for (const replay of replays) expect([replay.status, replay.text]).toEqual([200, clear]);
  expect((await shop.read(uid)).token).toBe(old);
  expect((await shop.act('confirm', first.json.order)).json.error).toBe('INVALID_TOKEN');
  expect((await shop.act('confirm', { uid, token: old })).status).toBe(200);
});
