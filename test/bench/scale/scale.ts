/**
 * Does anything cost more in a large installation? Two databases of one server: one with 10 million orders of 10,000
 * restaurants, 5 million customers, 2 million deliveries that wait, 100,000 credentials and a million events of the audit,
 * and one with a hundredth of it. One restaurant has a tenth of everything; it is the one that is asked. Measured are the
 * start of each role until it is ready, one dispatch, one claim, searches of the audit, and every operation of the OpenAPI
 * document, through a gateway and a core on each store.
 * The small and the large store take turns.
 *
 * Beside each time stand the pages of memory that statements on that database touched meanwhile (pg_stat_statements),
 * which no other load of the machine disturbs. The goal is at most 1.3 times for a hundred times the data, with 40 pages
 * more for the higher trees of larger indexes. A line misses it
 * - when both its time and its pages do: what touches as many pages is slower only through the machine;
 * - when its pages grow by more than the rows that the program looks through at most, however fast they are: that grows with
 *   the data. The bound is 1,000 rows of a list; a worker that starts reads the figures of its queue, which have bounds of
 *   their own;
 * - when its time is more than three times as long in the best of three measurements.
 * Exit code 1 when a line misses it.
 *
 * Rows are made in the database, as the program writes them, without its triggers; what triggers would have added is
 * added for all rows at once. The events of the audit are not signed, since each would have to be signed in its turn. PostgreSQL
 * runs with the settings of the program, but without autovacuum: every table was vacuumed and analyzed before. With less
 * than 5,000,000 orders the small store has fewer rows than those bounds, so lines that look up to a bound show more pages
 * on the large one and can miss the goal; with less than 500,000 its lists are shorter than a page.
 *
 * Arguments: orders of the large store, part of the names of the lines that are wanted. TMPDIR: where the data lies.
 */
import { tmpdir } from 'node:os';
import pg from 'pg';
import { databaseUrl } from '../../support/test-server.ts';
import { print, withParts } from '../kit/parts.ts';
import { type Cost, compareAll, costGoal, timeOf, type Work } from './compare.ts';
import { auditSearches, type Engine, openEngine } from './engine-works.ts';
import { openScaledStore, type ScaledStore } from './open-scaled-store.ts';
import { measuredOperations, operationRequests } from './operation-requests.ts';
import { openShop, type Shop } from './shop.ts';
import { ordersMax, roomProblem } from './size.ts';
import { roles, startRole } from './start-roles.ts';

const orders = Number(process.argv[2] ?? ordersMax);
const wanted = process.argv[3] ?? '';
const runsOfStart = 3;
const runs = 9;
/**
 * Pages of the figures of the queue that a worker reads at its start (webhooks/telemetry): it counts 10,000 deliveries, and
 * finds the next one of 1,000 endpoints in eight weekly tables by an index of three levels.
 */
const workerLooksMax = 10_000 + 1_000 * 8 * 3;

/** The log of writes is kept short while the stores are filled: nothing of them has to survive a crash. */
const serverSettings = {
  ...{ shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.max': '10000', autovacuum: 'off' },
  ...{ wal_level: 'minimal', max_wal_senders: '0', max_wal_size: '4GB' },
};

/** Pages that statements on a database touched up to now. */
type CountPages = (store: ScaledStore) => Promise<number>;

const openCounts = async (url: string): Promise<{ countPages: CountPages; close: () => Promise<void> }> => {
  const client = new pg.Client({ connectionString: databaseUrl(url, 'postgres') });
  await client.connect();
  await client.query('create extension pg_stat_statements');
  return {
    countPages: async ({ database }) => {
      const { rows } = await client.query<{ pages: number }>(
        `select coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 as pages from pg_stat_statements(false)
         where dbid = (select oid from pg_database where datname = $1)`,
        [database],
      );
      return rows[0]?.pages ?? 0;
    },
    close: () => client.end(),
  };
};

type Sides<T> = { small: T; large: T };

type WorkDeps = { countPages: CountPages; times?: number; looksMax?: number | undefined };

/** What `prepare` returns is measured on each side; it resolves to its milliseconds. */
const workOf = <T extends { scaled: ScaledStore }>(
  name: string,
  { small, large }: Sides<T>,
  prepare: (side: T) => Promise<() => Promise<number>>,
  { countPages, times = runs, looksMax }: WorkDeps,
): Work => {
  const costOf = async (side: T): Promise<Cost> => {
    const run = await prepare(side);
    const before = await countPages(side.scaled);
    const ms = await run();
    return { ms, pages: (await countPages(side.scaled)) - before };
  };
  return { name, small: () => costOf(small), large: () => costOf(large), runs: times, looksMax };
};

const operationWorks = async (shops: Sides<Shop>, countPages: CountPages): Promise<Work[]> => {
  // The program makes the document from what it enforces. `openapi.test.ts` holds that no operation lacks a request.
  const { paths } = await shops.small.call({ path: '/api/openapi.json' });
  const operations = measuredOperations(paths as Parameters<typeof measuredOperations>[0]);
  return operations.map((name) =>
    workOf(
      name,
      shops,
      async (shop) => {
        const request = await operationRequests[name]?.(shop);
        if (request === undefined) throw new Error(`no request for ${name}`);
        return () => timeOf(() => shop.call(request));
      },
      { countPages },
    ),
  );
};

/** Starts of roles and searches of the audit, which need no part of the program beforehand. */
const storeWorks = (stores: Sides<{ scaled: ScaledStore }>, countPages: CountPages): Work[] => [
  ...roles.map((role) => {
    const looksMax = role === 'all' || role === 'worker' ? workerLooksMax : undefined;
    return workOf(
      `start of ${role}`,
      stores,
      async ({ scaled }) =>
        () =>
          startRole(scaled, role),
      {
        ...{ countPages, looksMax, times: runsOfStart },
      },
    );
  }),
  ...Object.entries(auditSearches).map(([name, search]) =>
    workOf(
      name,
      stores,
      async ({ scaled }) =>
        () =>
          search(scaled),
      { countPages },
    ),
  ),
];

type Side = Engine & { scaled: ScaledStore };

const engineWorks = (engines: Sides<Side>, countPages: CountPages): Work[] => {
  const empty = async ({ claim, finish }: Side): Promise<void> => {
    await claim();
    await finish();
  };
  const dispatched = async (engine: Side) => {
    await empty(engine);
    return engine.dispatch;
  };
  const claimed = async (engine: Side) => {
    await empty(engine);
    await engine.dispatch();
    return async () => {
      const { ms, leased } = await engine.claim();
      if (leased !== 1) throw new Error(`a claim leased ${leased} deliveries`);
      return ms;
    };
  };
  return [
    workOf('one dispatch', engines, dispatched, { countPages }),
    workOf('one claim', engines, claimed, { countPages }),
  ];
};

/** Opens a part on both stores, and closes it afterwards. */
const onBoth = async <T extends { close: () => Promise<void> }>(
  stores: Sides<ScaledStore>,
  open: (store: ScaledStore) => Promise<T>,
  measure: (sides: Sides<T>) => Promise<number>,
): Promise<number> => {
  const small = await open(stores.small);
  const large = await open(stores.large);
  try {
    return await measure({ small, large });
  } finally {
    await small.close();
    await large.close();
  }
};

/** Returns how many lines miss the goal. */
const compareStores = async (stores: Sides<ScaledStore>, countPages: CountPages): Promise<number> => {
  const compareWanted = (works: readonly Work[]): Promise<number> =>
    compareAll(works.filter(({ name }) => name.includes(wanted)));
  const sides = { small: { scaled: stores.small }, large: { scaled: stores.large } };
  const ofStores = await compareWanted(storeWorks(sides, countPages));
  const openSide = async (scaled: ScaledStore): Promise<Side> => ({ scaled, ...(await openEngine(scaled)) });
  const ofEngines = await onBoth(stores, openSide, (engines) => compareWanted(engineWorks(engines, countPages)));
  const ofOperations = await onBoth(stores, openShop, async (shops) =>
    compareWanted(await operationWorks(shops, countPages)),
  );
  return ofStores + ofEngines + ofOperations;
};

/** Returns the exit code. */
const bench = (): Promise<number> =>
  withParts(async (start) => {
    const { ready } = await start('store', undefined, [JSON.stringify(serverSettings)]);
    const url = String(ready.url);
    const counts = await openCounts(url);
    const stores: ScaledStore[] = [];
    try {
      for (const many of [Math.round(orders / 100), orders]) {
        const startedAt = performance.now();
        const made = await openScaledStore(url, many);
        stores.push(made);
        const { size, bytes } = made;
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
        print(
          `${size.orders} orders of ${size.restaurants} restaurants, ${size.customers} customers, ${size.deliveries} deliveries that wait, ${size.credentials} credentials, ${size.auditEvents} events of the audit: ${(bytes / 1e6).toFixed(0)} MB, made in ${seconds} s`,
        );
      }
      const [small, large] = stores;
      if (small === undefined || large === undefined) throw new Error('two stores are compared');
      const missed = await compareStores({ small, large }, counts.countPages);
      print(`goal: at most ${costGoal} times: ${missed === 0 ? 'reached' : `MISSED by ${missed}`}`);
      return missed === 0 ? 0 : 1;
    } finally {
      for (const made of stores) await made.close();
      await counts.close();
    }
  });

const problem = await roomProblem(tmpdir(), orders);
if (problem !== undefined) print(problem);
process.exitCode = problem === undefined ? await bench() : 1;
