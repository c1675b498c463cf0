import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../support/program.ts';
import { isWithinASecond, until } from '../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;
let program: RunningProgram;
let restuid: string;

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    NODE_ENV: 'production',
    ORDERPASS_TRUSTED_PROXY_HOPS: '1',
  };
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Da Ada'], env)).restuid);
  program = await startProgram(env);
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
});

const json = (...args: string[]) => runJson(args, env) as Promise<Record<string, unknown>>;

const get = async (headers: Record<string, string>, address = '192.0.2.1'): Promise<Response> => {
  const answer = await fetch(`${program.url}/api/whoami`, { headers: { ...headers, 'x-forwarded-for': address } });
  await answer.arrayBuffer();
  return answer;
};

test('A-220 client limits and key limits set, show and clear limits, which hold within a second', async () => {
  const made = await json('client', 'create', '--name', 'Till', '--restaurant', restuid);
  const id = String(made.client_id);
  const headers = { 'x-client-id': id, 'x-client-secret': String(made.client_secret) };
  const none = { minute: null, burst: null, day: null, month: null, concurrency: null };
  expect(await json('client', 'limits', id)).toEqual({ client_id: id, ...none });
  const set = await json(
    'client',
    'limits',
    id,
    '--day',
    '3',
    '--month',
    '100',
    '--minute',
    '50',
    '--concurrency',
    '4',
  );
  expect(set).toEqual({ client_id: id, ...none, day: 3, month: 100, minute: 50, concurrency: 4 });
  const hasQuotas = async (): Promise<boolean> =>
    (await get(headers)).headers.get('ratelimit-policy')?.includes('"day";q=3;w=86400, "month";q=100;') === true;
  await isWithinASecond(hasQuotas, true);
  await until(async () => (await get(headers)).status === 429);
  expect(await json('client', 'limits', '--client-id', id, '--day', 'none', '--month', '200')).toMatchObject({
    day: null,
    month: 200,
    minute: 50,
  });
  await isWithinASecond(async () => (await get(headers)).status, 200);
  expect((await json('client', 'show', '--client-id', id)).limits).toEqual({ minute: 50, month: 200, concurrency: 4 });
  expect(await json('client', 'limits', id, '--clear')).toEqual({ client_id: id, ...none });

  const { key_id, api_key } = await json('key', 'create', '--restaurant', restuid);
  const key = String(key_id);
  expect(await json('key', 'limits', key, '--day', '9')).toEqual({ key_id: key, ...none, day: 9 });
  const hasOwnQuota = async (): Promise<boolean> =>
    (await get({ 'x-api-key': String(api_key) })).headers.get('ratelimit-policy')?.includes('"day";q=9;') === true;
  await isWithinASecond(hasOwnQuota, true);
  const { keys } = (await json('key', 'list', '--restaurant', restuid)) as { keys: Record<string, unknown>[] };
  expect(keys.find((one) => one.key_id === key)).toMatchObject({ limits: { day: 9 }, allow_ip: null });
});

test('A-226 wrong limits, ids and networks are refused with what to change', async () => {
  const made = await json('client', 'create', '--name', 'Bad', '--restaurant', restuid);
  const id = String(made.client_id);
  for (const [args, code, text] of [
    [['client', 'limits', id, '--day', '0'], 2, 'whole number'],
    [['client', 'limits', id, '--day', 'ten'], 2, 'whole number'],
    [['client', 'limits', id, '--clear', '--day', '5'], 2, 'either --clear'],
    [['client', 'limits'], 2, '--client-id'],
    [['client', 'limits', 'opc_nothing', '--day', '5'], 1, 'opc_nothing'],
    [['key', 'limits', id, '--day', '5'], 1, id],
    [['client', 'allow-ip', id, '--allow-ip', '10.1.2.3/8', 'x'], 1, '10.0.0.0/8'],
    [['client', 'create', '--name', 'X', '--restaurant', restuid, '--allow-ip', '10.1.2.3/8'], 1, '10.0.0.0/8'],
    [['usage', '--days', '0'], 2, '1 to 400'],
    [['usage', '--client', 'opc_nothing'], 1, 'opc_nothing'],
  ] as const) {
    const refused = await runCommand([...args], env);
    expect([args, refused.code]).toEqual([args, code]);
    expect(refused.stderr).toContain(text);
  }
});

test('A-225 A-227 usage shows units by the day, refusals by a limit and calls from elsewhere, which client show has too', async () => {
  const made = await json(
    'client',
    'create',
    '--name',
    'Ada Delivery',
    '--restaurant',
    restuid,
    '--allow-ip',
    '192.0.2.0/24',
  );
  const id = String(made.client_id);
  const headers = { 'x-client-id': id, 'x-client-secret': String(made.client_secret) };
  await json('client', 'limits', id, '--day', '4');
  await expect.poll(async () => (await get(headers)).headers.get('ratelimit-policy')).toContain('"day"');
  await until(async () => (await get(headers)).status === 429);
  expect((await get(headers, '203.0.113.5')).status).toBe(403);
  type Day = { day: string; requests: number; units: number; limited: number; refused_elsewhere: number };
  type Usage = {
    day_units: number;
    month_units: number;
    limits: object;
    days: Day[];
    refused_elsewhere: object | null;
  };
  const usage = async (): Promise<Usage> => (await json('usage', '--client', id, '--days', '7')) as unknown as Usage;
  await until(async () => (await usage()).refused_elsewhere !== null);
  const shown = await usage();
  // Requests before the limit arrived count too, so at least the quota was used.
  expect(shown.day_units).toBeGreaterThanOrEqual(4);
  expect(shown).toMatchObject({
    month_units: shown.day_units,
    limits: { day: 4 },
    name: 'Ada Delivery',
    kind: 'client',
  });
  expect(shown.days).toHaveLength(7);
  const today = shown.days.at(-1);
  expect(today).toMatchObject({ units: shown.day_units, requests: shown.day_units, refused_elsewhere: 1 });
  expect(today?.limited).toBeGreaterThanOrEqual(1);
  expect(shown.days[0]).toMatchObject({ requests: 0, units: 0, limited: 0 });
  expect(shown.refused_elsewhere).toMatchObject({ calls: 1, address: '203.0.113.5' });
  const all = (await json('usage')) as unknown as {
    days: number;
    usage: (Usage & { caller: string; units: number })[];
  };
  expect(all.usage.find(({ caller }) => caller === id)).toMatchObject({ units: shown.day_units, limits: { day: 4 } });
  const client = await json('client', 'show', '--client-id', id);
  expect(client).toMatchObject({ allow_ip: ['192.0.2.0/24'], refused_elsewhere: { calls: 1, address: '203.0.113.5' } });
  const people = await runCommand(['client', 'show', '--client-id', id], env);
  expect(people.stdout).toContain('203.0.113.5');
  expect((await runCommand(['usage'], env)).stdout).toContain(`${id}  kind=client  name="Ada Delivery"`);
  expect(await json('client', 'allow-ip', id, '--any')).toEqual({ client_id: id, allow_ip: null });
  await expect.poll(async () => (await get(headers, '203.0.113.5')).status).toBe(429);
});
