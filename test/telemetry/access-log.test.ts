/** The access log of the real program, against its table in config/README.md. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { root, runJson, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

const section = readFileSync(join(root, 'config/README.md'), 'utf8').split('\n### Access log\n')[1] ?? '';
const documented = [...section.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
);

/** Those of every line. */
const common = ['level', 'time', 'role', 'pid', 'host', 'version', 'msg'];
/** They need tracing, a tool call, or a client certificate. */
const special = ['trace_id', 'via', 'client_certificate'];

test('A-565 the access log has the documented members at the level info, and no line at the default level', async () => {
  const database = await createTestDatabase();
  onTestFinished(database.drop);
  const env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
  const ask = async (more: Record<string, string>): Promise<Record<string, unknown>[]> => {
    const program = await startProgram({ ...env, ...more });
    onTestFinished(async () => void (await program.kill()));
    const { restuid } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
    const { api_key } = await runJson(['key', 'create', '--restaurant', String(restuid)], env);
    const get = (path: string) =>
      fetch(`${program.url}${path}`, { headers: { 'x-api-key': String(api_key), connection: 'close' } });
    expect((await get('/api/orders/list?page=1')).status).toBe(200);
    expect((await get('/api/nowhere')).status).toBe(404);
    const lines = (): Record<string, unknown>[] =>
      program
        .errors()
        .split('\n')
        .filter((line) => line.includes('"msg":"request"'))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    if (more.ORDERPASS_LOG_LEVEL === 'info') await until(() => lines().length === 2);
    // All that was logged has arrived by the end of the program.
    await program.stop();
    return lines();
  };
  expect(await ask({})).toEqual([]);
  const [allowed, refused] = await ask({ ORDERPASS_LOG_LEVEL: 'info' });
  const members = new Set([...Object.keys(allowed ?? {}), ...Object.keys(refused ?? {})]);
  expect(documented.toSorted()).toEqual(
    [...[...members].filter((name) => !common.includes(name)), ...special].toSorted(),
  );
  expect(allowed).toMatchObject({ path: '/api/orders/list', route: 'orders.list', kind: 'api_key', complete: true });
  expect(allowed).toMatchObject({ upstream: 'ordering', upstream_address: expect.stringMatching(/^http:/) });
  expect(refused).toMatchObject({ path: '/api/nowhere', status: 404, refusal: expect.any(String) });
  expect(refused).not.toHaveProperty('upstream');
});

test('A-778 pages of the panel and refusals of OAuth have the request id of their answer in the access log', async () => {
  const database = await createTestDatabase();
  onTestFinished(database.drop);
  const program = await startProgram({
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_LOG_LEVEL: 'info',
  });
  onTestFinished(async () => void (await program.kill()));
  const ask = async (path: string, init: RequestInit): Promise<string | null> => {
    const answer = await fetch(`${program.url}${path}`, init);
    await answer.text();
    return answer.headers.get('x-request-id');
  };
  const given = await ask('/panel/sign-in', { headers: { 'x-request-id': 'mine-1' } });
  const made = await ask('/panel/sign-in', {});
  const refused = await ask('/api/oauth/revoke', { method: 'POST', body: new URLSearchParams({ token: 'a' }) });
  const lines = (): Record<string, unknown>[] =>
    program
      .errors()
      .split('\n')
      .filter((line) => line.includes('"msg":"request"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  await until(() => lines().length === 3);
  expect(given).toBe('mine-1');
  expect(
    lines()
      .map(({ request_id }) => request_id)
      .toSorted(),
  ).toEqual([given, made, refused].toSorted());
  expect(lines().find(({ path }) => path === '/api/oauth/revoke')).toMatchObject({
    refusal: 'INVALID_AUTH',
    status: 401,
  });
});
