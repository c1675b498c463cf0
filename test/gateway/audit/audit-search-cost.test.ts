import { createHash } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AskedFilter } from '#src/gateway/audit/search/issued-use.ts';
import { exportFound, searchAudit } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { filtersOfAudit, growAudit } from '../../support/grown/grown-audit.ts';
import { statementsOf } from '../../support/statements-of.ts';

/** Numbers of events in the small and in the large audit. */
const sizes = [10_000, 50_000] as const;
const restuid = 'rst_most';

/** No gateway runs on these databases, because the statements of its services would be counted too. */
type Grown = { database: TestDatabase; now: Date };

let audits: Grown[];

beforeAll(async () => {
  audits = [];
  for (const rows of sizes) {
    const database = await createTestDatabase();
    const now = systemClock.now();
    await growAudit(database.pool, { restuid, rows, now });
    audits.push({ database, now });
  }
}, 240_000);
afterAll(async () => {
  for (const { database } of audits) await database.drop();
});

const box = createSecretBox(Buffer.alloc(32, 9));

const deps = ({ database }: Grown) => ({ db: database.db, box, clock: systemClock, actor: 'cli:ada' });

type Plan = {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
};

/** Rows that the statements of a search read. Unlike its time, their number does not depend on the load of the machine. */
const costOf = async (audit: Grown, filter: AskedFilter): Promise<number> => {
  const sent = await statementsOf(() => searchAudit(deps(audit), { filter, limit: 50 }));
  const client = await audit.database.pool.connect();
  try {
    let read = 0;
    await client.query('begin');
    for (const { text, values } of sent.filter(({ text }) => /^\s*(\/\*.*\*\/)?\s*(with|select)\b/i.test(text))) {
      // The planner settings of a search apply to the statements that follow in its transaction.
      if (text.includes('set_config')) await client.query(text, values);
      else if (text.includes('audit_events')) read += await rowsOf(client, text, values);
    }
    return read;
  } finally {
    await client.query('rollback');
    client.release();
  }
};

const rowsOf = async (client: pg.PoolClient, text: string, values: unknown[]): Promise<number> => {
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    `explain (analyze, timing off, format json) ${text}`,
    values,
  );
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
  return plan === undefined ? 0 : readIn(plan);
};

const scans = new Set(['Seq Scan', 'Index Scan', 'Index Only Scan', 'Bitmap Heap Scan', 'Bitmap Index Scan']);

const readIn = (plan: Plan): number => {
  const { Plans = [], 'Actual Rows': rows, 'Actual Loops': loops } = plan;
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  const own = scans.has(plan['Node Type']) ? (rows + removed) * loops : 0;
  return Plans.reduce((sum, inner) => sum + readIn(inner), own);
};

/** A search probes up to 1,000 events of each of two access paths, and then reads up to 1,000 again. */
const bound = 3_000;
const ratioMax = 1.3;

test('F-09 a search of the audit reads as many rows in an audit of five times the size, with every filter and every pair of filters', async () => {
  const [small, large] = audits as [Grown, Grown];
  const [few, many] = [small, large].map(({ now }) => filtersOfAudit({ restuid, now })) as [
    AskedFilter[],
    AskedFilter[],
  ];
  const dearer: unknown[] = [];
  for (const [i, filter] of few.entries()) {
    const more = await costOf(large, many[i] ?? {});
    // Whatever the search of the small audit reads, this is not dearer.
    if (more <= bound) continue;
    const less = await costOf(small, filter);
    if (more > less * ratioMax + bound) dearer.push([filter, less, more]);
  }
  expect(dearer).toEqual([]);
}, 240_000);

/** The expected result of a search, found independently by comparing every event. */
const fullScan = async ({ database }: Grown, filter: AskedFilter): Promise<string[]> => {
  const { rows } = await database.pool.query(
    `select chain || '-' || seq as id from gateway.audit_events where chain = 7
       and ($1::text is null or client_id = $1) and ($2::text is null or credential_id = $2)
       and ($3::text is null or $3 = any (tenants)) and ($4::text is null or action = $4)
       and ($5::text is null or route_id = $5) and ($6::text is null or address = $6)
       and ($7::text is null or outcome = $7) and ($8::timestamptz is null or at >= $8)
       and ($9::timestamptz is null or at < $9) and ($10::text is null or fingerprint = $10 or strpos(uses, ';' || $10 || ' ') > 0)
       and ($11::text is null or token_id = $11 or strpos(uses, ' ' || $11 || ' ') > 0) and ($12::text is null or $12 = any (request_ids))
     order by at desc, chain desc, seq desc`,
    [
      ...[filter.client, filter.credential, filter.tenant, filter.action, filter.route, filter.address],
      ...[filter.outcome, filter.since, filter.until, filter.fingerprint, filter.tokenId, filter.requestId],
    ],
  );
  return rows.map(({ id }) => String(id));
};

const fingerprintOf = (text: string): string => createHash('md5').update(text).digest('hex');

const isGrown = (id: string): boolean => id.startsWith('7-');

test('F-09 the pages of a search together contain exactly the matching events, also when these are rare', async () => {
  const [audit] = audits as [Grown];
  const filters: AskedFilter[] = [
    { tenant: 'rst_tenth', action: 'request.denied' },
    { tenant: 'rst_tenth', outcome: 'failure' },
    { client: 'opc_most', route: 'menu.import' },
    { client: 'opc_most', tenant: 'rst_rare' },
    { route: 'orders.get', address: '198.51.100.9' },
    { action: 'request.allowed', client: 'opc_tenth' },
    { action: 'request.denied', tenant: restuid },
    { credential: 'opk_tenth', action: 'token.issued' },
    { tokenId: 'jti_most', action: 'token.issued' },
    { requestId: 'till-most', address: '198.51.100.8' },
    { route: 'orders.list', address: '198.51.100.8' },
    { fingerprint: fingerprintOf('many'), client: 'opc_most' },
    { tokenId: 'jti_many', tenant: restuid },
  ];
  for (const filter of filters) {
    const found: string[] = [];
    for (let before: string | undefined; ; ) {
      const page = await searchAudit(deps(audit), { filter, limit: 200, before });
      expect(page.events.length).toBeLessThanOrEqual(200);
      // A page that is not full states where the search stopped, unless it is the last page.
      expect(page.searchedTo !== undefined, JSON.stringify(filter)).toBe(
        page.next !== undefined && page.events.length < 200,
      );
      found.push(...page.events.map(({ id }) => id.split('-').slice(0, 2).join('-')));
      if (page.next === undefined) break;
      before = page.next;
    }
    expect(found.filter(isGrown), JSON.stringify(filter)).toEqual(await fullScan(audit, filter));
  }
}, 120_000);

test('F-09 an export of a search continues to the oldest matching event, where a single search would stop', async () => {
  const [, audit] = audits as [Grown, Grown];
  // Three of the oldest events match both filters, while each filter alone matches thousands.
  const filter: AskedFilter = { address: '198.51.100.8', route: 'orders.list' };
  const first = await searchAudit(deps(audit), { filter, limit: 50 });
  expect(first).toMatchObject({ events: [], next: expect.any(String), searchedTo: expect.any(Date) });
  const pieces: string[] = [];
  for await (const piece of await exportFound(deps(audit), { filter, format: 'jsonl' })) pieces.push(piece);
  const lines = pieces.join('').trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as Record<string, unknown>)['event.id'])).toEqual(
    await fullScan(audit, filter),
  );
  expect(lines).toHaveLength(3);
});

test('the measurement detects a cost that grows with the audit', async () => {
  const [, { database }] = audits as [Grown, Grown];
  const client = await database.pool.connect();
  const read = (rows: number): Promise<number> =>
    rowsOf(client, 'select details from gateway.audit_events order by at desc limit $1', [rows]);
  try {
    expect(await read(50_000)).toBeGreaterThan((await read(10_000)) * ratioMax + bound);
  } finally {
    client.release();
  }
});
