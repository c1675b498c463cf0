import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensurePartition } from '#src/gateway/audit/chain/event-store.ts';
import type { NewAuditEvent } from '#src/gateway/audit/event/event.ts';
import { createEarlierFingerprint, createFingerprint } from '#src/gateway/audit/event/fingerprint.ts';
import { appendChange } from '#src/gateway/audit/record/append-change.ts';
import type { EventFilter } from '#src/gateway/audit/search/filter-store.ts';
import { loadScopeNames, readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { chartAudit, exportFound, readTrace, reportUnusedScopes, searchAudit } from '#src/gateway/index.ts';
import { newApiKey } from '#src/gateway/model/credential-values.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { until } from '../../support/until.ts';
import { explainSearches } from '../harness/explain-searches.ts';
import { bearer, type Harness, openHarness, pick, read, tokenOf } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
let client: { client_id: string; client_secret: string };
let token: string;
let requestId: string;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  client = pick(await harness.createClient([tenant], ['read:orders', 'read:menu']));
  token = await tokenOf(harness.url, client);
  await sendRequest(harness.url, 'GET', read, { headers: bearer(token) });
  const denied = await sendRequest(harness.url, 'GET', '/api/account/subrestaurants', { headers: bearer(token) });
  requestId = String(denied.headers['x-request-id']);
  await until(async () => (await find({ action: 'request.allowed' })).length > 0);
});

afterAll(() => harness.close());

const deps = () => ({ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'cli:ada' });
const page = (filter: EventFilter, limit = 100, before?: string) => searchAudit(deps(), { filter, limit, before });
const find = async (filter: EventFilter): Promise<string[]> => (await page(filter)).events.map(({ action }) => action);

test('a search finds events by fingerprint, client, tenant, decision, action, request, token and time', async () => {
  const fingerprint = createFingerprint(harness.box)(token);
  expect(await find({ fingerprint })).toEqual(expect.arrayContaining(['request.denied', 'request.allowed']));
  expect(await find({ client: client.client_id, action: 'client.created' })).toEqual(['client.created']);
  expect(await find({ tenant, action: 'tenant.created' })).toEqual(['tenant.created']);
  expect(await find({ fingerprint, outcome: 'failure' })).toEqual(['request.denied']);
  expect(await find({ requestId })).toEqual(['request.denied']);
  expect(await find({ tokenId: String(decodeJwt(token).jti), action: 'token.issued' })).toEqual(['token.issued']);
  expect(await find({ fingerprint, until: new Date(Date.now() - 3_600_000) })).toEqual([]);
  expect((await find({ fingerprint, since: new Date(Date.now() - 3_600_000) })).length).toBeGreaterThan(1);
  const [event] = (await page({ requestId })).events;
  expect(event).toMatchObject({
    action: 'request.denied',
    outcome: 'failure',
    requestIds: [requestId],
    clientId: client.client_id,
  });
});

test('a search by actor finds each change by a user and each change of the account once, also when clocks of processes differ', async () => {
  const { db } = harness.database;
  const now = harness.clock.now().getTime();
  const append = (ms: number, event: Omit<NewAuditEvent, 'action'>) =>
    inTransaction(db, (tx) =>
      appendChange(tx, harness.box, new Date(now + ms), { action: 'user.changed', details: '{}', ...event }),
    );
  // The second process has a clock that is 5 s behind.
  for (const [i, ms] of [0, 10, -5_000, -4_990, 20, -4_980, 30].entries())
    await append(ms, { actor: 'panel:usr_anna', details: JSON.stringify({ i }) });
  await append(40, { actor: 'cli:root', details: JSON.stringify({ user_id: 'usr_anna', i: 7 }) });
  await append(50, { actor: 'panel:usr_ann', details: JSON.stringify({ user_id: 'usr_ann' }) });
  const found: unknown[] = [];
  for (let before: string | undefined; ; ) {
    const { events, next } = await page({ actor: 'panel:usr_anna' }, 2, before);
    found.push(...events.map(({ details }) => (details as { i: number }).i));
    if (next === undefined) break;
    before = next;
  }
  expect(found).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
  expect(await find({ actor: 'panel:usr_anna', since: new Date(now + 35) })).toEqual(['user.changed']);
});

test('a search finds allowed and refused requests by their ids, for ids of the gateway and ids of callers', async () => {
  const other = await tokenOf(harness.url, pick(await harness.createClient([tenant], ['read:orders'])));
  const hourAgo = newId('req', Date.now() - 3_600_000);
  for (const id of ['pos-7.order-4711', hourAgo, newId('req')]) {
    const headers = { ...bearer(other), 'x-request-id': id };
    expect((await sendRequest(harness.url, 'GET', read, { headers })).headers['x-request-id']).toBe(id);
    await sendRequest(harness.url, 'GET', '/api/account/subrestaurants', { headers });
    await until(async () => (await find({ requestId: id })).length === 2);
    expect((await find({ requestId: id })).toSorted()).toEqual(['request.allowed', 'request.denied']);
  }
  expect(await find({ requestId: newId('req') })).toEqual([]);
});

test('a trace by value also finds the events with a fingerprint of earlier versions', async () => {
  const other = pick(await harness.createClient([tenant], ['read:orders']));
  const { client_id, client_secret } = other;
  await sendRequest(harness.url, 'GET', read, {
    headers: { 'x-client-id': client_id, 'x-client-secret': client_secret },
  });
  await until(async () => (await find({ client: client_id, action: 'request.allowed' })).length > 0);
  const earlier = createEarlierFingerprint(harness.box)(client_secret);
  const { rowCount } = await harness.database.pool.query(
    'update gateway.audit_events set fingerprint = $1 where fingerprint = $2',
    [earlier, createFingerprint(harness.box)(client_secret)],
  );
  expect(rowCount).toBe(1);
  await harness.database.pool.query('update gateway.client_secrets set fingerprint = null where client_id = $1', [
    client_id,
  ]);
  const denied = { 'x-client-id': client_id, 'x-client-secret': client_secret };
  await sendRequest(harness.url, 'GET', '/api/account/subrestaurants', { headers: denied });
  const traced = await readTrace(deps(), client_secret);
  expect(traced).toMatchObject({ genuine: true, clientId: client_id, calls: 1, partial: false });
  expect(await find({ fingerprint: [earlier] })).toEqual(['request.allowed']);
  expect(traced.refusals).toMatchObject([{ action: 'request.denied' }]);
});

test('pages by cursor contain each event once, newest first, while new events are written', async () => {
  const whole = (await page({ client: client.client_id })).events;
  const seen: unknown[] = [];
  let before: string | undefined;
  for (;;) {
    const { events, next } = await page({ client: client.client_id }, 1, before);
    seen.push(...events.map(({ id }) => id));
    if (next === undefined) break;
    before = next;
  }
  expect(seen).toEqual(whole.map(({ id }) => id));
  const times = whole.map(({ at }) => at.toISOString());
  expect(times).toEqual(times.toSorted().reverse());
  await expect(page({}, 1, 'garbage')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
});

test('A-744 a search is recorded with actor and filter before its answer; a credential in the filter or in a chart is refused and stored nowhere', async () => {
  await page({ requestId });
  const [, newest] = (await page({ action: 'audit.read' }, 2)).events;
  expect(newest).toMatchObject({
    actor: 'cli:ada',
    details: { read: 'search', filter: { requestId } },
  });
  const within = [`Bearer ${token}`, `X-Api-Key: ${newApiKey().value}`, `"${client.client_secret}"`];
  for (const value of [token, client.client_secret, ...within]) {
    await expect(page({ tokenId: value })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    for (const dimension of ['client', 'reason'] as const)
      await expect(chartAudit(deps(), { days: 1, dimension, value })).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      });
  }
  // Names of routes.
  for (const value of ['surveyJournal.entries.list', 'key_eyJ.entries.list']) await page({ route: value });
  const { rows } = await harness.database.pool.query('select 1 from gateway.audit_events where details like any ($1)', [
    [`%${token}%`, `%${client.client_secret}%`],
  ]);
  expect(rows).toEqual([]);
});

test('the report of unused scopes compares granted with required scopes and proposes the grant that would have been enough', async () => {
  const file = routesFileOf({});
  const table = readRouteTable(file);
  const idle = await harness.createClient([tenant]);
  await harness.database.pool.query(
    `update gateway.clients set created = created - interval '31 days' where client_id = $1`,
    [idle.client_id],
  );
  const exact = await harness.createClient([tenant], ['read:orders']);
  await sendRequest(harness.url, 'GET', read, { headers: bearer(await tokenOf(harness.url, exact)) });
  await until(async () => (await find({ client: exact.client_id, action: 'request.allowed' })).length > 0);
  const found = await reportUnusedScopes({ ...deps(), table }, { days: 30 });
  expect(found.find(({ clientId }) => clientId === client.client_id)).toMatchObject({
    calls: 1,
    granted: ['read:orders', 'read:menu'],
    used: { 'read:orders': 1 },
    unused: ['read:menu'],
    proposed: ['read:orders'],
  });
  expect(found.find(({ clientId }) => clientId === idle.client_id)).toMatchObject({
    calls: 0,
    granted: loadScopeNames(file),
    proposed: [],
  });
  expect(found.some(({ clientId }) => clientId === exact.client_id)).toBe(false);
});

test('no search reads a whole table: every filter is answered by an index', async () => {
  const { pool } = harness.database;
  // An hour ago may be another month.
  await ensurePartition(harness.database.db, new Date(Date.now() - 3_600_000));
  await pool.query(`
    insert into gateway.audit_events
    select 9, i, now() - make_interval(secs => i % 3600), case when i % 50 = 0 then 'request.denied' else 'request.allowed' end,
      case when i % 50 = 0 then 'failure' else 'success' end, null, 1, array['req_' || i], md5((i % 500)::text), 'bearer',
      'ops_' || i % 300, 'jti_' || i % 2000, 'client_' || i % 200, array['tenant_' || i % 400], 'route_' || i % 40,
      '{read:orders}', '10.0.0.' || i % 200, null, '{}', '\\x00'
    from generate_series(1, 60000) i`);
  await pool.query('analyze gateway.audit_events');
  const filters: EventFilter[] = [
    {},
    { fingerprint: 'c4ca4238a0b923820dcc509a6f75849b' },
    { client: 'client_7' },
    { credential: 'ops_7' },
    { tenant: 'tenant_7' },
    { outcome: 'failure' },
    { outcome: 'success' },
    { action: 'secret.retired' },
    { action: 'request.denied' },
    { action: 'request.allowed' },
    { requestId: 'req_77' },
    { requestId },
    { tokenId: 'jti_7' },
    { fingerprint: ['c4ca4238a0b923820dcc509a6f75849b', 'none'] },
    { fingerprint: ['c4ca4238a0b923820dcc509a6f75849b', 'none'], outcome: 'failure' },
    { credential: 'ops_7', action: 'token.issued' },
    { route: 'route_7' },
    { address: '10.0.0.7' },
    { address: '10.0.0.7', outcome: 'failure' },
    { address: '2001:db8:1:2::5' },
    { since: new Date(Date.now() - 60_000) },
    { until: new Date(Date.now() - 60_000) },
    { client: 'client_7', outcome: 'failure', since: new Date(Date.now() - 600_000) },
  ];
  const { db, plans } = explainSearches(pool);
  for (const filter of filters) {
    plans.length = 0;
    await searchAudit({ ...deps(), db }, { filter, limit: 50 });
    // These statements belong to recording the search in the chain of changes, not to the search.
    expect(plans.length, JSON.stringify(filter)).toBeGreaterThanOrEqual(1);
    // The partition of the next month is empty, so a sequential scan of it is acceptable.
    const scans = plans.join().match(/Seq Scan on audit_events_\d+/g) ?? [];
    for (const scan of scans) {
      const { rows } = await pool.query(`select 1 from gateway.${scan.slice('Seq Scan on '.length)} limit 1`);
      expect(rows, `${JSON.stringify(filter)}\n${plans.join()}`).toEqual([]);
    }
  }
});

test('A-813 a download of events that are rare pauses after each thousand that it looked at, so that its reader can end it', async () => {
  const { pool } = harness.database;
  // Each value has many events, and no event has both.
  await pool.query(`
    insert into gateway.audit_events
    select 8, i, date_trunc('milliseconds', now()), 'request.allowed', 'success', null, 1, array['req_8_' || i], md5('8'), 'bearer', 'ops_8', 'jti_8', 'client_8',
      '{}', 'rare_' || i % 2, '{}', '10.8.0.' || i % 2, null, '{}', '\\x00'
    from generate_series(1, 6000) i`);
  const found = await exportFound(deps(), { filter: { route: 'rare_0', address: '10.8.0.1' }, format: 'jsonl' });
  const parts = found[Symbol.asyncIterator]();
  expect(await parts.next()).toEqual({ done: false, value: '' });
  await parts.return?.();
  let text = '';
  const all = await exportFound(deps(), { filter: { route: 'rare_0', address: '10.8.0.0' }, format: 'jsonl' });
  for await (const part of all) text += part;
  expect(text.split('\n')).toHaveLength(3001);
});
