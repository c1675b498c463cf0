/** The program on a machine whose clock is an hour ahead of that of the database. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import type { Json } from '../../support/ordering.ts';
import { type RunningProgram, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';

/** Loaded before the program: every Date without an argument is an hour ahead. */
const hourAhead = `
  const Machine = Date;
  globalThis.Date = class extends Machine {
    constructor(...given) { given.length === 0 ? super(Machine.now() + 3600000) : super(...given); }
    static now() { return Machine.now() + 3600000; }
  };`;

let database: TestDatabase;
let env: Record<string, string>;
/** Of a machine whose clock is an hour ahead. */
let ahead: Record<string, string>;
let programs: RunningProgram[] = [];
let receiver: WebhookReceiver;

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    ORDERPASS_ORIGIN: 'http://localhost:4000',
  };
  ahead = { ...env, NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(hourAhead)}"` };
  programs = [await startProgram(ahead), await startProgram(env)];
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await receiver?.close();
  await database?.drop();
});

test('an endpoint that is disabled and enabled again by a machine with a wrong clock gets its new events, and both machines accept the tokens of each other', async () => {
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], env);
  const of = ['--restaurant', String(restuid)];
  await runJson(['notifications', 'set', ...of, '--customers', 'on'], env);
  const made = await runJson(['client', 'create', '--name', 'Till', ...of], env);
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: String(made.client_id),
    client_secret: String(made.client_secret),
  });
  const [ahead, right] = programs.map(({ url }) => `${url}/api`);
  const tokens = await Promise.all(
    [ahead, right].map(async (at) => {
      const answer = (await (await fetch(`${at}/oauth/token`, { method: 'POST', body })).json()) as Json;
      return { authorization: `Bearer ${answer.access_token}`, 'content-type': 'application/json' };
    }),
  );
  const post = async (at: string | undefined, path: string, token: number, values: unknown): Promise<Json> => {
    const response = await fetch(`${at}${path}`, {
      method: 'POST',
      headers: tokens[token] ?? {},
      body: JSON.stringify(values),
    });
    const json = (await response.json()) as Json;
    expect([response.status, json]).toEqual([200, json]);
    return json;
  };
  const { endpoint } = await post(right, '/webhook/create', 0, { url: receiver.url });
  await post(ahead, '/webhook/update', 1, { uid: endpoint.uid, enabled: false });
  await post(ahead, '/webhook/update', 1, { uid: endpoint.uid, enabled: true });
  await post(right, '/customer/create', 0, { first_name: 'Ada', email: 'ada@example.com' });
  await until(() => receiver.received.length === 1);
  const log = await fetch(`${right}/webhook/deliveries`, { headers: tokens[0] ?? {} });
  const { deliveries } = (await log.json()) as Json;
  expect(deliveries).toHaveLength(1);
});

test('client revoke-tokens on a machine with a wrong clock means the time of the database, and prints it', async () => {
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Da Bea'], env);
  const { client_id } = await runJson(['client', 'create', '--name', 'Till', '--restaurant', String(restuid)], env);
  const revoked = await runJson(['client', 'revoke-tokens', '--client-id', String(client_id)], ahead);
  expect(Math.abs(Date.parse(String(revoked.tokens_not_before)) - Date.now())).toBeLessThan(600_000);
});
