import { afterAll, beforeAll, expect, test } from 'vitest';
import { headLabel, signAnchor } from '#src/gateway/audit/chain/chain.ts';
import { appendChange, type ExportRequest, exportAudit } from '#src/gateway/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

const deps = () => ({ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'cli:ada' });

const take = async (after?: string, format: ExportRequest['format'] = 'jsonl') => {
  const pieces: string[] = [];
  const exported = await exportAudit(deps(), { format, after, write: async (text) => void pieces.push(text) });
  return { ...exported, pieces, lines: pieces.join('').split(/\r?\n/).slice(0, -1) };
};

const idsOf = (lines: readonly string[]): string[] =>
  lines.map((line) => String((JSON.parse(line) as Record<string, unknown>)['event.id']));

const stored = async (): Promise<string[]> =>
  (await harness.database.pool.query("select chain || '-' || seq as id from gateway.audit_events order by 1")).rows.map(
    ({ id }) => String(id),
  );

test('consecutive exports together contain every event of every gateway exactly once', async () => {
  const second = await harness.openDoor();
  for (const url of [harness.url, second.url, harness.url]) await sendRequest(url, 'GET', read);
  const first = await take();
  for (let i = 0; i < 250; i += 1) await sendRequest(i % 2 === 0 ? harness.url : second.url, 'GET', read);
  const third = await harness.openDoor();
  await sendRequest(third.url, 'GET', read);
  const next = await take(first.cursor);
  const all = [...idsOf(first.lines), ...idsOf(next.lines)];
  expect(all.toSorted()).toEqual((await stored()).toSorted());
  expect(new Set(all).size).toBe(all.length);
  expect([first.gaps, next.gaps]).toEqual([[], []]);
  // The one event records the export itself.
  const last = await take(next.cursor);
  expect(last.lines.map((line) => JSON.parse(line))).toMatchObject([
    { 'event.action': 'audit.read', 'user.name': 'cli:ada', 'orderpass.details': { read: 'export', format: 'jsonl' } },
  ]);
});

test('an event that is committed after newer ones were exported is still exported', async () => {
  const second = await harness.openDoor();
  const pool = harness.database.pool;
  const late = await pool.connect();
  const { rows } = await pool.query('select max(chain) as chain from gateway.audit_chains');
  const chain = Number(rows[0].chain);
  await late.query('begin');
  await late.query(
    `insert into gateway.audit_events select ($1), 1, now() - interval '1 minute', action, outcome, reason, count, request_ids,
       fingerprint, kind, credential_id, token_id, client_id, tenants, route_id, scopes, address, actor, details, hash
     from gateway.audit_events where chain = 0 and seq = 1`,
    [chain],
  );
  await sendRequest(harness.url, 'GET', read);
  const before = await take();
  await late.query('commit');
  late.release();
  const after = await take(before.cursor);
  expect(idsOf(before.lines)).not.toContain(`${chain}-1`);
  expect(idsOf(after.lines)).toContain(`${chain}-1`);
  await pool.query('delete from gateway.audit_events where chain = $1 and seq = 1', [chain]);
  await second.close();
});

test('an export reads the next page only after the last one was written, and exports unwritten pages again', async () => {
  const start = (await take()).cursor;
  const events = Array.from({ length: 700 }, () => ({ action: 'audit.read' as const, actor: 'filler' }));
  await inTransaction(harness.database.db, (tx) => appendChange(tx, harness.box, harness.clock.now(), ...events));
  let [open, openMax] = [0, 0];
  const sizes: number[] = [];
  const write = async (text: string): Promise<void> => {
    openMax = Math.max(openMax, ++open);
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
    sizes.push(text.split('\n').length - 1);
    if (sizes.length === 3) throw new Error('the reader is gone');
  };
  await expect(exportAudit(deps(), { format: 'jsonl', after: start, write })).rejects.toThrow('the reader is gone');
  expect([openMax, Math.max(...sizes)]).toEqual([1, 200]);
  expect((await take(start)).events).toBeGreaterThanOrEqual(700);
});

test('an export reports a gap for events that the retention dropped before the cursor reached them', async () => {
  const { cursor } = await take();
  const at = Number(/(?:^|[.~])0-(\d+)/.exec(cursor)?.[1]);
  await harness.createTenant();
  await harness.createTenant();
  const { pool } = harness.database;
  const { rows } = await pool.query(
    "delete from gateway.audit_events where chain = 0 and seq between $1 and $2 returning seq, encode(hash, 'hex') as hash",
    [at + 1, at + 2],
  );
  const anchor = { seq: at + 2, hash: String(rows.find(({ seq }) => Number(seq) === at + 2)?.hash) };
  await pool.query(
    `update gateway.audit_chains set anchor_seq = $1, anchor_hash = decode($2, 'hex'), anchor_mac = $3 where chain = 0`,
    [anchor.seq, anchor.hash, signAnchor(harness.box.derive(headLabel), 0, anchor)],
  );
  expect((await take(cursor)).gaps).toEqual([{ chain: 0, from: at + 1, to: at + 2 }]);
  expect((await take()).gaps).toEqual([]);
  await expect(take('garbage')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
});

test('ended and exported chains leave the cursor, which stays short, and no event is lost or repeated', async () => {
  const { pool } = harness.database;
  const seen: string[] = [];
  let cursor = (await take()).cursor;
  const next = async (): Promise<void> => {
    const exported = await take(cursor);
    expect(exported.gaps).toEqual([]);
    seen.push(...idsOf(exported.lines));
    cursor = exported.cursor;
  };
  const chainsIn = (text: string): number => text.split('.').length;
  await next();
  const before = chainsIn(cursor);
  const started = seen.length;
  let running = await harness.openDoor();
  for (let i = 0; i < 6; i += 1) {
    await sendRequest(running.url, 'GET', read);
    // Half of the chain is exported, then the chain is closed with one more event, then the rest is exported.
    await next();
    await sendRequest(running.url, 'GET', read);
    await running.close();
    running = await harness.openDoor();
    await next();
    expect(chainsIn(cursor)).toBe(before + 1);
  }
  await running.close();
  const { rows } = await pool.query(
    'select chain, seq from gateway.audit_chains where closed order by chain desc limit 7',
  );
  for (const { chain, seq } of rows.slice(1)) {
    for (let at = 1; at <= Number(seq); at += 1) expect(seen.slice(started)).toContain(`${chain}-${at}`);
  }
  expect(new Set(seen).size).toBe(seen.length);
  await next();
  expect(chainsIn(cursor)).toBe(before);
  // A killed gateway never closes its chain.
  await pool.query('update gateway.audit_chains set closed = false where chain = $1', [rows[0].chain]);
  const all = await take();
  expect(chainsIn(all.cursor)).toBe(before + 1);
  harness.clock.move(31 * 86_400_000);
  expect(chainsIn((await take(all.cursor)).cursor)).toBeLessThan(before + 1);
});

test('cursors of an earlier version, with every chain and no end, are still accepted', async () => {
  const { cursor } = await take();
  await harness.createTenant();
  const { rows } = await harness.database.pool.query(
    `select c.chain, coalesce(max(e.seq), 0) as seq from gateway.audit_chains c
     left join gateway.audit_events e on e.chain = c.chain group by c.chain order by c.chain`,
  );
  const listed = new Map(
    cursor
      .split('~')[1]
      ?.split('.')
      .map((pair) => pair.split('-') as [string, string]),
  );
  const old = rows.map(({ chain, seq }) => `${chain}-${listed.get(String(chain)) ?? seq}`).join('.');
  const exported = await take(old);
  const actions = exported.lines.map((text) => (JSON.parse(text) as Record<string, unknown>)['event.action']);
  // Earlier tests changed heads directly, which a gateway records in an event when it notices.
  expect(actions.filter((action) => action !== 'audit.broken')).toEqual(['tenant.created', 'audit.read']);
  for (const wrong of ['', '7', '7~', '0-1~', 'x~0-1', '0-1.'])
    await expect(take(wrong)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
});

test('CSV has one line for each event, quotes cells where necessary, and contains no formula', async () => {
  const { cursor } = await take();
  const event = { action: 'audit.read' as const, actor: '=cmd("x"),1', reason: 'a,"b"' };
  await inTransaction(harness.database.db, (tx) => appendChange(tx, harness.box, harness.clock.now(), event));
  const { pieces } = await take(cursor, 'csv');
  const [names, ...lines] = pieces.join('').split('\r\n');
  expect(names?.split(',').slice(0, 4)).toEqual(['@timestamp', 'event.id', 'event.hash', 'event.action']);
  const line = lines.find((text) => text.includes('cmd'));
  expect(line).toContain(`"'=cmd(""x""),1"`);
  expect(line).toContain('"a,""b"""');
  expect(lines.at(-1)).toBe('');
});

test('A-711 events of a chain whose head was removed, or whose beginning was moved, are exported as not signed', async () => {
  const { pool } = harness.database;
  const running = await harness.openDoor();
  for (let i = 0; i < 3; i += 1) await sendRequest(running.url, 'GET', read);
  await running.close();
  const { rows } = await pool.query(
    'select chain, seq from gateway.audit_chains where closed order by chain desc limit 1',
  );
  const chain = Number(rows[0].chain);
  const ids = Array.from({ length: Number(rows[0].seq) }, (_, index) => `${chain}-${index + 1}`);
  expect(ids.length).toBeGreaterThanOrEqual(3);
  const unsigned = (lines: readonly string[]) =>
    lines
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .filter((event) => String(event['event.id']).startsWith(`${chain}-`))
      .map((event) => [event['event.id'], event['orderpass.signed']]);
  const expected = ids.map((id) => [id, false]);
  await pool.query('update gateway.audit_chains set anchor_seq = seq where chain = $1', [chain]);
  expect(unsigned((await take()).lines)).toEqual(expected);
  await pool.query('delete from gateway.audit_chains where chain = $1', [chain]);
  const first = await take();
  expect([unsigned(first.lines), first.gaps]).toEqual([expected, []]);
  const next = await take(first.cursor);
  expect([unsigned(next.lines), next.gaps]).toEqual([[], []]);
});
