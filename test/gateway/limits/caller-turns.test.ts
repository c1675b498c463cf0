/** A table that another session locks, as an operator's work on it does, and what callers without a need for it notice. */
import type pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '#src/platform/db/pool.ts';
import { until } from '../../support/until.ts';
import { clientHeaders, type Door, type Harness, openHarness, postToken, read } from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';

const connectionsMax = 12;

let harness: Harness;
let pool: pg.Pool;
let door: Door;
let tenant: string;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  const connection = harness.database.url;
  pool = createPool({ connection, max: connectionsMax, applicationName: 'locked-out' }, pino({ level: 'silent' }));
  door = await harness.openDoor({ pool });
});

afterAll(async () => {
  await harness?.close();
  await pool?.end();
});

const get = (headers: Headers, target = read): Promise<Reply> => sendRequest(door.url, 'GET', target, { headers });

/** Statements of the gateway that wait for a lock. */
const waiting = async (): Promise<number> => {
  const { rows } = await harness.database.pool.query(
    `select from pg_stat_activity where datname = current_database() and application_name = 'locked-out'
       and wait_event_type = 'Lock'`,
  );
  return rows.length;
};

const whileLocked = async (table: string, work: () => Promise<void>): Promise<void> => {
  const holder = await harness.database.pool.connect();
  await holder.query('begin');
  await holder.query(`lock table ${table} in access exclusive mode`);
  try {
    await work();
  } finally {
    await holder.query('rollback');
    holder.release();
  }
};

/** A client that the gateway knows, as it answers one after the other. */
const knownClient = async () => {
  const client = await harness.createClient([tenant]);
  const headers = clientHeaders(client);
  expect((await get(headers)).status).toBe(200);
  const token = (): Promise<Reply> => postToken(door.url, { grant_type: 'client_credentials', ...bare(client) });
  return { id: client.client_id, headers, token };
};

const bare = ({ client_id, client_secret }: { client_id: string; client_secret: string }) => ({
  client_id,
  client_secret,
});

test('A-834 while a caller reads its requests and their table is locked, others get tokens, pass, and read about themselves', async () => {
  const [caller, other] = [await knownClient(), await knownClient()];
  let asked: Promise<Reply>[] = [];
  await whileLocked('gateway.requests', async () => {
    asked = Array.from({ length: 2 * connectionsMax }, () => get(caller.headers, '/api/whoami/requests'));
    await until(async () => (await waiting()) >= 2);
    for (let round = 0; round < 3; round += 1) {
      expect((await other.token()).status).toBe(200);
      expect((await get(other.headers)).status).toBe(200);
      expect((await get(other.headers, '/api/whoami')).status).toBe(200);
    }
  });
  // On a busy machine some have waited too long for their turn.
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect((await get(caller.headers, '/api/whoami/requests')).status).toBe(200);
});

test('A-834 while the units of many quotas cannot be taken because their table is locked, callers without quotas get tokens and pass', async () => {
  const other = await knownClient();
  const limited = await Promise.all(Array.from({ length: 2 * connectionsMax }, knownClient));
  for (const { id } of limited) await harness.credentials.setLimits('client', id, { day: 200 });
  const hasQuota = async ({ headers }: { headers: Headers }): Promise<boolean> =>
    String((await get(headers)).headers['ratelimit-policy']).includes('"day"');
  for (const one of limited) await until(() => hasQuota(one));
  await whileLocked('gateway.quota_leases', async () => {
    const asked: Promise<Reply>[] = [];
    // Units that are held run out, so that each asks for more.
    await until(async () => {
      asked.push(...limited.flatMap(({ headers }) => Array.from({ length: 4 }, () => get(headers))));
      return (await waiting()) >= 3;
    });
    for (let round = 0; round < 3; round += 1) {
      expect((await other.token()).status).toBe(200);
      expect((await get(other.headers)).status).toBe(200);
    }
    await Promise.all(asked);
  });
  await until(async () => (await get(limited[0]?.headers ?? {})).status === 200);
});
