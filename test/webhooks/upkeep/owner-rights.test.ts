/** A webhook endpoint gets nothing that its API client could not read itself at that moment. */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import type { Json } from '../../support/ordering.ts';
import { type RunningProgram, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';

let database: TestDatabase;
let env: Record<string, string>;
let program: RunningProgram;
let receiver: WebhookReceiver;
let restuid: string;
let restaurant: string[];
let client: string[];
let till: Record<string, string>;
let other: Record<string, string>;
let endpoint: string;

const cli = (...args: string[]): Promise<Json> => runJson(args, env);

const makeClient = async (name: string): Promise<{ id: string; headers: Record<string, string> }> => {
  const made = await cli('client', 'create', '--name', name, ...restaurant);
  const id = String(made.client_id);
  return { id, headers: { 'x-client-id': id, 'x-client-secret': String(made.client_secret) } };
};

const post = async (path: string, headers: Record<string, string>, body: unknown): Promise<Json> => {
  const response = await fetch(`${program.url}/api${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const json = (await response.json()) as Json;
  expect([response.status, json]).toEqual([200, json]);
  return json;
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
  ({ restuid } = (await cli('restaurant', 'create', '--name', 'Da Ada')) as { restuid: string });
  restaurant = ['--restaurant', restuid];
  await cli('notifications', 'set', ...restaurant, '--customers', 'on', '--menu', 'on');
  const [first, second] = [await makeClient('Till'), await makeClient('Back office')];
  client = ['--client-id', first.id];
  [till, other] = [first.headers, second.headers];
  const made = await post('/webhook/create', till, { url: receiver.url, kinds: ['customers', 'menu'] });
  endpoint = made.endpoint.uid;
});

afterAll(async () => {
  await program?.stop();
  await receiver?.close();
  await database?.drop();
});

const isWithheld = (...kinds: string[]) =>
  until(async () => {
    const shown = await cli('webhook', 'show', ...restaurant, '--endpoint', endpoint);
    return shown.endpoint.withheld_kinds.join() === kinds.join();
  });

let customers = 0;

/** The name of a customer that the restaurant got just now. */
const addCustomer = async (headers = other): Promise<string> => {
  customers += 1;
  const name = `Guest ${customers}`;
  await post('/customer/create', headers, { first_name: name, email: `guest${customers}@example.com` });
  return name;
};

const received = (): string[] => receiver.received.map(({ body }) => JSON.parse(body).customer?.first_name);

const arrives = (name: string) => until(() => received().includes(name));

test.each<[string, () => Promise<unknown>, () => Promise<unknown>, string[]]>([
  [
    'the read scope of the kind',
    () => cli('client', 'scopes', ...client, '--scope', 'read:menu read:webhooks write:webhooks'),
    () => cli('client', 'scopes', ...client, '--scope', 'read:menu read:customers read:webhooks write:webhooks'),
    ['customers'],
  ],
  [
    'the restaurant',
    () => cli('client', 'withdraw', ...client, ...restaurant),
    () => cli('client', 'grant', ...client, ...restaurant),
    ['customers', 'menu'],
  ],
  [
    'its good standing, by a quarantine',
    () => cli('client', 'quarantine', ...client, '--reason', 'leaked'),
    () => cli('client', 'reactivate', ...client, '--reason', 'harmless'),
    ['customers', 'menu'],
  ],
])(
  'A-248 an endpoint gets nothing more when its client has lost %s, and goes on when it is back',
  async (_what, lose, regain, kinds) => {
    await arrives(await addCustomer());
    await lose();
    await isWithheld(...kinds);
    const missed = await addCustomer();
    await regain();
    await isWithheld();
    // Events of one restaurant are dispatched in their sequence, so the missed one would have been sent first.
    await arrives(await addCustomer());
    expect(received()).not.toContain(missed);
  },
);

test('A-248 an endpoint of a client is withheld while API access of the restaurant is off', async () => {
  await cli('restaurant', 'set', ...restaurant, '--api-enabled', 'off');
  await isWithheld('customers', 'menu');
  await cli('restaurant', 'set', ...restaurant, '--api-enabled', 'on');
  await isWithheld();
});

test('A-248 a client that is disabled gets nothing more', async () => {
  await cli('client', 'disable', ...client);
  await isWithheld('customers', 'menu');
  const missed = await addCustomer();
  // An event is sent to the endpoints that exist when it is dispatched.
  await until(async () => (await database.pool.query('select from outbox.waiting limit 1')).rowCount === 0);
  await cli('endpoint', 'create', ...restaurant, '--url', `${receiver.url}/panel`);
  await until(async () => {
    await addCustomer();
    return receiver.received.some(({ path }) => path.endsWith('/panel'));
  });
  expect(received()).not.toContain(missed);
  expect(receiver.received.filter(({ path }) => !path.endsWith('/panel')).length).toBe(6);
});
