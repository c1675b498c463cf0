/** Which source addresses the audit has, and how events are found by one. */
import { isIP } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toEcs } from '#src/gateway/audit/event/found-event.ts';
import { appendChange } from '#src/gateway/audit/record/append-change.ts';
import { createFloodGrouping } from '#src/gateway/audit/record/group-floods.ts';
import { chartAudit } from '#src/gateway/audit/search/chart-audit.ts';
import { type EventFilter, networkText } from '#src/gateway/audit/search/filter-store.ts';
import { countAudit } from '#src/gateway/audit/search/hours.ts';
import { readTrace, searchAudit } from '#src/gateway/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { until } from '../../support/until.ts';
import { bearer, type Harness, openHarness, pick, postToken, read } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness({ settings: { trusted_proxy_hops: 1, rate_failures_max: 10 } });
});

afterAll(() => harness.close());

const deps = () => ({ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'cli:ada' });
const find = async (filter: EventFilter) => (await searchAudit(deps(), { filter, limit: 100 })).events;
const from = (address: string) => ({ 'x-forwarded-for': address });
const grant = { grant_type: 'client_credentials' };

test('A-758 requests, tokens and refusals from an IPv6 address have the whole address, and those before are found by it too', async () => {
  const client = await harness.createClient([await harness.createTenant()], ['read:orders']);
  const [one, other] = ['2001:db8:1:2::5', '2001:db8:1:2::6'];
  for (const address of [one, other]) {
    const headers = from(address);
    const token = await postToken(harness.url, { ...grant, ...pick(client) }, headers);
    const asToken = { ...bearer(String(token.json.access_token)), ...headers };
    expect((await sendRequest(harness.url, 'GET', read, { headers: asToken })).status).toBe(200);
    const denied = await sendRequest(harness.url, 'GET', '/api/account/subrestaurants', { headers: asToken });
    expect(denied.status).toBe(403);
    const wrong = { ...grant, ...pick(client), client_secret: 'wrong' };
    expect((await postToken(harness.url, wrong, headers)).status).toBe(401);
  }
  const earlier = '2001:db8:1:2::/64';
  await inTransaction(harness.database.db, (tx) =>
    appendChange(tx, harness.box, harness.clock.now(), { action: 'user.signed_in', address: earlier }),
  );
  await until(async () => (await find({ address: other, action: 'request.allowed' })).length > 0);
  for (const asked of [one, other, '2001:0DB8:1:2:0::6']) {
    const found = await find({ address: asked });
    expect(found.map(({ action }) => action).toSorted()).toEqual([
      'request.allowed',
      'request.denied',
      'token.issued',
      'token.refused',
      'user.signed_in',
    ]);
    const whole = asked === one ? one : other;
    expect(new Set(found.map(({ address }) => address))).toEqual(new Set([whole, earlier]));
    for (const exported of found.map(toEcs)) {
      const ip = exported['source.ip'];
      if (exported['event.action'] === 'user.signed_in')
        expect([ip, exported['orderpass.source.network']]).toEqual([null, earlier]);
      else expect([isIP(String(ip)), exported['orderpass.source.network']]).toEqual([6, null]);
    }
  }
});

test('A-758 a search by a network finds the events of its addresses, and the counts by hour have the network', async () => {
  const { db } = harness.database;
  const sent = ['2001:db8::9', '2001:db8:0:0:1:0:0:1', '2001:db8:0:1::9', 'no:address', '192.0.2.7'];
  await inTransaction(db, async (tx) => {
    for (const address of sent)
      await appendChange(tx, harness.box, harness.clock.now(), { action: 'user.signed_in', address });
  });
  const network = '2001:db8:0:0::/64';
  for (const asked of [network, ' 2001:db8::/64 ', '2001:DB8:0:0:7::/64']) {
    const found = await find({ address: asked });
    expect([asked, found.map(({ address }) => address).toSorted()]).toEqual([asked, sent.slice(0, 2).toSorted()]);
  }
  const { rows } = await sql<{ address: string }>`
    select ${networkText(sql`address`)} as address from unnest(${sent}::text[]) with ordinality as each (address, nth)
    order by nth`.execute(db);
  expect(rows.map(({ address }) => address)).toEqual([
    network,
    network,
    '2001:db8:0:1::/64',
    'no:address',
    '192.0.2.7',
  ]);
  while (await countAudit(deps()));
  const { values } = await chartAudit(deps(), { days: 7, dimension: 'address' });
  const counted = values.map(({ value }) => value);
  expect(counted).toContain('2001:db8:1:2::/64');
  expect(counted.filter((value) => value.includes('::5'))).toEqual([]);
});

test('A-758 failures of a client are counted by the network of an IPv6 address, and so are floods of refusals', async () => {
  const client = await harness.createClient([await harness.createTenant()]);
  const attempt = async (host: number) =>
    (await postToken(harness.url, { ...grant, ...pick(client), client_secret: 'wrong' }, from(`2001:db8:7:7::${host}`)))
      .status;
  const statuses: number[] = [];
  for (let host = 1; host <= 11; host += 1) statuses.push(await attempt(host));
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
  const floods = createFloodGrouping(() => 0);
  const flood = (address: string) =>
    floods.isListed({ action: 'token.refused', reason: 'invalid_client', address, outcome: 'failure' });
  const listed = Array.from({ length: 300 }, (_, i) => flood(`2001:db8:9:9::${(i + 1).toString(16)}`)).filter(Boolean);
  expect(listed).toHaveLength(100);
  for (let i = 0; i < 101; i += 1) flood('2001:db8:9:a::1');
  expect(floods.take(true)).toMatchObject([
    { count: 200, address: '2001:db8:9:9::/64' },
    { count: 1, address: '2001:db8:9:a::1' },
  ]);
});

test('A-749 an IPv6 network with many addresses does not displace other addresses from the trace of a secret and of its tokens', async () => {
  const client = await harness.createClient([await harness.createTenant()], ['read:orders']);
  const elsewhere = '2a00::7';
  const own = Array.from({ length: 110 }, (_, host) => `2001:db8:4:4::${(host + 1).toString(16)}`);
  const token = bearer(
    String((await postToken(harness.url, { ...grant, ...pick(client) }, from(elsewhere))).json.access_token),
  );
  const asClient = { 'x-client-id': client.client_id, 'x-client-secret': client.client_secret };
  for (const credential of [token, asClient]) {
    for (const address of [...own, own[7] ?? '', elsewhere]) {
      const headers = { ...credential, ...from(address) };
      expect((await sendRequest(harness.url, 'GET', read, { headers })).status).toBe(200);
    }
  }
  const trace = () => readTrace(deps(), client.client_secret);
  await until(async () => {
    const { calls, issuedUse } = await trace();
    return calls === 112 && issuedUse?.calls === 112;
  });
  const { addresses, moreAddresses, issuedUse } = await trace();
  for (const listed of [{ addresses, moreAddresses }, issuedUse]) {
    expect(listed?.addresses).toHaveLength(100);
    expect(listed?.addresses).toEqual(expect.arrayContaining([elsewhere, own[7]]));
    expect(listed?.moreAddresses).toBe(true);
  }
});
