/** What a page of the panel's log costs when it is long: its queries follow indexes and read a bounded number of rows. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '#src/platform/ids.ts';
import { createWebhookViews, findEndpointsByAddress } from '#src/webhooks/index.ts';
import { latestDeliveries } from '#src/webhooks/log/delivery-log-store.ts';
import { knownDeliveries } from '#src/webhooks/queue/entity-queue-store.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { statementsOf } from '../../support/statements-of.ts';

/** Deliveries that succeeded, with a failed one among each thousand; and a backlog that was never tried. */
const delivered = 60_000;
const backlog = 20_000;
/** More than any query of the log may read, and far less than there is. */
const readMax = 8_000;
const tenant = 'rst_01';
const nowMs = Date.parse('2026-03-01T10:00:00Z');

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  const made = `timestamptz '2026-03-01T10:00:00Z' - number * interval '5 seconds'`;
  const columns =
    'tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state, attempts_count, next_attempt_at, created';
  for (const statement of [
    `insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
     select '${tenant}', uid, 'panel', 'panel', 'https://a.example/', '{orders}', '', now() from unnest('{whe_a,whe_b}'::text[]) as uid`,
    `insert into webhooks.deliveries (${columns})
     select '${tenant}', 'dlv_a' || number, 'whe_a', 'evt_0000a' || number, 'order.new', 'orders', 'ord_' || number, 1, number,
       case when number % 1000 = 0 then 'exhausted' when number in (30001, 50001) then 'pending' else 'succeeded' end, 1,
       case when number in (30001, 50001) then now() + interval '1 hour' end, ${made}
     from generate_series(1, ${delivered}) as number`,
    `insert into webhooks.deliveries (${columns})
     select '${tenant}', 'dlv_b' || number, 'whe_b', 'evt_0000b' || number, 'order.new', 'orders', 'ord_' || number, 1, number,
       'pending', case when number = 7 then 1 else 0 end, case when number = 7 then now() + interval '1 hour' else now() end, ${made}
     from generate_series(1, ${backlog}) as number`,
    'analyze webhooks.deliveries',
  ])
    await database.pool.query(statement);
});

afterAll(() => database?.drop());

type Plan = {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
};

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** As the statements of lists do (`alongIndexes`). */
const alongIndexes = 'set local enable_seqscan = off; set local enable_bitmapscan = off';

/** Rows of deliveries that one statement reads. */
const rowsRead = async (
  { text, values }: { text: string; values: unknown[] },
  { pool } = database,
  settings = alongIndexes,
): Promise<number> => {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(settings);
    const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (analyze, timing off, format json) ${text}`,
      values,
    );
    const nodes = rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => nodesOf(Plan)));
    const scans = nodes.filter((node) => node['Relation Name']?.startsWith('deliveries'));
    expect(
      scans.filter((node) => node['Node Type'] === 'Seq Scan'),
      text,
    ).toEqual([]);
    return scans.reduce(
      (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    );
  } finally {
    await client.query('rollback');
    client.release();
  }
};

const none = { endpointUid: undefined, eventId: undefined, event: undefined, state: undefined };
const any = { ...none, redeliveryUid: undefined, since: undefined };

test('each list and count of a long log reads a bounded number of deliveries, by an index', async () => {
  const views = createWebhookViews({ db: database.db, clock: { now: () => new Date(nowMs) } });
  const filters = {
    any,
    failed: { ...any, state: 'exhausted' },
    delivered: { ...any, state: 'succeeded' },
    pending: { ...any, state: 'pending' },
    retrying: { ...any, state: 'pending', tried: true },
    retryingOfOne: { ...any, endpointUid: 'whe_a', state: 'pending', tried: true },
    event: { ...any, event: 'order.never' },
    since: { ...any, since: new Date(nowMs - 3_600_000), endpointUid: 'whe_a' },
    redelivery: { ...any, redeliveryUid: newId('rdl', nowMs) },
    one: { ...any, eventId: 'evt_0000a77' },
  } as const;
  for (const [name, filter] of Object.entries(filters)) {
    const sent = await statementsOf(async () => {
      await views.searchDeliveries(tenant, { ...filter, after: undefined, limit: 50 });
      await views.countDeliveries(tenant, filter);
      await views.findResendable(tenant, filter, 250);
      await views.deliveryMark(tenant);
    });
    const reads = sent.filter(({ text }) => text.includes('webhooks.deliveries'));
    expect(reads.length, name).toBeGreaterThan(2);
    for (const read of reads) expect(await rowsRead(read), `${name}: ${read.text}`).toBeLessThan(readMax);
  }
});

test('counts stop at their bound, and the few deliveries that are tried again are found behind all others', async () => {
  const views = createWebhookViews({ db: database.db, clock: { now: () => new Date(nowMs) } });
  const few = { ...any, endpointUid: 'whe_a' };
  expect(await views.countDeliveries(tenant, few)).toEqual({
    all: { count: 1000, isMore: true },
    failed: { count: delivered / 1000, isMore: false },
    retrying: { count: 2, isMore: false },
    delivered: { count: 1000, isMore: true },
  });
  const retrying = await views.searchDeliveries(tenant, {
    ...few,
    ...{ state: 'pending', tried: true, after: undefined, limit: 50 },
  });
  expect(retrying).toMatchObject({ items: [{ uid: 'dlv_a30001' }, { uid: 'dlv_a50001' }], next: undefined });
  // What has an attempt stands first in the index, so a backlog does not hide it from the count.
  expect((await views.countDeliveries(tenant, { ...any, endpointUid: 'whe_b' })).retrying).toMatchObject({ count: 1 });
  expect((await views.findResendable(tenant, { ...few, state: 'exhausted' }, 250))?.[0]?.eventIds).toHaveLength(60);
  expect(await views.findResendable(tenant, { ...few, state: 'succeeded' }, 250)).toBeUndefined();
});

test('the deliveries of few events are found by event, also at an endpoint that statistics take for a small one', async () => {
  const grown = await createTestDatabase();
  try {
    const columns = 'tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state, created';
    const insert = (endpoint: string, count: number): string =>
      `insert into webhooks.deliveries (${columns})
       select '${tenant}', 'dlv_' || number, ${endpoint}, 'evt_' || ${endpoint} || number, 'order.new', 'orders', 'ord_' || number,
         1, number, 'succeeded', now() from generate_series(1, ${count}) as number`;
    for (const statement of [
      `insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
       values ('${tenant}', 'whe_a', 'panel', 'panel', 'https://a.example/', '{orders}', '', now())`,
      insert(`'whe_' || number`, 3_000),
      'analyze webhooks.deliveries',
      insert(`'whe_a'`, 20_000),
    ])
      await grown.pool.query(statement);
    const eventIds = Array.from({ length: 100 }, (_, index) => `evt_whe_a${index + 1}`);
    const sent = await statementsOf(async () => {
      expect(await latestDeliveries(grown.db, { tenant, client: undefined }, eventIds)).toHaveLength(100);
      expect(await knownDeliveries(grown.db, 'whe_a', eventIds)).toHaveLength(100);
    });
    expect(sent).toHaveLength(2);
    for (const one of sent) expect(await rowsRead(one, grown, 'set local enable_seqscan = off'), one.text).toBe(100);
  } finally {
    await grown.drop();
  }
});

test('A-535 the search for endpoints by the beginning of their URL or host reads along an index', async () => {
  for (const text of ['https://a.ex', 'a.ex']) {
    const sent = await statementsOf(async () => {
      expect(await findEndpointsByAddress(database.db, text, 11)).toHaveLength(2);
    });
    const searches = sent.filter((one) => one.text.includes('webhooks.endpoints'));
    expect(searches).toHaveLength(1);
    const client = await database.pool.connect();
    try {
      // A small table is read whole and sorted, unless that is made to look expensive.
      await client.query('set enable_seqscan = off; set enable_sort = off');
      for (const search of searches) {
        const { rows } = await client.query(`explain ${search.text}`, search.values);
        const plan = JSON.stringify(rows);
        // A condition or a sequence that the index does not have would be a step of its own.
        expect(plan).toMatch(/endpoints_addresses.*Index Cond: /);
        expect(plan).not.toContain('Sort');
      }
    } finally {
      client.release(true);
    }
  }
});
