import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashEvent } from '#src/gateway/audit/chain/chain.ts';
import { createFingerprint } from '#src/gateway/audit/event/fingerprint.ts';
import type { EventFilter } from '#src/gateway/audit/search/filter-store.ts';
import {
  exportAudit,
  type FoundEvent,
  findAuditEvent,
  readHashedTrace,
  readTrace,
  searchAudit,
  verifyAudit,
} from '#src/gateway/index.ts';
import { until } from '../../support/until.ts';
import { explainSearches } from '../harness/explain-searches.ts';
import { bearer, type Harness, openHarness, pick, read, tokenOf } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

type Used = { token: string; tokenId: string; ids: string[] };
type Event = Record<string, unknown>;

let harness: Harness;
let folder: string;
let tenant: string;
let clientId: string;
let otherId: string;
/** Tokens of two clients, each with some requests of its own. */
let used: Used[];
let others: Used[];

const file = (): string => join(folder, 'audit.jsonl');

const issue = async (client: { client_id: string; client_secret: string }, count: number): Promise<Used[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const token = await tokenOf(harness.url, client);
      return { token, tokenId: String(decodeJwt(token).jti), ids: [] };
    }),
  );

/** Sends the requests concurrently, so that few writes cover them. `id`: request id that the caller chooses. */
const use = async (
  all: readonly Used[],
  times: (index: number) => number,
  id?: (n: number) => string,
): Promise<void> => {
  let n = 0;
  const calls = all.flatMap((one, index) => Array.from({ length: times(index) }, () => one));
  await Promise.all(
    calls.map(async (one) => {
      n += 1;
      const headers = { ...bearer(one.token), ...(id === undefined ? undefined : { 'x-request-id': id(n) }) };
      const reply = await sendRequest(harness.url, 'GET', read, { headers });
      expect(reply.status).toBe(200);
      one.ids.push(String(reply.headers['x-request-id']));
    }),
  );
};

const written = async (client: string, all: readonly Used[]): Promise<void> => {
  const expected = all.reduce((sum, { ids }) => sum + ids.length, 0);
  await until(async () => {
    const [row] = await query(
      "select coalesce(sum(count), 0)::int as n from gateway.audit_events where action = 'request.allowed' and client_id = $1",
      client,
    );
    return row?.n === expected;
  });
};

const query = async (text: string, ...values: unknown[]): Promise<Event[]> =>
  (await harness.database.pool.query<Event>(text, values)).rows;

const sharedRows = (): Promise<Event[]> =>
  query('select * from gateway.audit_events where uses is not null order by chain, seq');

const deps = () => ({ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'cli:ada' });
const find = async (filter: EventFilter): Promise<FoundEvent[]> => [
  ...(await searchAudit(deps(), { filter, limit: 1_000 })).events,
];
const verify = () => verifyAudit({ db: harness.database.db, box: harness.box });

const idsOf = (events: readonly FoundEvent[]): string[] => events.flatMap(({ requestIds }) => requestIds);
const countOf = (events: readonly FoundEvent[]): number => events.reduce((sum, { count }) => sum + count, 0);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-uses-'));
  harness = await openHarness({ settings: { audit_file: file() } });
  tenant = await harness.createTenant();
  const client = pick(await harness.createClient([tenant], ['read:orders', 'read:menu']));
  const other = pick(await harness.createClient([tenant], ['read:orders', 'read:menu']));
  [clientId, otherId] = [client.client_id, other.client_id];
  used = await issue(client, 40);
  others = await issue(other, 20);
  const both = [...used, ...others];
  await use(both, () => 1);
  await use(both, (index) => 1 + (index % 3));
  // A change in between makes the gateway read all credentials again.
  await Promise.all([use(both, () => 2), harness.createTenant().then(() => use(both, () => 2))]);
  // Ids that callers choose do not contain a time.
  await use(
    both,
    () => 1,
    (n) => `till-${n}.request`,
  );
  await written(clientId, used);
  await written(otherId, others);
});

afterAll(async () => {
  await harness.close();
  rmSync(folder, { recursive: true, force: true });
});

test('requests of many tokens share few events, and no event holds tokens of two clients', async () => {
  const rows = await sharedRows();
  expect(rows.length).toBeGreaterThan(3);
  const idOf = new Map([
    ...used.map(({ tokenId }) => [tokenId, clientId] as const),
    ...others.map(({ tokenId }) => [tokenId, otherId] as const),
  ]);
  for (const row of rows) {
    const tokens = String(row.uses)
      .slice(1)
      .split(';')
      .map((text) => text.split(' ')[1] ?? '');
    expect(new Set(tokens).size).toBe(tokens.length);
    for (const token of tokens) expect(idOf.get(token)).toBe(row.client_id);
  }
  // How many tokens one write covers depends on the speed of the machine. Without shared events there were one for each request.
  const [all] = await query("select count(*)::int as n from gateway.audit_events where action = 'request.allowed'");
  const requests = [...used, ...others].reduce((sum, { ids }) => sum + ids.length, 0);
  expect(Number(all?.n)).toBeLessThan(requests);
});

test('a search by id, by fingerprint, by both, and by request id finds exactly the requests of a token', async () => {
  for (const [index, { token, tokenId, ids }] of [...used, ...others].entries()) {
    const fingerprint = createFingerprint(harness.box)(token);
    for (const filter of [
      { tokenId },
      { fingerprint },
      { fingerprint: [fingerprint, 'f'.repeat(32)] },
      { tokenId, fingerprint },
    ]) {
      const found = await find({ ...filter, outcome: 'success', action: 'request.allowed' });
      expect(idsOf(found).toSorted(), JSON.stringify(filter)).toEqual(ids.toSorted());
      expect(countOf(found)).toBe(ids.length);
      expect(new Set(found.map((event) => event.tokenId))).toEqual(new Set([tokenId]));
      expect(new Set(found.map((event) => event.fingerprint))).toEqual(new Set([fingerprint]));
    }
    if (index % 10 !== 0) continue;
    for (const requestId of ids) {
      const [event, ...more] = await find({ requestId });
      expect(more).toEqual([]);
      expect(event).toMatchObject({ tokenId, clientId: index < used.length ? clientId : otherId });
      expect(await findAuditEvent(deps(), event?.id ?? '')).toEqual(event);
    }
  }
  const [{ token = '', tokenId = '' } = {}, second] = used;
  const mixed = { tokenId, fingerprint: createFingerprint(harness.box)(second?.token ?? '') };
  expect(await find(mixed)).toEqual([]);
  for (const fingerprint of ['nonsense', token.slice(-32), 'a'.repeat(32)])
    expect(await find({ fingerprint })).toEqual([]);
  expect(await find({ tokenId: 'x'.repeat(21) })).toEqual([]);
});

test('a trace by value and by hash shows calls, scopes, addresses and times of each token', async () => {
  for (const { token, tokenId, ids } of [used[0], used[17], others[3]] as Used[]) {
    const expected = {
      kind: 'token',
      id: tokenId,
      genuine: true,
      calls: ids.length,
      partial: false,
      scopesUsed: ['read:orders'],
      addresses: ['127.0.0.1'],
    };
    const traced = await readTrace(deps(), token);
    expect(traced).toMatchObject(expected);
    const times = (await find({ tokenId, action: 'request.allowed' })).map(({ at }) => at);
    expect([traced.firstUsed, traced.lastUsed]).toEqual([times.at(-1), times[0]]);
    // Remove the other evidence that the value was issued here.
    const issued = "action = 'token.issued' and token_id = $1";
    const [before] = await query(`select details from gateway.audit_events where ${issued}`, tokenId);
    await query(`update gateway.audit_events set details = '{}' where ${issued}`, tokenId);
    const sha256 = createHash('sha256').update(token).digest('hex');
    expect(await readHashedTrace(deps(), { kind: 'token', id: tokenId, sha256 })).toMatchObject({
      ...expected,
      exists: true,
    });
    const wrong = createHash('sha256').update('x').digest('hex');
    expect(await readHashedTrace(deps(), { kind: 'token', id: tokenId, sha256: wrong })).toMatchObject({
      genuine: false,
    });
    await query(`update gateway.audit_events set details = $2 where ${issued}`, tokenId, before?.details);
  }
});

test('pages of every size contain each use once, in the same sequence', async () => {
  const filter = { client: clientId, action: 'request.allowed' };
  const whole = (await find(filter)).map(({ id }) => id);
  expect(new Set(whole).size).toBe(whole.length);
  expect(idsOf(await find(filter)).toSorted()).toEqual(used.flatMap(({ ids }) => ids).toSorted());
  for (const limit of [1, 7, 40]) {
    const seen: unknown[] = [];
    for (let before: string | undefined; ; ) {
      const page = await searchAudit(deps(), { filter, limit, before });
      expect(page.events.length).toBeLessThanOrEqual(limit);
      seen.push(...page.events.map(({ id }) => id));
      if (page.next === undefined) break;
      before = page.next;
    }
    expect(seen).toEqual(whole);
  }
});

test('exports and sinks have one line for each token, in the same form as for other events', async () => {
  const take = async (format: 'jsonl' | 'csv') => {
    const pieces: string[] = [];
    const exported = await exportAudit(deps(), { format, write: async (piece) => void pieces.push(piece) });
    return { ...exported, lines: pieces.join('').split(/\r?\n/).slice(0, -1) };
  };
  const { lines, events } = await take('jsonl');
  expect(events).toBe(lines.length);
  const parsed = lines.map((line) => JSON.parse(line) as Event);
  expect(new Set(parsed.map((event) => event['event.id'])).size).toBe(lines.length);
  const names = Object.keys(parsed[0] ?? {});
  for (const { token, tokenId, ids } of [...used, ...others]) {
    const own = parsed.filter(
      (event) => event['orderpass.token.id'] === tokenId && event['event.action'] === 'request.allowed',
    );
    expect(own.flatMap((event) => event['http.request.id']).toSorted()).toEqual(ids.toSorted());
    expect(own.reduce((sum, event) => sum + Number(event['orderpass.count']), 0)).toBe(ids.length);
    for (const event of own) {
      expect(Object.keys(event)).toEqual(names);
      expect(event['orderpass.credential.fingerprint']).toBe(createFingerprint(harness.box)(token));
    }
  }
  const csv = await take('csv');
  const [first] = used;
  // An id that begins with "-" has a quote before it, as every cell that a spreadsheet would run as a formula.
  const quote = first?.tokenId.startsWith('-') ? "'" : '';
  const cell = `,${quote}${first?.tokenId},`;
  const cells = csv.lines.filter((line) => line.includes(cell) && line.includes('request.allowed'));
  expect(
    cells
      .join('\n')
      .match(/req_[0-9a-z]+|till-\d+\.request/g)
      ?.toSorted(),
  ).toEqual(first?.ids.toSorted());
  const sent = (): Event[] =>
    readFileSync(file(), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Event);
  const wanted = parsed
    .filter((event) => event['event.action'] === 'request.allowed')
    .map((event) => event['event.id']);
  await until(() => {
    const ids = new Set(sent().map((event) => event['event.id']));
    return wanted.every((id) => ids.has(id));
  });
});

test('verification names an event whose uses or index keys were changed', async () => {
  expect((await verify()).firstProblem).toBeNull();
  const row = (await sharedRows()).at(-1);
  const place = [row?.chain, row?.seq];
  const problem = { chain: row?.chain, seq: Number(row?.seq), problem: 'the event, or its place, was changed' };
  const damages = [
    ["uses = replace(uses, ' 1', ' 2')"],
    ["uses = ';' || split_part(uses, ';', 2)"],
    ['uses = null, use_keys = null'],
    ['use_keys = use_keys[2:]'],
    ['use_keys = null'],
    ['use_keys = array_replace(use_keys, use_keys[1], 7)'],
    ['request_ids = request_ids[2:] || request_ids[1]'],
  ];
  for (const [damage] of damages) {
    await query(`update gateway.audit_events set ${damage} where chain = $1 and seq = $2`, ...place);
    expect((await verify()).firstProblem, damage).toEqual(problem);
    await query(
      'update gateway.audit_events set uses = $3, use_keys = $4, request_ids = $5 where chain = $1 and seq = $2',
      ...place,
      ...[row?.uses, row?.use_keys, row?.request_ids],
    );
    expect((await verify()).firstProblem).toBeNull();
  }
});

test('events of versions without shared events keep their hash', () => {
  const event = {
    ...{
      at: new Date(1_700_000_000_000),
      action: 'request.allowed' as const,
      outcome: 'success' as const,
      reason: null,
    },
    ...{ count: 2, request_ids: ['a', 'b'], fingerprint: 'f', kind: 'bearer', credential_id: null, token_id: 't' },
    ...{
      client_id: 'c',
      tenants: ['r'],
      route_id: 'o',
      scopes: ['s'],
      address: '127.0.0.1',
      actor: null,
      details: '{}',
    },
  };
  const before =
    '["0",1,2,"2023-11-14T22:13:20.000Z","request.allowed","success",null,2,["a","b"],"f","bearer",null,"t","c",["r"],"o",["s"],"127.0.0.1",null,"{}"]';
  const plain = hashEvent('0', 1, 2, { ...event, uses: null, use_keys: null });
  expect(plain).toBe(createHash('sha256').update(before).digest('hex'));
  expect(hashEvent('0', 1, 2, { ...event, uses: '', use_keys: null })).not.toBe(plain);
});

test('a search for one token among millions of uses reads an index', async () => {
  const { pool } = harness.database;
  await pool.query(`
    insert into gateway.audit_events
      (chain, seq, at, action, outcome, count, request_ids, tenants, scopes, details, hash, client_id, uses, use_keys)
    select 9, i, now() - make_interval(secs => i % 3600), 'request.allowed', 'success', 100, '{}', '{}', '{}', '{}', '\\x00',
      'client_' || i % 20, repeat(';' || md5(i::text) || ' token 1', 100), array(select (random() * 1e14)::bigint from generate_series(1, 100) where i > 0)
    from generate_series(1, 3000) i`);
  await pool.query('vacuum analyze gateway.audit_events');
  const { db, plans } = explainSearches(pool);
  const [{ token = '', tokenId = '' } = {}] = used;
  await searchAudit({ ...deps(), db }, { filter: { tokenId }, limit: 50 });
  await searchAudit({ ...deps(), db }, { filter: { fingerprint: createFingerprint(harness.box)(token) }, limit: 50 });
  await readTrace({ ...deps(), db }, token);
  const ofUses = plans.filter((plan) => plan.includes('use_keys'));
  expect(ofUses).toHaveLength(3);
  for (const plan of ofUses) expect(plan).toMatch(/Bitmap Index Scan on audit_events_\d+_use_keys_idx/);
  await pool.query('delete from gateway.audit_events where chain = 9');
});

test('a page of an export is bounded when its events hold many tokens, and no token is missing', async () => {
  const { rows: chains } = await harness.database.pool.query('select max(chain) + 1 as next from gateway.audit_chains');
  const chain = Number(chains[0].next);
  await query(
    `insert into gateway.audit_chains
     select $1, process, opened, 250, hash, signed, false, seen, mac, 0, anchor_hash, anchor_mac
     from gateway.audit_chains where chain = 0`,
    chain,
  );
  await query(
    `insert into gateway.audit_events
       (chain, seq, at, action, outcome, count, request_ids, tenants, scopes, details, hash, uses)
     select $1, i, now(), 'request.allowed', 'success', 100, array(select 'r' || n from generate_series(1, 100) n), '{}', '{}',
       '{}', '\\x00', (select string_agg(';' || md5(n::text) || ' t' || n || ' 1', '') from generate_series(1, 100) n)
     from generate_series(1, 250) i`,
    chain,
  );
  const sizes: number[] = [];
  const ids: string[] = [];
  const write = async (text: string): Promise<void> => {
    const lines = text.split('\n').slice(0, -1);
    sizes.push(lines.length);
    ids.push(...lines.map((line) => String((JSON.parse(line) as Event)['event.id'])));
  };
  await exportAudit(deps(), { format: 'jsonl', write });
  expect(Math.max(...sizes)).toBeLessThan(5_000);
  const own = ids.filter((id) => id.startsWith(`${chain}-`));
  expect(own).toEqual(Array.from({ length: 25_000 }, (_, i) => `${chain}-${Math.floor(i / 100) + 1}-${i % 100}`));
  await query('delete from gateway.audit_events where chain = $1', chain);
  await query('delete from gateway.audit_chains where chain = $1', chain);
});
