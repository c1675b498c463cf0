/** A database with one restaurant that has had so many orders, and the calls that are measured on it. */
import type { Logger } from 'pino';
import { createOrdering, createRestaurant, importMenu, listProducts, orderingMigrations } from '#src/ordering/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { firstItems } from '#src/platform/db/bounded-list.ts';
import { embeddedConnection } from '#src/platform/db/embedded/embedded.ts';
import { platformMigrations, type Store } from '#src/platform/db/index.ts';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createCursors } from '#src/platform/http/paging.ts';
import { makeHistory } from '../../../support/orders/order-history.ts';

export type Scaled = {
  /** `hasGoal`: the bench has a goal for this call. */
  calls: ReadonlyMap<string, { call: () => Promise<unknown>; hasGoal: boolean }>;
  close: () => Promise<void>;
};

type Settings = { dataDir: string; orders: number; cursorKey: Buffer; log: Logger };

/** Of ten orders one customer. */
const ordersOfCustomer = 10;
const caller = { kind: 'api_client' as const, id: 'opc_bench', tenants: [], tenants_disabled: [], scopes: [] };

export const openScaled = async (store: Store, { dataDir, orders, cursorKey, log }: Settings): Promise<Scaled> => {
  const database = `bench_${orders}`;
  await store.pool.query(`create database ${database}`);
  const found = await embeddedConnection(dataDir);
  if (found === undefined) throw new Error('there is no server');
  const pool = createPool({ connection: { ...found.connection, database }, applicationName: 'bench', max: 2 }, log);
  await migrate(pool, [...platformMigrations, ...orderingMigrations], { log });
  const db = createDatabase(pool);
  const clock = systemClock;
  const { operations } = createOrdering({ db, cursorKey, orderTokenKey: cursorKey, clock, log, settings: {} });
  const { uid: restuid } = await inTransaction(db, async (tx) => {
    const made = await createRestaurant(tx, { name: 'Bench' }, clock.now());
    await setKinds(tx, made.uid, { orders: true, customers: true, loyaltylog: true });
    const categories = [{ ext_id: 'C', name: 'Pizza' }];
    const products = [{ ext_id: 'P', category_ext_id: 'C', name: 'Margherita', price: 8.5 }];
    const menu = { restuid: made.uid, owner: null, posUid: 'bench', mode: 'replace', categories, products } as const;
    await importMenu(tx, { ...menu, now: clock.now() });
    return made;
  });

  const run = async (path: string, params: Record<string, unknown>): Promise<unknown> => {
    const operation = operations.find((each) => each.path === path);
    if (operation === undefined) throw new Error(`no operation ${path}`);
    const { signal } = new AbortController();
    const given = { params: operation.params.parse(params), caller, restuid, requestId: 'req_bench', signal };
    const handle = (on: typeof db): Promise<unknown> =>
      operation.handle({ ...given, now: clock.now(), readNow: clock.now, db: on });
    return operation.method === 'GET' ? handle(db) : inTransaction(db, handle);
  };

  const listed = await listProducts(db, restuid, { visibleOnly: true }, firstItems(1));
  const productUid = listed.rows[0]?.product.uid;
  const customers = Math.floor(orders / ordersOfCustomer);
  const someCustomer = (): number => Math.floor(Math.random() * customers) + 1;
  const orderOf = (email: string): Promise<unknown> =>
    run('/order/create', {
      client: { first_name: 'Ada', email },
      ...{ dmethod: '0t', table: '7', payment_method: 'cash', payment_method_sub: 'pos' },
      details: [{ product: { uid: productUid }, quantity: 1 }],
    });
  const create = (): Promise<unknown> => orderOf(`person${someCustomer()}@example.com`);
  await orderOf('first@example.com');
  await makeHistory(pool, { restuid, orders, customers });

  const someOrder = (): string => `ord_${String(Math.floor(Math.random() * (orders - 1)) + 2).padStart(9, '0')}`;
  const deep = await deepCursor(pool, restuid, Math.floor(orders * 0.9), createCursors(cursorKey));
  const calls: [string, () => Promise<unknown>, boolean?][] = [
    ['orders/list, first page', () => run('/orders/list', {})],
    ['orders/list, page by cursor after nine tenths', () => run('/orders/list', { cursor: deep })],
    [
      'orders/list, of one customer',
      () => run('/orders/list', { client_uid: `cus_${String(someCustomer()).padStart(9, '0')}` }),
    ],
    ['orders/get', () => run('/orders/get', { uid: someOrder() })],
    ['order/create, of a known customer', create],
    ['customerstats/customers, first page', () => run('/customerstats/customers', {})],
    [
      'customerstats/customer, by email',
      () => run('/customerstats/customer', { email: `person${someCustomer()}@example.com` }),
    ],
    ['loyaltylog/list, first page', () => run('/loyaltylog/list', {})],
    ['orders/list, of one status, with its total', () => run('/orders/list', { status: 'closed' })],
    ['orders/list, of one method', () => run('/orders/list', { dmethod: '0t' })],
  ];
  return {
    calls: new Map(calls.map(([name, call, hasGoal = true]) => [name, { call, hasGoal }])),
    close: () => pool.end(),
  };
};

/** The cursor that a reader would hold after so many orders. */
const deepCursor = async (
  pool: ReturnType<typeof createPool>,
  restuid: string,
  offset: number,
  cursors: ReturnType<typeof createCursors>,
): Promise<string> => {
  const { rows } = await pool.query<{ date: Date; uid: string }>(
    'select date, uid from ordering.orders where restuid = $1 order by date desc, uid desc limit 1 offset $2',
    [restuid, offset],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('there are not so many orders');
  const scope = { list: 'orders', restuid };
  const last = { date: row.date.toISOString(), uid: row.uid };
  const answer = cursors.answer(cursors.read({}, scope), scope, { more: true, total: offset, last });
  return answer.next_cursor ?? '';
};
