/** The retention: what it drops, the beginnings it signs, and the partitions it leaves. */
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { hashEvent } from '#src/gateway/audit/chain/chain.ts';
import { insertEvents } from '#src/gateway/audit/chain/event-store.ts';
import { completeEvent } from '#src/gateway/audit/event/event.ts';
import { lastOfPartition, latestIn } from '#src/gateway/audit/retention/partition-store.ts';
import { createAuditRetention, dropOldAudit } from '#src/gateway/audit/retention/retention.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { isLockTimeout } from '#src/platform/db/transaction.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { whileLocked } from '../../support/contention.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';
import { type AuditHarness, openAuditHarness } from '../harness/audit-harness.ts';

let database: TestDatabase;
let harness: AuditHarness;

const days = (count: number): number => count * 86_400_000;

beforeAll(async () => {
  database = await createTestDatabase();
});

beforeEach(async () => {
  harness = await openAuditHarness(database);
});

afterEach(async () => {
  await harness.close();
  for (const { name } of await partitions()) {
    if (!/_\d{6}$/.test(String(name))) await harness.attack(`drop table gateway.${String(name)}`);
  }
});

afterAll(() => database.drop());

const partitions = () =>
  harness.attack(`select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'gateway.audit_events'::regclass order by 1`);

const monthOf = (date: Date): string => `audit_events_${date.toISOString().slice(0, 7).replace('-', '')}`;

test('F-22 a new beginning is signed only after every hash up to it was checked, and the event of the drop names it', async () => {
  const old = monthOf(harness.clock.now());
  await harness.start();
  for (let i = 0; i < 3; i += 1) await harness.changeHere();
  await harness.request();
  harness.clock.move(days(40));
  await harness.changeHere();
  expect(await harness.retain(5)).toMatchObject({ dropped: expect.arrayContaining([old]), left: [] });
  const [dropped] = await harness.attack(
    "select details from gateway.audit_events where action = 'audit.dropped' order by seq",
  );
  const { anchors } = JSON.parse(String(dropped?.details)) as { anchors: [number, number, string][] };
  const rows = await harness.attack(
    `select chain, anchor_seq::int as seq, encode(anchor_hash, 'hex') as hash from gateway.audit_chains
     where anchor_seq > 0 order by chain`,
  );
  expect(rows.map(({ chain, seq, hash }) => [chain, seq, hash])).toEqual(anchors);
  expect((await harness.verify()).problems).toEqual([]);
});

const oldMonths = (['running', 'stopped'] as const).flatMap((mode) => [2, 5].map((seq) => ({ mode, seq })));

test.each(oldMonths)(
  'F-22 while the program is $mode, events inserted into an old month at number $seq are reported instead of signed, and the month is not dropped',
  async ({ mode, seq }) => {
    await harness.start();
    for (let i = 0; i < 6; i += 1) await harness.changeHere();
    if (mode === 'stopped') await harness.stop();
    const past = new Date(Date.now() - days(900));
    await harness.attack('select gateway.audit_partition($1)', [past]);
    const [at] = await harness.attack(
      `select encode(hash, 'hex') as hash from gateway.audit_events where chain = 0 and seq = $1`,
      [seq - 1],
    );
    const forged = completeEvent({ action: 'key.revoked', actor: 'mallory' }, past);
    const hash = hashEvent(String(at?.hash), 0, seq, forged);
    // Copies of later events with old times: if they became the signed beginning, all earlier events could be deleted.
    await insertEvents(database.db, [{ ...forged, chain: 0, seq, hash }]);
    if (mode === 'stopped') await harness.start();
    expect(await harness.retain(400)).toMatchObject({ dropped: [], left: [{ name: monthOf(past) }] });
    await harness.attack('delete from gateway.audit_events where chain = 0 and seq <= $1', [seq]);
    const isNamed = async (): Promise<void> =>
      expect((await harness.verify()).problems).toContainEqual(expect.objectContaining({ chain: 0, seq: 1 }));
    for (let round = 0; round < 2; round += 1) {
      await harness.changeHere();
      await harness.retain(400);
      await isNamed();
      await harness.stop();
      await harness.change();
      await isNamed();
      await harness.start();
    }
    await harness.stop();
    await harness.attack(`drop table if exists gateway.${monthOf(past)}`);
    expect((await harness.verify({ blind: true })).problems.length).toBeGreaterThan(0);
  },
);

test('F-30 a partition that is not a month of the audit is left and reported, also when its name looks old', async () => {
  await harness.start();
  await harness.changeHere();
  await harness.attack(`create table gateway.audit_events_old partition of gateway.audit_events
    for values from ('2001-01-01') to ('2001-02-01')`);
  await harness.attack(`create table gateway.audit_events_200203 partition of gateway.audit_events
    for values from ('2002-03-01') to ('2002-05-01')`);
  await harness.attack(`create table gateway.audit_events_rest partition of gateway.audit_events default`);
  const { dropped, left } = await harness.retain(400);
  expect(dropped).toEqual([]);
  expect(left.map(({ name }) => name).toSorted()).toEqual([
    'audit_events_200203',
    'audit_events_old',
    'audit_events_rest',
  ]);
  await harness.attack('drop table gateway.audit_events_200203');
});

const count = async (statement: string): Promise<number> => Number((await harness.attack(statement))[0]?.count);

test('A-741 a month is dropped while a gateway that wrote to it records a request, and neither waits for the other one', async () => {
  const deadlocks = () => count('select deadlocks as count from pg_stat_database where datname = current_database()');
  const old = monthOf(harness.clock.now());
  const before = await deadlocks();
  const pool = createPool({ connection: database.ownerUrl, applicationName: 'retaining' }, pino({ level: 'silent' }));
  const running = await openAuditHarness({ ...database, pool, db: createDatabase(pool) });
  const waiting = () => count(`select count(*) from pg_locks where not granted`);
  await running.start();
  await running.request();
  await until(async () => (await count('select count(*) from gateway.audit_events where chain > 0')) > 0);
  running.clock.move(days(40));
  await running.changeHere();
  // The wait for a head of a chain that another session holds may end the attempt.
  const retain = () =>
    running.retain(5).catch((error: unknown) => {
      if (!isLockTimeout(error)) throw error;
    });
  const heads = sql`select from gateway.audit_chains where process <> 'changes' for update`;
  await whileLocked(database.db, heads, 2, () =>
    Promise.all([retain(), until(async () => (await waiting()) > 0).then(() => running.request())]),
  );
  await retain();
  expect((await partitions()).map(({ name }) => name)).not.toContain(old);
  expect((await running.verify()).problems).toEqual([]);
  await running.close();
  // A session reports its deadlocks, at the latest, when it ends.
  await pool.end();
  await until(
    async () => (await count(`select count(*) from pg_stat_activity where application_name = 'retaining'`)) === 0,
  );
  expect((await deadlocks()) - before).toBe(0);
});

/** The statements that each connection of the pool sends from now on, by connection. */
const recordStatements = (pool: Pool): string[][] => {
  const sent: string[][] = [];
  pool.on('connect', (client) => {
    const texts: string[] = [];
    sent.push(texts);
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const recorded = (...args: unknown[]): unknown => {
      const [first] = args;
      texts.push(typeof first === 'string' ? first : String(Reflect.get(Object(first), 'text')));
      return query(...args);
    };
    Object.assign(client, { query: recorded });
  });
  return sent;
};

test('A-695 a month of many chains is dropped by as few statements under the lock of the events as one of few chains', async () => {
  const started = harness.clock.now();
  const nextMonth = Date.UTC(started.getUTCFullYear(), started.getUTCMonth() + 1, 1);
  // Both are events of the chain of changes; the earlier one lies in the later month, as events of one moment may.
  harness.clock.move(nextMonth + 60_000 - started.getTime());
  await harness.start();
  await harness.changeHere();
  harness.clock.move(-120_000);
  const old = monthOf(harness.clock.now());
  await harness.changeHere();
  for (let i = 0; i < 5; i += 1) {
    await harness.request();
    await harness.stop();
    await harness.start();
  }
  const chains = await count(`select count(distinct chain) from gateway.${old}`);
  expect(chains).toBeGreaterThan(5);
  harness.clock.move(days(40));
  const pool = createPool({ connection: database.ownerUrl, applicationName: 'retaining' }, pino({ level: 'silent' }));
  const sent = recordStatements(pool);
  const deps = { db: createDatabase(pool), box: harness.boxOf(), clock: harness.clock };
  expect(await dropOldAudit(deps, 5)).toMatchObject({ dropped: expect.arrayContaining([old]), left: [] });
  await pool.end();
  const statements = sent.find((texts) => texts.some((text) => text.includes('drop_audit_partition'))) ?? [];
  const locked = statements.slice(statements.findIndex((text) => text.includes('drop_audit_partition')) + 1);
  const ended = locked.findIndex((text) => text.toLowerCase() === 'commit');
  expect(ended).toBeGreaterThan(0);
  // The beginnings of all chains, and the one event that lies in the later month.
  expect(locked.slice(0, ended)).toHaveLength(2);
  expect((await harness.verify()).problems).toEqual([]);
});

const wrongClocks = [
  { what: 'ahead', hours: 20 },
  { what: 'behind by years', hours: -24 * 900 },
];

test.each(wrongClocks)(
  'A-706 a month whose chain of changes goes on behind a clock that was $what is dropped later, and not reported as changed',
  async ({ hours }) => {
    const wrong = hours * 3_600_000;
    await harness.start();
    // Two hours before the end of a month.
    const now = harness.clock.now();
    harness.clock.move(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - 2 * 3_600_000 - now.getTime());
    await harness.changeHere();
    harness.clock.move(wrong);
    await harness.changeHere();
    const reached = [harness.clock.now()];
    harness.clock.move(-wrong);
    await harness.changeHere();
    reached.push(harness.clock.now());
    const [first, second] = reached.toSorted((one, other) => one.getTime() - other.getTime());
    const [early, late] = [first, second].map((at) => monthOf(at ?? now));
    expect(early).not.toBe(late);
    // Old enough for the earlier one of both months alone.
    const ended = Date.UTC(second?.getUTCFullYear() ?? 0, second?.getUTCMonth() ?? 0, 20);
    harness.clock.move(ended + days(400) - harness.clock.now().getTime());
    await harness.changeHere();
    const kept = await harness.retain(400);
    expect(kept).toMatchObject({ left: [], postponed: [expect.objectContaining({ name: early })] });
    expect(kept.dropped).not.toContain(early);
    expect(await harness.attack("select action from gateway.audit_events where action like 'audit.broken'")).toEqual(
      [],
    );
    expect((await harness.verify()).problems).toEqual([]);
    harness.clock.move(days(20));
    await harness.changeHere();
    expect(await harness.retain(400)).toMatchObject({
      dropped: expect.arrayContaining([early, late]),
      left: [],
      postponed: [],
    });
    expect((await harness.verify()).problems).toEqual([]);
  },
);

/** Reads the table of the events in a transaction that stays open, as a pg_dump does. */
const holdEvents = async (): Promise<() => Promise<void>> => {
  const client = await database.pool.connect();
  await client.query('begin; set local idle_in_transaction_session_timeout = 0');
  await client.query('lock table gateway.audit_events in access share mode');
  return async () => {
    await client.query('rollback');
    client.release();
  };
};

const isLockWaiting = async (): Promise<boolean> => {
  const waiting = await harness.attack(
    `select from pg_locks where not granted and relation = 'gateway.audit_events'::regclass and mode = 'AccessExclusiveLock'`,
  );
  return waiting.length > 0;
};

test('A-597 while a dump reads the audit, its next month is not made, and changes wait 2 s for that lock at most', async () => {
  await harness.start();
  await harness.stop();
  // Into the month that exists, so that the one after it is missing.
  const now = harness.clock.now();
  harness.clock.move(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 15) - now.getTime());
  const missing = monthOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 15)));
  await harness.attack(`drop table if exists gateway.${missing}`);
  const release = await holdEvents();
  try {
    await harness.start();
    await until(isLockWaiting);
    await until(async () => !(await isLockWaiting()));
    await harness.changeHere();
    // A failed service would ask for the lock again 100 ms later.
    await expect(until(isLockWaiting, 1_000)).rejects.toThrow('not true within');
  } finally {
    await release();
  }
  expect((await partitions()).map(({ name }) => name)).not.toContain(missing);
  await harness.stop();
  await harness.start();
  await until(async () => (await partitions()).some(({ name }) => name === missing));
  await harness.attack(`drop table gateway.${missing}`);
});

test('A-597 while a dump reads the audit, an old month is not dropped, and the attempt ends after 2 s', async () => {
  const old = monthOf(harness.clock.now());
  await harness.start();
  await harness.changeHere();
  harness.clock.move(days(40));
  await harness.changeHere();
  const release = await holdEvents();
  try {
    await expect(harness.retain(5)).rejects.toThrow('lock timeout');
    await harness.changeHere();
  } finally {
    await release();
  }
  expect((await harness.retain(5)).dropped).toContain(old);
  expect((await harness.verify()).problems).toEqual([]);
});

test('A-781 the last events of a month are found without reading the others', async () => {
  await harness.attack("select gateway.audit_partition('2020-02-10Z')");
  await harness.attack(
    `insert into gateway.audit_events (chain, seq, at, action, outcome, count, request_ids, tenants, scopes, details, hash)
     select chain, seq, '2020-02-10Z', 'request.refused', 'failure', 1, '{}', '{}', '{}', '{}', int4send(seq)
     from unnest(array[0, 3, 70]) chain, generate_series(1, 3000) seq`,
  );
  await harness.attack('analyze gateway.audit_events_202002');
  await database.db.transaction().execute(async (tx) => {
    const found = await lastOfPartition(tx, 'audit_events_202002');
    expect(found).toEqual([0, 3, 70].map((chain) => ({ chain, seq: 3000, hash: '00000bb8' })));
    const { rows } = await sql<{ count: number }>`
      select seq_tup_read + idx_tup_fetch as count from pg_stat_xact_user_tables
      where schemaname = 'gateway' and relname = 'audit_events_202002'`.execute(tx);
    expect(rows[0]?.count).toBeLessThan(100);
  });
  // The same for the events of a chain that lie in other months: the retention asks each by name.
  await harness.attack("select gateway.audit_partition('2020-03-10Z')");
  await harness.attack(
    `insert into gateway.audit_events (chain, seq, at, action, outcome, count, request_ids, tenants, scopes, details, hash)
     select 3, seq, '2020-03-10Z'::timestamptz + make_interval(secs => seq), 'request.refused', 'failure', 1, '{}', '{}', '{}', '{}', int4send(seq)
     from generate_series(2998, 6000) seq where seq <> 3000`,
  );
  await harness.attack('analyze gateway.audit_events_202003');
  await database.db.transaction().execute(async (tx) => {
    const latest = await latestIn(tx, ['gateway.audit_events_202003'], 3, 3000);
    expect(latest).toEqual(new Date(Date.UTC(2020, 2, 10) + 2_999_000));
    const { rows } = await sql<{ count: number }>`
      select sum(seq_tup_read + idx_tup_fetch)::int as count from pg_stat_xact_user_tables
      where schemaname = 'gateway' and relname in ('audit_events_202002', 'audit_events_202003')`.execute(tx);
    expect(rows[0]?.count).toBeLessThan(100);
  });
  await harness.attack('drop table gateway.audit_events_202003');
  await harness.attack('drop table gateway.audit_events_202002');
});

test('A-781 the retention waits for an hour after a statement that took too long', async () => {
  const own = await createTestDatabase();
  try {
    await own.pool.query(`create or replace function gateway.audit_partition(moment timestamptz) returns void language plpgsql as $$
      begin raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end $$`);
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    const deps = { db: own.db, box: createSecretBox(Buffer.alloc(32)), clock: harness.clock, log };
    const ended = new AbortController();
    const running = createAuditRetention(deps, 400).run(ended.signal);
    await Promise.race([running, until(() => lines.length > 0)]);
    expect(lines[0]).toContain('trying again in an hour');
    ended.abort();
    await running;
  } finally {
    await own.drop();
  }
});
