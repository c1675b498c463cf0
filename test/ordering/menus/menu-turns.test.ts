import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, startOrdering, type TestOrdering, type TestRestaurant } from '../../support/ordering.ts';
import { category, createMenuSender, type MenuSender, product } from '../../support/orders/menu-sender.ts';
import { until } from '../../support/until.ts';

let core: TestOrdering;
let accepted: MenuSender['accepted'];

beforeAll(async () => {
  core = await startOrdering();
  ({ accepted } = createMenuSender(core));
});
afterAll(() => core.close());

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
