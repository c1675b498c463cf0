import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensurePartition, insertEvents } from '#src/gateway/audit/chain/event-store.ts';
import { type AuditEvent, completeEvent } from '#src/gateway/audit/event/event.ts';
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { reportClientUse, reportUnusedScopes, searchAudit, shrinkClientScopes } from '#src/gateway/index.ts';
import { until } from '../../support/until.ts';
import { clientHeaders, type Harness, openHarness, read, scopes } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

const deps = () => ({
  ...{ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'panel:usr_ada' },
  table: readRouteTable(routesFileOf({})),
});

test('the report on the use of a client lists its calls and refusals, reads a bounded number of events, and is recorded in the audit', async () => {
  const tenant = await harness.createTenant();
  const client = await harness.createClient([tenant], ['read:orders', 'read:menu', 'write:orders']);
  const other = await harness.createClient([tenant]);
  const asked = { clientId: client.client_id, scopes: ['read:orders', 'read:menu', 'write:orders'] };
  const call = async (path: string): Promise<void> => {
    await sendRequest(harness.url, 'GET', path, { headers: clientHeaders(client) });
    harness.clock.move(1_000);
  };
  await call('/api/menu/categories');
  await call('/api/menu/categories');
  await call('/api/customerstats/customers');
  await call(read);
  const use = async (entriesMax?: number) =>
    (
      await reportClientUse(deps(), [asked], { days: 1, ...(entriesMax === undefined ? undefined : { entriesMax }) })
    )[0];
  await until(async () => (await use())?.routes.length === 2);
  const found = await use();
  expect(found).toMatchObject({
    calls: 3,
    routes: [
      { routeId: 'orders.list', method: 'GET', path: '/api/orders/list', calls: 1 },
      { routeId: 'menu.categories', calls: 2 },
    ],
    refusals: [{ routeId: 'customerstats.customers', calls: 1 }],
    unused: ['write:orders'],
    proposed: ['read:orders', 'read:menu'],
  });
  expect(found?.scopes.map(({ name, calls }) => [name, calls])).toEqual([
    ['read:orders', 1],
    ['read:menu', 2],
    ['write:orders', 0],
  ]);
  // With a bound of one event, the report covers only the time since that event.
  const newest = await use(1);
  expect(newest).toMatchObject({ calls: 1, routes: [{ routeId: 'orders.list' }], since: newest?.routes[0]?.last });
  const [idle] = await reportClientUse(deps(), [{ clientId: other.client_id, scopes: null }], { days: 1 });
  expect(idle).toMatchObject({ calls: 0, routes: [], proposed: [] });
  expect(idle?.unused).toEqual(scopes);
  const reads = await searchAudit(deps(), { filter: { action: 'audit.read' }, limit: 50 });
  expect(JSON.stringify(reads.events)).toContain(`client-use`);
  expect(JSON.stringify(reads.events)).toContain('panel:usr_ada');
});

test('A-579 the reports on use name the time that was read: of a young client, of a young audit, and of too many calls', async () => {
  const client = await harness.createClient([await harness.createTenant()], ['read:orders', 'read:menu']);
  const idle = await harness.createClient([await harness.createTenant()], ['read:orders', 'read:menu']);
  for (let n = 0; n < 2; n += 1) {
    await sendRequest(harness.url, 'GET', read, { headers: clientHeaders(client) });
    harness.clock.move(1_000);
  }
  const { rows } = await harness.database.pool.query(
    `select (select created from gateway.clients where client_id = $1) as created,
       (select min(at) from gateway.audit_events) as oldest`,
    [client.client_id],
  );
  const [{ created, oldest }] = rows;
  const asked = { clientId: client.client_id, scopes: ['read:orders', 'read:menu'] };
  const useOf = async (more: { created?: Date } = {}, entriesMax = 50_000) =>
    (await reportClientUse(deps(), [{ ...asked, ...more }], { days: 30, entriesMax }))[0];
  await until(async () => (await useOf())?.calls === 2);
  expect(await useOf()).toMatchObject({ since: oldest, partial: false });
  expect(await useOf({ created })).toMatchObject({ since: created, partial: false });
  const newest = await useOf({ created }, 1);
  expect(newest).toMatchObject({ since: newest?.routes[0]?.last, partial: true });
  const unused = async (days: number) => reportUnusedScopes(deps(), { days });
  const found = await unused(30);
  expect(found.find(({ clientId }) => clientId === client.client_id)).toMatchObject({ since: created, calls: 2 });
  // A client that used nothing is proposed for quarantine, once it is as old as the days.
  const isFound = async (days: number): Promise<boolean> =>
    (await unused(days)).some(({ clientId }) => clientId === idle.client_id);
  expect(await isFound(1)).toBe(false);
  await harness.database.pool.query(
    `update gateway.clients set created = created - interval '2 days' where client_id = $1`,
    [idle.client_id],
  );
  expect([await isFound(1), await isFound(30)]).toEqual([true, false]);
});

test('A-745 more kinds of calls than are read leave no scope in use out, or the report names the time that was read', async () => {
  const client = await harness.createClient([await harness.createTenant()], ['read:orders', 'read:menu']);
  const asked = { clientId: client.client_id, scopes: ['read:orders', 'read:menu'] };
  const { db } = harness.database;
  const start = harness.clock.now().getTime() - 3_600_000;
  // An hour ago may be another month.
  await ensurePartition(db, new Date(start));
  let seq = 0;
  const insert = (count: number, eventOf: (n: number) => Partial<AuditEvent> & Pick<AuditEvent, 'action'>) =>
    insertEvents(
      db,
      Array.from({ length: count }, (_, n) => {
        seq += 1;
        const event = { client_id: client.client_id, route_id: 'orders.list', scopes: ['read:orders'], ...eventOf(n) };
        return { ...completeEvent(event, new Date(start + seq * 1_000)), chain: 9_000, seq, hash: '00'.repeat(32) };
      }),
    );
  const use = async () => (await reportClientUse(deps(), [asked], { days: 30 }))[0];
  await insert(1, () => ({ action: 'request.allowed', scopes: ['read:menu'] }));
  await insert(600, (n) => ({ action: 'request.denied', outcome: 'failure', reason: `reason_${n}` }));
  await insert(600, (n) => ({ action: 'request.allowed', reason: `code_${n}` }));
  expect(await use()).toMatchObject({ calls: 601, unused: [], proposed: asked.scopes, partial: false });
  // Each route is a kind of its own.
  await insert(600, (n) => ({ action: 'request.allowed', route_id: `route_${n}` }));
  const cut = await use();
  expect(cut).toMatchObject({ calls: 500, unused: ['read:menu'], partial: true });
  expect(cut?.since).toEqual(cut?.routes.at(-1)?.last);
});

test('shrinking the scopes of a client removes the named scopes and no others, and leaves a client with all scopes the rest', async () => {
  const tenant = await harness.createTenant();
  const some = await harness.createClient([tenant], ['read:menu', 'read:orders']);
  const all = await harness.createClient([tenant]);
  const shrink = (client: { client_id: string }, unused: string[]) =>
    shrinkClientScopes({ ...deps(), scopes }, client.client_id, unused);
  expect(await shrink(some, ['read:menu', 'write:orders'])).toEqual(['read:orders']);
  expect(await shrink(some, ['read:orders'])).toEqual([]);
  expect(await shrink(all, [])).toEqual(scopes);
  expect((await harness.credentials.showClient(all.client_id)).scopes).toBeNull();
  const rest = scopes.filter((scope) => scope !== 'write:menu');
  expect(await shrink(all, ['write:menu'])).toEqual(rest);
  expect((await harness.credentials.showClient(all.client_id)).scopes).toEqual(rest);
  await expect(shrink({ client_id: 'opc_none' }, ['read:orders'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
