/** A sandbox beside a real restaurant in one running program: webhooks, the clock, and what is refused. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';

type Place = { restuid: string; endpoint: string; headers: Record<string, string> };

let database: TestDatabase;
let program: RunningProgram;
let receiver: WebhookReceiver;
let env: Record<string, string>;
let sandbox: Place;
let real: Place;

const makePlace = async (name: string, ...more: string[]): Promise<Place> => {
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', name, ...more], env);
  const client = await runJson(['client', 'create', '--name', name, '--restaurant', restuid], env);
  const kinds = ['--customers', 'on', '--orders', 'on', '--loyaltylog', 'on', '--menu', 'off'];
  await runJson(['notifications', 'set', '--restaurant', restuid, ...kinds], env);
  const made = await runJson(['endpoint', 'create', '--restaurant', restuid, '--url', receiver.url], env);
  const headers = { 'x-client-id': client.client_id ?? '', 'x-client-secret': client.client_secret ?? '' };
  return { restuid, endpoint: made.endpoint_uid ?? '', headers };
};

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
  };
  program = await startProgram(env);
  sandbox = await makePlace('Trial', '--sandbox');
  real = await makePlace('Real');
  for (const { headers } of [sandbox, real]) await importsAnswer(program.url, headers);
});

afterAll(async () => {
  await program?.stop();
  await receiver?.close();
  await database?.drop();
});

type Json = ReturnType<typeof JSON.parse>;

const call = async ({ headers }: Place, path: string, body?: unknown): Promise<Json> => {
  const answer = await fetch(`${program.url}/api${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const json = (await answer.json()) as Json;
  expect([path, json.error, json.errors]).not.toContainEqual('VALIDATION_ERROR');
  return json;
};

const clock = (place: Place, ...words: string[]) =>
  runCommand(['sandbox', 'clock', ...words, '--restaurant', place.restuid, '--json'], env);

const addProduct = async (place: Place): Promise<string> => {
  const category = { ext_id: 'c', name: 'Pizze' };
  const product = { ext_id: 'p', category_ext_id: 'c', name: 'Margherita', price: 8 };
  const menu = { pos_uid: 'till', update_mode: 'replace', categories: [category], products: [product] };
  expect((await call(place, '/menu/import', menu)).success).toBe(true);
  return (await call(place, '/menu/products')).products[0].uid;
};

const order = (place: Place, uid: string, more: object = {}): Promise<Json> =>
  call(place, '/order/create', {
    client: { first_name: 'Ada', email: 'ada@example.com' },
    dmethod: '0t',
    table: '4',
    payment_method: 'cash',
    payment_method_sub: 'pos',
    details: [{ product: { uid }, quantity: 1 }],
    ...more,
  });

test('A-304 only webhooks of the sandbox have the header, also that of webhook/test', async () => {
  for (const place of [sandbox, real])
    expect((await call(place, '/customer/create', { email: 'webhook@example.com' })).success).toBe(true);
  await until(() => receiver.received.filter(({ body }) => body.includes('webhook@example.com')).length === 2);
  const own = ['--restaurant', sandbox.restuid, '--endpoint', sandbox.endpoint];
  expect((await runCommand(['webhook', 'test', ...own], env)).code).toBe(0);
  const marks = receiver.received.map(({ headers, body }) => [
    JSON.parse(body).restuid === sandbox.restuid,
    headers['x-orderpass-sandbox'],
  ]);
  expect(marks).toContainEqual([true, 'true']);
  expect(marks).toContainEqual([false, undefined]);
  expect(marks.filter(([isSandbox, mark]) => isSandbox !== (mark === 'true'))).toEqual([]);
});

test('A-304 a restaurant that is created with --sandbox has ids and credentials with test_ and is shown as a sandbox, another one is not', async () => {
  for (const [place, isSandbox] of [
    [sandbox, true],
    [real, false],
  ] as const) {
    const shown = (await runJson(['restaurant', 'show', '--restaurant', place.restuid], env)) as Json;
    const ids = [place.restuid, place.headers['x-client-id'], place.headers['x-client-secret']];
    expect([shown.sandbox, ...ids.map((id) => /^[a-z]+_test_/.test(id ?? ''))]).toEqual(Array(4).fill(isSandbox));
  }
});

test('A-301 commands refuse a client for both kinds', async () => {
  const both = ['--restaurant', sandbox.restuid, '--restaurant', real.restuid];
  const made = await runCommand(['client', 'create', '--name', 'Both', ...both], env);
  expect([made.code, made.stderr]).toEqual([1, expect.stringContaining('one client cannot have both')]);
});

test('A-305 the clock of a sandbox ends its countdowns and dates its orders; the real restaurant and events keep the real time', async () => {
  const [inSandbox, inReal] = [await addProduct(sandbox), await addProduct(real)];
  const before = (await order(sandbox, inSandbox)).order;
  const untouched = (await order(real, inReal)).order;
  expect([before.status, untouched.status]).toEqual(['new', 'new']);
  const moved = await clock(sandbox, 'advance', '2d');
  expect(JSON.parse(moved.stdout)).toMatchObject({ restuid: sandbox.restuid, ahead_seconds: 172_800 });
  const late = await call(sandbox, '/order/confirm', { uid: before.uid, token: before.token });
  expect([late.error, late.order.status]).toEqual(['TIMEOUT', 'timed_out']);
  await until(() => receiver.received.some(({ body }) => body.includes('order.timeout') && body.includes(before.uid)));
  const after = (await order(sandbox, inSandbox)).order;
  const aheadMs = Date.parse(after.date) - Date.parse(before.date);
  expect(Math.abs(aheadMs - 172_800_000)).toBeLessThan(60_000);
  const list = await call(sandbox, '/orders/list?pagesize=1');
  expect([list.orders[0].uid, list.more]).toEqual([after.uid, true]);
  const rest = await call(sandbox, `/orders/list?pagesize=1&cursor=${encodeURIComponent(list.next_cursor)}`);
  expect(rest.orders[0].uid).toBe(before.uid);
  expect((await call(real, `/orders/get?uid=${untouched.uid}`)).order.status).toBe('new');
  const dated = (await order(real, inReal)).order;
  expect(Date.parse(dated.date) - Date.now()).toBeLessThan(60_000);
  const { rows } = await sql<{ late: boolean }>`
    select bool_or(created > now() + interval '1 hour') as late from outbox.events`.execute(database.db);
  expect(rows).toEqual([{ late: false }]);
});

test('A-342 a caller moves the clock of its sandbox, whose countdowns end with webhooks; a real restaurant is refused', async () => {
  const timeouts = (uid: string): boolean =>
    receiver.received.some(({ body }) => body.includes('order.timeout') && body.includes(uid));
  const move = async (place: Place, body: object): Promise<Json> => {
    const answer = await fetch(`${program.url}/api/sandbox/clock`, {
      method: 'POST',
      headers: { ...place.headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Json;
  };
  await clock(sandbox, 'reset');
  const placed = (await order(sandbox, await addProduct(sandbox))).order;
  const untouched = (await order(real, await addProduct(real))).order;
  expect((await move(sandbox, {})).clock).toMatchObject({ ahead_seconds: 0, countdown_minutes: 10 });
  const { clock: moved } = await move(sandbox, { advance_seconds: 10_800 });
  expect(moved.ahead_seconds).toBe(10_800);
  expect(Date.parse(moved.now_iso) - Date.now()).toBeGreaterThan(10_700_000);
  await until(() => timeouts(placed.uid));
  const to = new Date(Date.now() + 86_400_000).toISOString();
  expect((await move(sandbox, { to })).clock.ahead_seconds).toBeGreaterThan(86_300);
  for (const [wrong, pointer, code] of [
    [{ to: new Date().toISOString() }, 'to', 'RANGE'],
    [{ advance_seconds: 31_622_400 }, 'advance_seconds', 'RANGE'],
    [{ advance_seconds: 1, reset: true }, 'reset', 'CONFLICTING_VALUES'],
    [{ advance_seconds: 0 }, 'advance_seconds', 'RANGE'],
  ] as const) {
    const { error, errors } = await move(sandbox, wrong);
    expect([wrong, error, errors]).toMatchObject([wrong, 'VALIDATION_ERROR', [{ pointer, code }]]);
  }
  expect((await move(sandbox, {})).clock.ahead_seconds).toBeGreaterThan(86_300);
  expect((await move(real, { advance_seconds: 10_800 })).errors).toMatchObject([{ code: 'SANDBOX_ONLY' }]);
  expect((await move(real, {})).errors).toMatchObject([{ code: 'SANDBOX_ONLY' }]);
  expect((await call(real, `/orders/get?uid=${untouched.uid}`)).order.status).toBe('new');
  expect((await move(sandbox, { reset: true })).clock.ahead_seconds).toBe(0);
  const triggered = await runJson(['sandbox', 'trigger', 'order.timeout', '--restaurant', sandbox.restuid], env);
  await until(() => timeouts(String(triggered.uid)));
  await clock(sandbox, 'reset');
});

test('A-348 a script lets deliveries fail, which are in the log and repeated; other restaurants notice nothing', async () => {
  const script = join(mkdtempSync(join(tmpdir(), 'orderpass-break-')), 'break.json');
  const steps = [
    { after: '0s', do: 'break-endpoints', deliveries: 1 },
    { after: '0s', do: 'customer', customer: 'broken' },
  ];
  writeFileSync(script, JSON.stringify({ steps }));
  await addProduct(sandbox);
  const { code, stdout } = await runCommand(
    ['sandbox', 'play', script, '--restaurant', sandbox.restuid, '--json'],
    env,
  );
  expect([code, JSON.parse(stdout).steps]).toMatchObject([
    0,
    [
      { do: 'break-endpoints', name: '1 endpoints' },
      { do: 'customer', error: null },
    ],
  ]);
  const { uid } = JSON.parse(stdout).steps[1];
  const arrived = (): number => receiver.received.filter(({ body }) => body.includes(uid)).length;
  expect((await call(real, '/customer/create', { email: 'meanwhile@example.com' })).success).toBe(true);
  await until(() => receiver.received.some(({ body }) => body.includes('meanwhile@example.com')));
  await until(() => arrived() === 1);
  // The endpoint is not the client's own, so only the operator sees its log.
  const statuses = async (): Promise<(number | null)[]> => {
    const { rows } = await sql<{ status: number | null }>`
      select a.status from webhooks.attempts a join webhooks.deliveries d on d.uid = a.delivery_uid
      where d.entity = ${uid} order by a.number`.execute(database.db);
    return rows.map(({ status }) => status);
  };
  await until(async () => (await statuses()).length === 2);
  expect((await statuses())[0]).toBe(503);
});

test('A-305 the clock is kept over a restart and begins anew after reset', async () => {
  await clock(sandbox, 'reset');
  await clock(sandbox, 'advance', '3h');
  await program.stop();
  program = await startProgram(env);
  const shown = JSON.parse((await clock(sandbox, 'show')).stdout);
  expect(shown.ahead_seconds).toBe(10_800);
  const { customer } = await call(sandbox, '/customer/create', { email: 'later@example.com' });
  expect(Date.parse(customer.added_iso) - Date.now()).toBeGreaterThan(10_000_000);
  expect(JSON.parse((await clock(sandbox, 'reset')).stdout).ahead_seconds).toBe(0);
});

test('A-306 the clock of a real restaurant, backward, too far and unreadable: each is refused and changes nothing', async () => {
  const later = new Date(Date.now() + 3_600_000).toISOString();
  expect((await clock(sandbox, 'set', later)).code).toBe(0);
  const refused = async (place: Place, ...words: string[]): Promise<string> => {
    const { code, stderr } = await clock(place, ...words);
    expect([words, code > 0]).toEqual([words, true]);
    return stderr;
  };
  for (const words of [['advance', '1h'], ['reset']]) expect(await refused(real, ...words)).toContain('is no sandbox');
  expect(await refused(sandbox, 'set', new Date().toISOString())).toContain('forward only');
  expect(await refused(sandbox, 'advance', '400d')).toContain('at most 366 days');
  for (const words of [
    ['advance', '-1h'],
    ['set', '2030-01-01T00:00'],
  ])
    await refused(sandbox, ...words);
  const { ahead_seconds } = JSON.parse((await clock(sandbox, 'show')).stdout);
  expect(Math.abs(ahead_seconds - 3_600)).toBeLessThan(60);
  const { rows } = await sql`select restuid from ordering.sandbox_clocks`.execute(database.db);
  expect(rows).toEqual([{ restuid: sandbox.restuid }]);
});
