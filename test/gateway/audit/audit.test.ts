import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dropOldAudit } from '#src/gateway/audit/retention/retention.ts';
import { verifyAudit } from '#src/gateway/index.ts';
import { altered } from '../../support/altered.ts';
import { until } from '../../support/until.ts';
import {
  bearer,
  clientHeaders,
  type Harness,
  openHarness,
  pick,
  postToken,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
let client: { client_id: string; client_secret: string };

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  client = pick(await harness.createClient([tenant], ['read:orders']));
});

afterAll(() => harness.close());

type Row = Record<string, unknown> & { action: string; request_ids: string[]; count: number };

const rows = async (where: string, ...values: unknown[]): Promise<Row[]> =>
  (await harness.database.pool.query<Row>(`select * from gateway.audit_events where ${where} order by at, seq`, values))
    .rows;

const ofRequest = (id: unknown): Promise<Row[]> => rows('request_ids @> array[$1]::text[]', id);

/** Waits until there are enough rows, and returns them. */
const rowsWhen = async (read: () => Promise<Row[]>, enough: (all: Row[]) => boolean): Promise<Row[]> => {
  let all: Row[] = [];
  await until(async () => {
    all = await read();
    return enough(all);
  });
  return all;
};

const some = (all: Row[]): boolean => all.length > 0;

const verify = () => verifyAudit({ db: harness.database.db, box: harness.box });

test('an issued token is recorded with client, secret and scopes before it is returned', async () => {
  const reply = await postToken(harness.url, { grant_type: 'client_credentials', ...client });
  const [row, ...more] = await ofRequest(reply.headers['x-request-id']);
  expect(more).toEqual([]);
  expect(row).toMatchObject({
    action: 'token.issued',
    outcome: 'success',
    client_id: client.client_id,
    credential_id: client.client_secret.slice(0, client.client_secret.indexOf('_', 4)),
    token_id: decodeJwt(String(reply.json.access_token)).jti,
    tenants: [tenant],
    scopes: ['read:orders'],
    address: '127.0.0.1',
  });
});

test('each refusal is recorded before its answer: no credential, garbage, wrong secret, scope, token endpoint', async () => {
  const token = await tokenOf(harness.url, client);
  const wrong = { ...client, client_secret: altered(client.client_secret) };
  const cases = [
    [await sendRequest(harness.url, 'GET', read), 'request.denied', 'invalid_auth', null],
    [await sendRequest(harness.url, 'GET', read, { headers: bearer('a.b.c') }), 'request.denied', 'invalid_auth', null],
    [
      await sendRequest(harness.url, 'GET', read, { headers: clientHeaders(wrong) }),
      ...['request.denied', 'secret_wrong', client.client_id],
    ],
    [
      await sendRequest(harness.url, 'POST', '/api/order/create', { headers: bearer(token) }),
      ...['request.denied', 'insufficient_scope', client.client_id],
    ],
    [
      await sendRequest(harness.url, 'GET', read, { headers: { ...bearer(token), 'x-api-key': 'opk_x' } }),
      ...['request.denied', 'validation_error', null],
    ],
    [
      await postToken(harness.url, { grant_type: 'client_credentials', ...wrong }),
      ...['token.refused', 'invalid_client', client.client_id],
    ],
    [
      await postToken(harness.url, { grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' }),
      ...['token.refused', 'invalid_client', null],
    ],
  ] as const;
  for (const [reply, action, reason, client_id] of cases) {
    expect(reply.status, reply.text).toBeGreaterThanOrEqual(400);
    const found = await ofRequest(reply.headers['x-request-id']);
    expect(found, `${action} ${reason}`).toMatchObject([{ action, reason, client_id, outcome: 'failure' }]);
  }
});

test('while the audit cannot be written, answers wait for 2 s; then a token request fails and a refusal is answered', async () => {
  const { pool } = harness.database;
  const holder = await pool.connect();
  const settled: string[] = [];
  const noting = (name: string, reply: Promise<Reply>): Promise<Reply> => {
    void reply.then(() => settled.push(name));
    return reply;
  };
  const ask = (): Promise<Reply>[] => [
    noting('token', postToken(harness.url, { grant_type: 'client_credentials', ...client })),
    noting('refusal', sendRequest(harness.url, 'GET', read, { headers: bearer('a.b.c') })),
  ];
  const isWaiting = async (): Promise<boolean> =>
    (await pool.query("select 1 from pg_locks where relation = 'gateway.audit_events'::regclass and not granted")).rows
      .length > 0;
  try {
    await holder.query('begin; lock table gateway.audit_events in exclusive mode');
    const short = ask();
    await until(isWaiting);
    expect(settled).toEqual([]);
    await holder.query('rollback');
    expect((await Promise.all(short)).map(({ status }) => status)).toEqual([200, 401]);
    for (const { headers } of await Promise.all(short))
      expect(await ofRequest(headers['x-request-id'])).toHaveLength(1);
    await holder.query('begin; lock table gateway.audit_events in exclusive mode');
    const [token, refusal] = await Promise.all(ask());
    expect([token?.status, token?.json.error]).toEqual([503, 'temporarily_unavailable']);
    expect(refusal?.status).toBe(401);
    await holder.query('rollback');
    // The event is not lost: it is written once the store is available again.
    await rowsWhen(() => ofRequest(refusal?.headers['x-request-id']), some);
  } finally {
    holder.release(true);
  }
});

test('allowed requests are recorded shortly after, each id once, grouped by caller and route', async () => {
  const key = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const headers = { 'x-api-key': key.value };
  const replies = await Promise.all(
    Array.from({ length: 40 }, () => sendRequest(harness.url, 'GET', read, { headers })),
  );
  const ids = replies.map(({ status, headers: answered }) => {
    expect(status).toBe(200);
    return String(answered['x-request-id']);
  });
  const found = await rowsWhen(
    () => rows("action = 'request.allowed' and credential_id = $1", key.keyId),
    (all) => all.reduce((sum, { count }) => sum + count, 0) >= 40,
  );
  expect(found.flatMap(({ request_ids }) => request_ids).toSorted()).toEqual(ids.toSorted());
  expect(found.length).toBeLessThan(40);
  const [row] = found;
  expect(row).toMatchObject({
    route_id: expect.any(String),
    kind: 'api_key',
    tenants: [tenant],
    scopes: ['read:orders'],
  });
});

test('a flood of equal refusals becomes a hundred events, and one event with the count of the rest', async () => {
  const door = await harness.openDoor();
  const flood = pick(await harness.createClient([tenant]));
  const headers = clientHeaders({ ...flood, client_secret: `${flood.client_secret.slice(0, -1)}!` });
  for (let count = 0; count < 5; count += 1) {
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => sendRequest(door.url, 'GET', read, { headers })),
    );
    for (const { status } of replies) expect(status).toBe(401);
  }
  // The count is written when its minute ends, and when the gateway stops.
  await door.close();
  const found = await rows("client_id = $1 and outcome = 'failure'", flood.client_id);
  expect(found).toHaveLength(101);
  expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(250);
  expect((await verify()).firstProblem).toBeNull();
});

test('all events of one credential value have the same fingerprint', async () => {
  const own = pick(await harness.createClient([tenant]));
  const ok = await sendRequest(harness.url, 'GET', read, { headers: clientHeaders(own) });
  expect(ok.status).toBe(200);
  const issued = await postToken(harness.url, { grant_type: 'client_credentials', ...own });
  const [first] = await rowsWhen(() => ofRequest(ok.headers['x-request-id']), some);
  const [second] = await ofRequest(issued.headers['x-request-id']);
  expect(second?.fingerprint).toBe(first?.fingerprint);
  expect(String(first?.fingerprint)).toMatch(/^[0-9a-f]{32}$/);
});

test('every change of a credential is recorded with its actor in the transaction of the change', async () => {
  const { credentials } = harness;
  const made = await credentials.createClient({ name: 'x', tenants: [tenant] });
  const id = made.clientId;
  await credentials.setClientScopes(id, ['read:menu']);
  await credentials.quarantine('client', id, 'looks odd');
  await credentials.reactivate('client', id, 'was fine');
  const { secretId: secret_id } = await credentials.rotateClientSecret(id, 1);
  await credentials.retireClientSecret(id, secret_id, true);
  await credentials.withdrawTenant(id, tenant);
  await credentials.revokeClientTokens(id);
  await credentials.disableClient(id);
  const found = await rows('client_id = $1 and chain = 0', id);
  expect(found.map(({ action }) => action)).toEqual([
    'client.created',
    'secret.created',
    'client.scopes_changed',
    'client.state_changed',
    'client.state_changed',
    'secret.retired',
    'secret.created',
    'secret.retired',
    'client.withdrawn',
    'client.tokens_revoked',
    'client.disabled',
  ]);
  expect(found.every(({ actor }) => actor === 'system')).toBe(true);
  expect(await rows("credential_id = $1 and action = 'secret.retired'", secret_id)).toHaveLength(1);
  const before = (await rows('chain = 0')).length;
  await expect(credentials.grantTenant(id, 'nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect((await rows('chain = 0')).length).toBe(before);
});

test('no column of the audit contains a secret or a token', async () => {
  const token = await tokenOf(harness.url, client);
  await sendRequest(harness.url, 'GET', `${read}?access_token=${token}`);
  await sendRequest(harness.url, 'GET', read, { headers: bearer(token) });
  await rowsWhen(
    () => rows("action = 'request.allowed' and token_id = $1", decodeJwt(token).jti),
    (all) => all.length > 0,
  );
  const { rows: all } = await harness.database.pool.query('select e::text as text from gateway.audit_events e');
  const text = all.map((row) => row.text).join('\n');
  for (const value of [token, token.slice(-40), client.client_secret, client.client_secret.slice(-40)]) {
    expect(text.includes(value)).toBe(false);
  }
});

test('the audit of two gateways that write at the same time verifies', async () => {
  const second = await harness.openDoor();
  const token = await tokenOf(harness.url, client);
  const calls = Array.from({ length: 30 }, (_, index) =>
    sendRequest(index % 2 === 0 ? harness.url : second.url, 'GET', index % 3 === 0 ? '/api/menu/list' : read, {
      headers: bearer(index % 5 === 0 ? 'x.y.z' : token),
    }),
  );
  await Promise.all(calls);
  const verified = await verify();
  expect(verified.firstProblem).toBeNull();
  expect(verified.chains).toBeGreaterThanOrEqual(3);
  expect(verified.events).toBeGreaterThan(20);
});

test('verification names changed, removed, swapped and cut-off events', async () => {
  const { pool } = harness.database;
  const [made] = await rows("chain = 0 and action = 'client.created'");
  const last = (await rows('chain = 0')).at(-1);
  const restoring = async (damage: string, values: unknown[], problem: unknown): Promise<void> => {
    await pool.query('create table gateway.kept as select * from gateway.audit_events where chain = 0');
    await pool.query(damage, values);
    expect((await verify()).firstProblem).toEqual(problem);
    await pool.query('delete from gateway.audit_events where chain = 0');
    await pool.query('insert into gateway.audit_events select * from gateway.kept');
    await pool.query('drop table gateway.kept');
    expect((await verify()).firstProblem).toBeNull();
  };
  const seq = Number(made?.seq);
  const changed = { chain: 0, seq, problem: 'the event, or its place, was changed' };
  const at = 'where chain = 0 and seq = $1';
  await restoring(`update gateway.audit_events set actor = 'forged' ${at}`, [seq], changed);
  await restoring(`update gateway.audit_events set at = at + interval '1 ms' ${at}`, [seq], changed);
  await restoring(`delete from gateway.audit_events ${at}`, [seq], { ...changed, problem: 'the event is missing' });
  const end = Number(last?.seq);
  await restoring(
    `update gateway.audit_events set seq = 2 * $1::bigint - 1 - seq where chain = 0 and seq in ($1, $1::bigint - 1)`,
    [end],
    { ...changed, seq: end - 1 },
  );
  await restoring(`delete from gateway.audit_events ${at}`, [last?.seq], {
    ...{ chain: 0, seq: Number(last?.seq), problem: `the end of the chain is missing, up to ${String(last?.seq)}` },
  });
});

test('old months are dropped as a whole, and the rest still verifies', async () => {
  const { database, box, clock } = harness;
  const old = await harness.createTenant();
  const month = clock.now().toISOString().slice(0, 7).replace('-', '');
  clock.move(40 * 86_400_000);
  const young = await harness.createTenant();
  await sendRequest(harness.url, 'GET', read);
  const drop = (): Promise<string[]> =>
    dropOldAudit({ db: database.db, box, clock }, 5).then(({ dropped: names }) => names);
  const dropped = (await Promise.all([drop(), drop(), drop()])).flat();
  // At the end of a month, the next month has passed by then too.
  expect(new Set(dropped).size).toBe(dropped.length);
  expect(dropped).toContain(`audit_events_${month}`);
  expect(await rows("action = 'audit.dropped'")).toHaveLength(dropped.length);
  expect(await rows('tenants @> array[$1]::text[]', old)).toEqual([]);
  expect(await rows('tenants @> array[$1]::text[]', young)).toHaveLength(1);
  expect(await drop()).toEqual([]);
  expect((await verify()).firstProblem).toBeNull();
  await database.pool.query('update gateway.audit_chains set anchor_seq = anchor_seq + 1 where chain = 0');
  expect((await verify()).firstProblem).toMatchObject({
    chain: 0,
    problem: 'the signature of its beginning is wrong',
  });
  await database.pool.query('update gateway.audit_chains set anchor_seq = anchor_seq - 1 where chain = 0');
  clock.move(-40 * 86_400_000);
});
