import { request as ask, type ClientRequest } from 'node:http';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAssertionSigner } from '#src/contract/assertion.ts';
import { assertionHeader } from '#src/contract/headers.ts';
import {
  type Answer,
  clientOf,
  orderingAudience,
  startOrdering,
  type TestOrdering,
  type TestRestaurant,
} from '../../support/ordering.ts';
import { category, createMenuSender, type MenuSender, product } from '../../support/orders/menu-sender.ts';
import { until } from '../../support/until.ts';

let core: TestOrdering;
let accepted: MenuSender['accepted'];

beforeAll(async () => {
  core = await startOrdering();
  ({ accepted } = createMenuSender(core));
});
afterAll(() => core.close());

const json = { 'content-type': 'application/json' };
const menu = { categories: [category('C1')], products: [product('P1')] };

/** Runs `work` while the menu of a restaurant is locked, as by a long import. */
const whileBusy = async (work: (restaurant: TestRestaurant) => Promise<void>): Promise<void> => {
  const restaurant = await core.addRestaurant();
  await accepted(restaurant, menu);
  const holder = await core.pool.connect();
  await holder.query('begin');
  await holder.query('select from ordering.menus where restuid = $1 for update', [restaurant.restuid]);
  try {
    await work(restaurant);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
};

const merge = (restaurant: TestRestaurant, price: number, headers = {}): Promise<Answer> =>
  core.call('POST', '/menu/import', {
    caller: restaurant.caller,
    body: { pos_uid: 'till-1', update_mode: 'merge', products: [product('P1', { price })] },
    headers,
  });

const revert = (restaurant: TestRestaurant): Promise<Answer> =>
  core.call('POST', '/menu/revert', { caller: restaurant.caller, body: { version: 1 } });

/** Statements that wait for a lock. */
const waiting = async (): Promise<number> => {
  const { rows } = await core.pool.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.length;
};

const statusesOf = async (asked: readonly Promise<Answer>[]): Promise<number[]> =>
  (await Promise.all(asked)).map(({ status }) => status).toSorted();

const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

test('A-710 imports and reverts that wait for the menu of their restaurant leave those of other restaurants unhindered', async () => {
  const other = await core.addRestaurant();
  let asked: Promise<Answer>[] = [];
  await whileBusy(async (restaurant) => {
    // As many as there are connections, and more.
    asked = times(24, 0).map((_, i) => (i % 8 === 7 ? revert(restaurant) : merge(restaurant, i + 1)));
    await until(async () => (await waiting()) > 0);
    const listed = await core.call('GET', '/menu/imports', { caller: other.caller });
    expect(listed.status).toBe(200);
    await accepted(other, menu);
    expect(await waiting()).toBe(1);
    const own = await core.call('GET', '/menu/imports', { caller: restaurant.caller });
    expect(own.status).toBe(200);
  });
  expect(await statusesOf(asked)).toEqual(times(24, 200));
});

test('A-710 beyond 32 that wait an import is refused with 503 and Retry-After, and one that is repeated is still running', async () => {
  const key = { 'idempotency-key': 'turn-1' };
  let asked: Promise<Answer>[] = [];
  await whileBusy(async (restaurant) => {
    const first = merge(restaurant, 100, key);
    await until(async () => (await waiting()) > 0);
    const again = await merge(restaurant, 100, key);
    expect([again.status, again.json.error, again.headers.get('retry-after')]).toEqual([409, 'CONFLICT', '1']);
    const others = times(36, 0).map((_, i) => merge(restaurant, i + 1));
    asked = [first, ...others];
    const refused = await Promise.race(others);
    expect([refused.status, refused.json.error]).toEqual([503, 'OVERLOADED']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });
  expect(await statusesOf(asked)).toEqual([...times(33, 200), ...times(4, 503)]);
});

/** Locks the menus of these restaurants on a connection that no request uses. `release` lets one of them go, in their sequence. */
const lockMenus = async (
  restaurants: readonly TestRestaurant[],
): Promise<{ release: () => Promise<void>; end: () => Promise<void> }> => {
  const client = new pg.Client({ connectionString: core.databaseUrl });
  await client.connect();
  await client.query('begin');
  for (const { restuid } of restaurants.toReversed()) {
    // A rollback to it ends the locks that were taken after it.
    await client.query(`savepoint ${restuid}`);
    await client.query('select from ordering.menus where restuid = $1 for update', [restuid]);
  }
  const locked = [...restaurants];
  return {
    release: async () => void (await client.query(`rollback to savepoint ${locked.shift()?.restuid}`)),
    end: () => client.end(),
  };
};

/** Imports and reverts of all restaurants that run at a time. */
const runningMax = 3;

test('A-728 imports of one client to many restaurants leave a turn to the import of another client', async () => {
  const other = await core.addRestaurant();
  // Twice as many as there are connections.
  const restaurants: TestRestaurant[] = [];
  for (const _ of times(20, 0)) restaurants.push(await core.addRestaurant());
  const caller = clientOf(
    restaurants.map(({ restuid }) => restuid),
    { id: 'opc_chain' },
  );
  for (const restaurant of restaurants) await accepted(restaurant, menu);
  const send = ({ restuid }: TestRestaurant): Promise<Answer> =>
    core.call('POST', '/menu/import', {
      caller,
      body: { restuid, pos_uid: 'till-2', update_mode: 'merge', categories: [category('C2')], products: [] },
    });
  const locks = await lockMenus(restaurants);
  const asked: Promise<Answer>[] = [];
  let ended = 0;
  let isServed = false;
  try {
    for (const restaurant of restaurants) {
      asked.push(send(restaurant).finally(() => (ended += 1)));
      // The first ones run, and they end in this sequence.
      if (asked.length <= runningMax) await until(async () => (await waiting()) === asked.length);
    }
    const listed = await core.call('GET', '/menu/imports', { caller: other.caller });
    expect(listed.status).toBe(200);
    const served = accepted(other, menu).finally(() => (isServed = true));
    asked.push(served.then(() => listed));
    for (let released = 1; !isServed; released += 1) {
      await locks.release();
      await until(() => isServed || ended >= Math.min(released, runningMax));
    }
    await served;
    // It need not wait for those that came before it.
    expect(ended).toBeLessThan(8);
  } finally {
    await locks.end();
    await Promise.allSettled(asked);
  }
  expect(await statusesOf(asked)).toEqual(times(21, 200));
});

/** Above 256 KiB. */
const largeBody = (extId: string): string =>
  JSON.stringify({ ...menu, pos_uid: 'till-1', update_mode: 'merge', categories: [category(extId)] }).padEnd(
    300 * 1024,
  );

/** An import whose caller may leave. */
const begin = ({ caller }: TestRestaurant, body: string): ClientRequest => {
  const signing = { key: core.assertionKey, audience: orderingAudience, now: () => core.clock.now().getTime() };
  const assertion = createAssertionSigner(signing)(caller, { method: 'POST', target: '/api/menu/import' });
  const headers = { 'content-type': 'application/json', [assertionHeader]: assertion };
  const asked = ask(`${core.url}/api/menu/import`, { method: 'POST', headers });
  asked.on('error', () => undefined).end(body);
  return asked;
};

test('A-811 large imports whose callers have left go on and count among the two large ones that are worked on', async () => {
  const [first, second, third, small] = [
    await core.addRestaurant(),
    await core.addRestaurant(),
    await core.addRestaurant(),
    await core.addRestaurant(),
  ];
  for (const each of [first, second, third, small]) await accepted(each, menu);
  const categoriesOf = async ({ caller }: TestRestaurant): Promise<string[]> =>
    (await core.call('GET', '/menu/categories', { caller })).json.categories.map(
      (each: { ext_id: string }) => each.ext_id,
    );
  const sendThird = async (): Promise<number> =>
    (await core.call('POST', '/menu/import', { caller: third.caller, body: largeBody('C3'), headers: json })).status;
  const locks = await lockMenus([first, second]);
  let status: Promise<number>;
  try {
    const left = [first, second].map((restaurant) => begin(restaurant, largeBody('C2')));
    await until(async () => (await waiting()) === left.length);
    for (const asked of left) asked.destroy();
    let isServed = false;
    status = sendThird();
    void status.then((own) => (isServed = own === 200));
    for (let i = 0; i < 20; i += 1) await accepted(small, { ...menu, products: [product('P1', { price: i + 1 })] });
    expect(isServed).toBe(false);
  } finally {
    await locks.end();
  }
  for (const each of [first, second]) await until(async () => (await categoriesOf(each)).includes('C2'));
  // On a busy machine its wait may have ended before.
  if ((await status) !== 200) await until(async () => (await sendThird()) === 200);
  expect(await categoriesOf(third)).toContain('C3');
});

test('A-811 large imports whose callers leave while they wait for one of these slots keep none', async () => {
  const running = [await core.addRestaurant(), await core.addRestaurant()];
  const [left, last] = [await core.addRestaurant(), await core.addRestaurant()];
  for (const each of [...running, left, last]) await accepted(each, menu);
  const send = ({ caller }: TestRestaurant): Promise<Answer> =>
    core.call('POST', '/menu/import', { caller, body: largeBody('C2'), headers: json });
  const locks = await lockMenus(running);
  const asked: Promise<Answer>[] = [];
  try {
    for (const each of running) asked.push(send(each));
    await until(async () => (await waiting()) === running.length);
    for (let i = 0; i < 4; i += 1) {
      const gone = begin(left, largeBody('C2'));
      await new Promise((resolve) => gone.once('finish', resolve));
      gone.destroy();
    }
  } finally {
    await locks.end();
  }
  expect(await statusesOf(asked)).toEqual([200, 200]);
  // One may have begun before the core saw that its caller had left.
  await until(async () => (await send(last)).status === 200);
});
