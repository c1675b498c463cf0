import { execFile } from 'node:child_process';
import type { JsonWebKey } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importsAnswer } from '../support/orders/imports-answer.ts';
import { makeDataDir, type RunningProgram, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

const data = makeDataDir();
let program: RunningProgram;
let credentials: { apiKey: string; clientId: string; clientSecret: string };
let token = '';

beforeAll(async () => {
  program = await startProgram({ ORDERPASS_DATA_DIR: data.path });
  await until(() => program.output().includes('/demo/receiver\n'));
  const value = (name: string): string => new RegExp(`${name} +(\\S+)`).exec(program.output())?.[1] ?? '';
  credentials = { apiKey: value('API key'), clientId: value('Client id'), clientSecret: value('Client secret') };
});

afterAll(async () => {
  await program?.stop();
  data.remove();
});

type Answer = { status: number; body: Record<string, unknown> & { [name: string]: never } };

const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
  const response = await fetch(`${program.url}/api${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? undefined : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
};

type Webhook = { event: string; signature: string; body: { seq: number; order?: { uid: string; status: string } } };

const webhooks = async (): Promise<Webhook[]> => {
  const response = await fetch(`${program.url}/demo/receiver/deliveries`);
  return ((await response.json()) as { deliveries: Webhook[] }).deliveries;
};

test('A-030 the three commands that a first start prints work as they are pasted', async () => {
  const commands = program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('curl '));
  expect(commands).toHaveLength(3);
  const run = async (command: string | undefined): Promise<Record<string, unknown>> => {
    const { stdout } = await promisify(execFile)('bash', ['-c', command ?? 'false']);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const issued = await run(commands[0]);
  expect(Object.keys(issued).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type']);
  token = String(issued.access_token);
  expect(await run(commands[1])).toMatchObject({ success: true, order: { confirmed: true } });
  await until(async () => (await webhooks()).length === 3);
  const { deliveries } = (await run(commands[2])) as { deliveries: Webhook[] };
  expect(deliveries.map(({ event }) => event).sort()).toEqual(['customer.changed', 'order.confirmed', 'order.new']);
  expect(new Set(deliveries.map(({ signature }) => signature))).toEqual(new Set(['valid']));
});

test('A-014 A-074 A-093 a token imports a menu, inserts an order, and statistics, loyalty and signed webhooks follow', async () => {
  await importsAnswer(program.url, { authorization: `Bearer ${token}` });
  const menu = await call('POST', '/menu/import', {
    pos_uid: 'till-1',
    update_mode: 'merge',
    categories: [{ ext_id: 'C1', name: 'Panini' }],
    products: [{ ext_id: 'P1', category_ext_id: 'C1', name: 'Panino al lampredotto', price: 8.5 }],
  });
  expect(menu.status).toBe(200);
  const found = await call('GET', '/menu/products?q=lampredotto');
  const products = found.body.products as unknown as { uid: string; price: number }[];
  expect(products).toMatchObject([{ price: 8.5 }]);

  const created = await call('POST', '/order/create', {
    client: { first_name: 'Dante', email: 'dante@example.com' },
    dmethod: '0t',
    table: '3',
    payment_method: 'cash',
    payment_method_sub: 'cash',
    creator: 'restaurant',
    details: [{ product: { uid: products[0]?.uid }, quantity: 2 }],
  });
  expect(created).toMatchObject({ status: 200, body: { order: { total: 17, confirmed: true } } });
  const order = created.body.order as unknown as { uid: string; token: string };

  const customer = await call('GET', '/customerstats/customer?email=DANTE%40example.com');
  expect(customer).toMatchObject({
    status: 200,
    body: { customer: { orders_count: 1, orders_total: 17, loyalty_points: 0 } },
  });

  expect((await call('POST', `/order/close?uid=${order.uid}&token=${order.token}`)).status).toBe(200);
  const after = await call('GET', '/customerstats/customer?email=dante%40example.com');
  expect(after.body.customer).toMatchObject({ loyalty_points: 17, loyalty_seq: 1 });

  const ofOrder = async (): Promise<Webhook[]> =>
    (await webhooks()).filter(({ body }) => body.order?.uid === order.uid).reverse();
  await until(async () => (await ofOrder()).some(({ event }) => event === 'order.closed'));
  expect((await ofOrder()).map(({ event }) => event)).toEqual(['order.new', 'order.confirmed', 'order.closed']);
  // Of another entity: it may come before or after.
  await until(async () => (await webhooks()).some(({ event }) => event === 'loyaltylog.created'));
});

test('A-014 all three kinds of credential read the same data', async () => {
  const read = async (headers: Record<string, string>): Promise<unknown> => {
    const response = await fetch(`${program.url}/api/menu/categories`, { headers });
    expect(response.status).toBe(200);
    return response.json();
  };
  const byKey = await read({ 'x-api-key': credentials.apiKey });
  const byHeaders = await read({ 'x-client-id': credentials.clientId, 'x-client-secret': credentials.clientSecret });
  const byToken = await read({ authorization: `Bearer ${token}` });
  expect(byHeaders).toEqual(byKey);
  expect(byToken).toEqual(byKey);
});

test('A-130 the published webhook key is the one that signs deliveries', async () => {
  const answer = await fetch(`${program.url}/.well-known/webhook-keys`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
  const { keys } = (await answer.json()) as { keys: JsonWebKey[] };
  expect(keys).toMatchObject([{ kty: 'OKP', crv: 'Ed25519', use: 'sig', kid: expect.any(String) }]);
  expect(keys[0]).not.toHaveProperty('d');
});

test('the demo restaurant has a menu of at least 40 products with options and a delivery zone', async () => {
  const { body } = await call('GET', '/menu/products?pagesize=100');
  const products = body.products as unknown as { options: unknown[] }[];
  expect(products.length).toBeGreaterThanOrEqual(40);
  expect(products.filter(({ options }) => options.length > 0).length).toBeGreaterThan(10);
  const outside = await call('POST', '/order/create', {
    client: { first_name: 'Beatrice', email: 'bea@example.com' },
    dmethod: '1',
    payment_method: 'external',
    delivery: {
      date: new Date(Date.now() + 3_600_000).toISOString(),
      address: { street: 'Karl Johans gate', city: 'Oslo', lat: 59.91, lng: 10.75 },
    },
    details: [{ product: { uid: (products[0] as unknown as { uid: string }).uid }, quantity: 1 }],
  });
  expect(outside).toMatchObject({ status: 422, body: { error: 'INVALID_ADDRESS' } });
});
