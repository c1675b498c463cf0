/** Requests of one caller that wait for a lock in the store, and what others notice of it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type RunningProgram, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';

let database: TestDatabase;
let program: RunningProgram;
let env: Record<string, string>;

type Client = { client_id: string; client_secret: string };

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: Buffer.alloc(32, 5).toString('base64') };
  program = await startProgram(env);
});

afterAll(async () => {
  await program?.stop();
  await database.drop();
});

const createClient = async (name: string): Promise<Client> => {
  const { restuid } = await runJson(['restaurant', 'create', '--name', name], env);
  const made = await runJson(['client', 'create', '--name', name, '--restaurant', String(restuid)], env);
  return made as unknown as Client;
};

const askForToken = (client: Client): Promise<Response> =>
  fetch(`${program.url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...client, grant_type: 'client_credentials' }),
  });

const callerOf = async (client: Client) => {
  const { access_token: token } = (await (await askForToken(client)).json()) as { access_token: string };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return {
    get: (path: string) => fetch(`${program.url}/api${path}`, { headers }),
    post: (path: string, body: unknown) =>
      fetch(`${program.url}/api${path}`, { method: 'POST', headers, body: JSON.stringify(body) }),
  };
};

/** Statements that wait for a lock. */
const waiting = async (): Promise<number> => {
  const { rows } = await database.pool.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.length;
};

test('A-832 while changes of a record that is locked wait for it, more than there are connections, other callers are served and get tokens', async () => {
  const [client, other] = [await createClient('Osteria'), await createClient('Trattoria')];
  const [caller, neighbour] = [await callerOf(client), await callerOf(other)];
  const made = await caller.post('/customer/create', { email: 'dante@example.com' });
  const { customer } = (await made.json()) as { customer: { uid: string } };
  const holder = await database.pool.connect();
  let changes: Promise<Response>[] = [];
  try {
    // As a process whose machine is gone, until PostgreSQL ends its transaction.
    await holder.query('begin');
    await holder.query('select from ordering.customers where uid = $1 for update', [customer.uid]);
    changes = Array.from({ length: 24 }, (_, i) =>
      caller.post('/customer/update', { uid: customer.uid, first_name: `Dante ${i}` }),
    );
    await until(async () => (await waiting()) >= 4);
    for (let round = 0; round < 5; round += 1) {
      const asked = [
        neighbour.get('/orders/list'),
        neighbour.post('/customer/create', { email: `beatrice-${round}@example.com` }),
        askForToken(other),
      ];
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
    }
    expect(await waiting()).toBe(4);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
  // On a busy machine some have waited too long for their turn.
  const statuses = (await Promise.all(changes)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(4);
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect((await caller.post('/customer/update', { uid: customer.uid, first_name: 'Dante' })).status).toBe(200);
});
