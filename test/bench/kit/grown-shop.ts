/** A database with one restaurant that has had so many of everything, and the lists of it as calls. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { kindScopes, restaurantDates } from '#src/app/webhooks/wire-engine.ts';
import { searchAudit } from '#src/gateway/index.ts';
import { createOrdering, createRestaurant, importMenu, listProducts } from '#src/ordering/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { firstItems } from '#src/platform/db/bounded-list.ts';
import { embeddedConnection } from '#src/platform/db/embedded/embedded.ts';
import type { Store } from '#src/platform/db/index.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { webhooksSettings } from '#src/webhooks/config.ts';
import { createWebhookApi } from '#src/webhooks/index.ts';
import { filtersOfAudit, growAudit } from '../../support/grown/grown-audit.ts';
import { askedOf, type Grown, growLists, queriesOf } from '../../support/grown/grown-lists.ts';

/** `name` is the same in databases of every size. */
export type ListCall = { name: string; call: () => Promise<unknown> };

export type GrownShop = { calls: ListCall[]; pagesOf: (act: ListCall) => Promise<number>; close: () => Promise<void> };

type Settings = { dataDir: string; rows: number; log: Logger };

export const openGrownShop = async (store: Store, { dataDir, rows, log }: Settings): Promise<GrownShop> => {
  const database = `bench_lists_${rows}`;
  await store.pool.query(`create database ${database}`);
  const found = await embeddedConnection(dataDir);
  if (found === undefined) throw new Error('there is no server');
  const pool = createPool({ connection: { ...found.connection, database }, applicationName: 'bench', max: 2 }, log);
  await migrate(pool, [...allMigrations], { log });
  const db = createDatabase(pool);
  const clock = systemClock;
  const cursorKey = randomBytes(32);
  const box = createSecretBox(randomBytes(32));
  const ordering = createOrdering({ db, cursorKey, orderTokenKey: randomBytes(32), clock, log, settings: {} });
  const webhooks = createWebhookApi({
    ...{ db, box, clock, settings: webhooksSettings.parse({}), kindScopes, cursorKey, datesOf: restaurantDates },
    rules: { allowPrivate: true, allowedOrigins: [] },
  });
  const operations = [...ordering.operations, ...webhooks.operations];
  const { uid: restuid } = await inTransaction(db, async (tx) => {
    const made = await createRestaurant(tx, { name: 'Bench' }, clock.now());
    const categories = [{ ext_id: 'C', name: 'Pizza' }];
    const products = [{ ext_id: 'P', category_ext_id: 'C', name: 'Margherita', price: 8.5 }];
    const menu = { restuid: made.uid, owner: null, posUid: 'bench', mode: 'replace', categories, products } as const;
    await importMenu(tx, { ...menu, now: clock.now() });
    return made;
  });
  const scopes = Object.values(kindScopes);
  const caller = { kind: 'api_key' as const, id: 'opk_bench', tenants: [restuid], tenants_disabled: [], scopes };
  const run = (operation: Operation, params: Record<string, unknown>): Promise<unknown> => {
    const { signal } = new AbortController();
    const given = { params: operation.params.parse(params), caller, restuid, requestId: 'req_bench', signal };
    const handle = (on: typeof db): Promise<unknown> =>
      operation.handle({ ...given, now: clock.now(), readNow: clock.now, db: on });
    return operation.method === 'GET' ? handle(db) : inTransaction(db, handle);
  };
  const create = operations.find(({ path }) => path === '/order/create');
  const listed = await listProducts(db, restuid, { visibleOnly: true }, firstItems(1));
  if (create === undefined) throw new Error('no operation that takes an order');
  await run(create, {
    client: { first_name: 'Ada', email: 'first@example.com' },
    ...{ dmethod: '0t', table: '7', payment_method: 'cash', payment_method_sub: 'pos' },
    details: [{ product: { uid: listed.rows[0]?.product.uid }, quantity: 1 }],
  });

  const grown: Grown = { restuid, clientId: 'opc_bench', rows, now: clock.now() };
  await growAudit(pool, grown);
  await growLists(pool, grown);
  const lists = operations.filter(({ answer }) => Object.hasOwn((answer as z.ZodObject).shape ?? {}, 'next_cursor'));
  const asked = askedOf(grown);
  const calls = lists.flatMap((operation): ListCall[] =>
    queriesOf(asked[operation.path] ?? {}).map((query) => ({
      name: `${operation.path.slice(1)} ${nameOf(query, restuid)}`,
      call: () => run(operation, query),
    })),
  );
  const reader = { db, box, clock, actor: 'bench' };
  const searches = filtersOfAudit(grown).map(
    (filter): ListCall => ({
      name: `audit search ${nameOf(filter, restuid)}`,
      call: () => searchAudit(reader, { filter, limit: 50 }),
    }),
  );
  return {
    calls: [...calls, ...searches],
    pagesOf: (act) => pagesOf(pool, act),
    close: async () => {
      await webhooks.close();
      await pool.end();
    },
  };
};

const nameOf = (query: object, restuid: string): string =>
  Object.entries(query)
    .map(([name, value]) => `${name}=${value instanceof Date ? 'time' : String(value)}`)
    .join(' ')
    .replaceAll(restuid, '')
    .replaceAll(restuid.slice(-6), '')
    .replaceAll(/T[\d:.]+Z/g, '') || '(all)';

/** Pages of memory that the reading statements of one call touch. */
const pagesOf = async (pool: pg.Pool, { call }: ListCall): Promise<number> => {
  const prototype = pg.Client.prototype as unknown as { query: (...given: unknown[]) => unknown };
  const { query } = prototype;
  const sent: { text: string; values: unknown[] }[] = [];
  prototype.query = function watched(this: unknown, ...given: unknown[]) {
    const [asked, values] = given as [string | { text: string; values?: unknown[] }, unknown[] | undefined];
    sent.push(
      typeof asked === 'string'
        ? { text: asked, values: values ?? [] }
        : { text: asked.text, values: asked.values ?? [] },
    );
    return query.apply(this, given);
  };
  try {
    await call();
  } finally {
    prototype.query = query;
  }
  const client = await pool.connect();
  try {
    let pages = 0;
    await client.query('begin');
    for (const { text, values } of sent.filter((one) => /^\s*(\/\*.*\*\/)?\s*(with|select)\b/i.test(one.text))) {
      const { rows } = await client.query<{ 'QUERY PLAN'?: { Plan: Record<string, number> }[] }>(
        // What a request asks of the planner holds for the statements after it.
        text.includes('set_config') ? text : `explain (analyze, buffers, timing off, format json) ${text}`,
        values,
      );
      const plan = rows[0]?.['QUERY PLAN']?.[0]?.Plan ?? {};
      pages += (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
    }
    return pages;
  } finally {
    await client.query('rollback');
    client.release();
  }
};
