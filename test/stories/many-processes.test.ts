import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { isWithinASecond } from '../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;
const programs: RunningProgram[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
  const port = String(await freePort());
  const origin = 'http://localhost:4000';
  const upstreams = `ordering=http://127.0.0.1:${port}`;
  programs.push(
    ...(await Promise.all([
      startProgram({ ...env, ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: port }),
      startProgram({ ...env, ORDERPASS_ROLE: 'gateway', ORDERPASS_ORIGIN: origin, ORDERPASS_UPSTREAMS: upstreams }),
      startProgram({ ...env, ORDERPASS_ROLE: 'gateway', ORDERPASS_ORIGIN: origin, ORDERPASS_UPSTREAMS: upstreams }),
      startProgram({ ...env, ORDERPASS_ROLE: 'worker' }),
    ])),
  );
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await database?.drop();
});

test('A-022 a token of one gateway opens the other, and a client that is disabled is refused by both within a second', async () => {
  const [, left, right] = programs as [RunningProgram, RunningProgram, RunningProgram];
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const client = await runJson(['client', 'create', '--name', 'Till', '--restaurant', String(restuid)], env);
  const issued = await fetch(`${left.url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: String(client.client_id),
      client_secret: String(client.client_secret),
    }),
  });
  expect(issued.status).toBe(200);
  const { access_token: token } = (await issued.json()) as { access_token: string };
  const read = async (url: string): Promise<number> =>
    (await fetch(`${url}/api/orders/list`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect([await read(left.url), await read(right.url)]).toEqual([200, 200]);

  await runJson(['client', 'disable', '--client-id', String(client.client_id)], env);
  await isWithinASecond(() => Promise.all([read(left.url), read(right.url)]), [401, 401]);
});

test('the core answers only the gateway', async () => {
  const [core] = programs as [RunningProgram];
  const response = await fetch(`${core.url}/api/orders/list`, { headers: { 'x-api-key': 'opk_anything' } });
  expect(response.status).toBe(401);
});
