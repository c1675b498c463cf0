/** A database that holds so many orders and what belongs to them, and one restaurant of it to call for. */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type pg from 'pg';
import { createWholeRestaurant } from '#src/app/admin/create-restaurant.ts';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { eventKinds } from '#src/app/webhooks/event-kinds.ts';
import { createCredentials } from '#src/gateway/index.ts';
import { createOrdering, importMenu, listProducts } from '#src/ordering/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { firstItems } from '#src/platform/db/bounded-list.ts';
import { openStore, type Store } from '#src/platform/db/index.ts';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createLog } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { createEndpoint } from '#src/webhooks/index.ts';
import { boxOfEarlierStore } from '../../cli/store/earlier-store.ts';
import { growAudit } from '../../support/grown/grown-audit.ts';
import { databaseUrl, run } from '../../support/test-server.ts';
import { withoutTriggers } from './fill.ts';
import { fillCredentials } from './fill-credentials.ts';
import { fillOrdering } from './fill-ordering.ts';
import { fillWebhooks } from './fill-webhooks.ts';
import { type Size, sizeOf } from './size.ts';

export type ScaledStore = {
  url: string;
  database: string;
  store: Store;
  db: Kysely<unknown>;
  box: SecretBox;
  masterKey: string;
  size: Size;
  restuid: string;
  /** Has a tenth of the deliveries that wait. */
  endpointUid: string;
  productUid: string;
  gencode: string;
  client: { id: string; secret: string };
  apiKey: string;
  bytes: number;
  close: () => Promise<void>;
};

const log = createLog({ level: 'error', role: 'bench' });
const clock = systemClock;
const gencode = 'BENCH';

/** Of each credential: never refused. */
const never = 1_000_000_000;
const limits = { minute: never, burst: never, day: never, month: never, concurrency: 10_000 };
/** A number that no process of a bench gets: the events of the audit are made by the database and not signed. */
const auditChain = 1_000_000;

const categories = Array.from({ length: 5 }, (_, number) => ({ ext_id: `C${number}`, name: `Dishes ${number}` }));
const products = Array.from({ length: 50 }, (_, number) => ({
  ...{ ext_id: `P${number}`, category_ext_id: `C${number % 5}`, name: `Dish ${number}`, price: 8.5 },
  options: [
    { ext_id: 'X', name: 'Extras', type: 'multiple', option_values: [{ ext_id: 'H', name: 'Ham', price_operand: 1 }] },
  ],
}));
/** As an import sends it. */
export const menu = { pos_uid: 'bench', update_mode: 'replace', categories, products } as const;

export const orderBody = (email: string, productUid: string): Record<string, unknown> => ({
  client: { first_name: 'Ada', email },
  ...{ dmethod: '0t', table: '7', payment_method: 'cash', payment_method_sub: 'pos' },
  details: [{ product: { uid: productUid }, quantity: 1 }],
});

export const openScaledStore = async (serverUrl: string, orders: number): Promise<ScaledStore> => {
  const database = `scale_${orders}`;
  await run(serverUrl, `create database ${database}`);
  const url = databaseUrl(serverUrl, database);
  const store = await openStore({ dataDir: '', databaseUrl: url, applicationName: 'bench', poolMax: 4 }, log, {
    exclusive: false,
  });
  const { db, pool } = store;
  await migrate(pool, allMigrations, { log });
  const masterKey = randomBytes(32);
  const box = await boxOfEarlierStore(db, masterKey);
  const size = sizeOf(orders);
  const first = await makeFirst(store, box);
  await fill(pool, first, size);
  const credentials = createCredentials({ db, box, clock, actor: 'bench' });
  const made = await credentials.createClient({ name: 'Bench', tenants: [first.restuid], limits, mayIntrospect: true });
  const key = await credentials.createApiKey({ tenant: first.restuid, name: 'Bench', limits });
  const { rows } = await pool.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
  return {
    ...{ url, database, store, db, box, size, gencode, ...first },
    masterKey: masterKey.toString('base64'),
    client: { id: made.clientId, secret: made.secret },
    apiKey: key.value,
    bytes: Number(rows[0]?.bytes),
    close: () => store.close(),
  };
};

type First = Pick<ScaledStore, 'restuid' | 'endpointUid' | 'productUid'>;

/** The restaurant, its menu, one order and its endpoint, made by the program; the rest is copied from them. */
const makeFirst = async (store: Store, box: SecretBox): Promise<First> => {
  const { db } = store;
  const restuid = await createWholeRestaurant({ store, box, clock }, 'bench', { name: 'Bench' });
  const { endpointUid } = await inTransaction(db, async (tx) => {
    const { pos_uid: posUid, update_mode: mode, ...elements } = menu;
    await importMenu(tx, { restuid, owner: null, posUid, mode, ...elements, now: clock.now() });
    return createEndpoint(
      { db: tx, box, clock, kinds: [...eventKinds], rules: { allowPrivate: true, allowedOrigins: [] } },
      { tenant: restuid, url: 'http://127.0.0.1:49151/hook', owner: { kind: 'panel', id: 'bench' } },
    );
  });
  const listed = await listProducts(db, restuid, { visibleOnly: true }, firstItems(1));
  const productUid = listed.rows[0]?.product.uid ?? '';
  const key = randomBytes(32);
  const { operations } = createOrdering({ db, cursorKey: key, orderTokenKey: key, clock, log, settings: {} });
  const create = operations.find(({ path }) => path === '/order/create');
  if (create === undefined) throw new Error('no operation that takes an order');
  const params = create.params.parse(orderBody('first@example.com', productUid));
  const caller = { kind: 'api_client' as const, id: 'opc_bench', tenants: [], tenants_disabled: [], scopes: [] };
  const { signal } = new AbortController();
  const given = { params, caller, restuid, requestId: 'req_bench', signal, now: clock.now(), readNow: clock.now };
  await inTransaction(db, async (tx) => void (await create.handle({ ...given, db: tx })));
  await inTransaction(db, (tx) => setKinds(tx, restuid, Object.fromEntries(eventKinds.map((kind) => [kind, true]))));
  await store.pool.query(
    `insert into ordering.coupon_generators (restuid, gencode, discount_perc, quantity, order_min, valid_weekdays, points, created)
     values ($1, $2, 1000, 1, 0, '{0,1,2,3,4,5,6}', 0, now())`,
    [restuid, gencode],
  );
  return { restuid, endpointUid, productUid };
};

const fill = async (pool: pg.Pool, first: First, size: Size): Promise<void> => {
  await withoutTriggers(pool, async (client) => {
    await fillOrdering(client, first.restuid, size);
    await fillWebhooks(client, first, size);
    await fillCredentials(client, size);
  });
  await growAudit(pool, { restuid: first.restuid, rows: size.auditEvents, now: clock.now(), chain: auditChain });
  await withoutTriggers(pool, async (client) => void (await client.query('vacuum (analyze)')));
};
