import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;
let program: RunningProgram;
let clientId: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-'));
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    NODE_ENV: 'production',
  };
  const restuid = String((await runJson(['restaurant', 'create', '--name', 'Da Ada'], env)).restuid);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  clientId = String(made.client_id);
  program = await startProgram({ ...env, ORDERPASS_AUDIT_STDOUT: 'on' });
  const headers = { 'x-client-id': clientId, 'x-client-secret': String(made.client_secret) };
  expect((await fetch(`${program.url}/api/orders/list`, { headers })).status).toBe(200);
  expect((await fetch(`${program.url}/api/orders/list`)).status).toBe(401);
  for (const action of ['request.allowed', 'request.denied', 'audit.checkpoint']) {
    await until(() => new RegExp(`^\\{.*"event.action":"${action}".*\\}$`, 'm').test(program.output()));
  }
  await program.stop();
});

afterAll(async () => {
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

test('audit search shows lines for people and ECS names with a cursor for scripts', async () => {
  const people = await runCommand(['audit', 'search', '--client', clientId, '--decision', 'allow'], env);
  expect([people.code, people.stderr]).toEqual([0, '']);
  expect(people.stdout).toMatch(/ {2}request\.allowed {2}.*route=orders\.list/);
  const found = (await runJson(['audit', 'search', '--limit', '1'], env)) as unknown as {
    events: Record<string, unknown>[];
    next_cursor: string;
  };
  expect(found.events).toMatchObject([{ 'event.action': 'audit.read' }]);
  const older = (await runJson(['audit', 'search', '--limit', '1', '--before', found.next_cursor], env)) as never;
  expect(older).toMatchObject({ events: [{ 'event.action': 'audit.read' }] });
  expect(await runJson(['audit', 'search', '--decision', 'deny'], env)).toMatchObject({
    events: [{ 'event.action': 'request.denied', 'event.outcome': 'failure' }],
    next_cursor: null,
  });
  for (const wrong of [
    ['--decision', 'maybe'],
    ['--limit', '0'],
    ['--since', 'yesterday-ish'],
  ]) {
    expect((await runCommand(['audit', 'search', ...wrong], env)).code).toBe(2);
  }
});

test('F-06 a search of the audit whose end is not after its start is refused, because no event can match it', async () => {
  for (const until of ['2026-05-01T10:00:00Z', '2026-05-01T09:59:59Z']) {
    const span = ['--since', '2026-05-01T10:00:00Z', '--until', until];
    expect(await runCommand(['audit', 'search', ...span], env)).toMatchObject({
      ...{ code: 2, stdout: '' },
      stderr: expect.stringContaining('--until must be after --since'),
    });
  }
  const span = ['--since', '2026-05-01T10:00:00Z', '--until', '2026-05-01T10:00:01Z'];
  expect((await runCommand(['audit', 'search', ...span], env)).stdout).toContain('No event matches.');
});

const printed = (): Record<string, unknown>[] =>
  program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test('the audit stands on standard output as JSON lines when the settings say so', () => {
  const actions = printed().map((line) => line['event.action']);
  expect(actions).toEqual(
    expect.arrayContaining(['tenant.created', 'client.created', 'request.allowed', 'request.denied']),
  );
});

test('A-495 a checkpoint stands on standard output as a line, and the audit continues it', async () => {
  const line = printed().find((one) => one['event.action'] === 'audit.checkpoint');
  const file = join(folder, 'printed.checkpoint');
  writeFileSync(file, String(line?.['orderpass.checkpoint']));
  const verified = await runJson(['audit', 'verify', '--checkpoint', file], env);
  expect(verified).toMatchObject({ ok: true, checkpoint: { problem: null } });
  expect(line?.['event.id']).toBe(`checkpoint-${String(line?.['orderpass.checkpoint']).split('\n')[1]}`);
});

test('audit export continues from the cursor file, which is written after the last line was accepted', async () => {
  const file = join(folder, 'cursor');
  const run = () => runCommand(['audit', 'export', '--cursor-file', file], env);
  const first = await run();
  expect(first.code).toBe(0);
  const lines = first.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map((line) => line['event.action'])).toContain('request.denied');
  expect(first.stderr).toMatch(/^cursor \d+~\d+-\d+/m);
  expect(existsSync(file)).toBe(true);
  const second = await run();
  expect(second.stdout.trim().split('\n')).toHaveLength(1);
  expect(JSON.parse(second.stdout)).toMatchObject({ 'event.action': 'audit.read' });
  const csv = await runCommand(['audit', 'export', '--format', 'csv'], env);
  expect(csv.stdout.split('\r\n')[0]).toMatch(/^@timestamp,event\.id,/);
  expect((await runCommand(['audit', 'export', '--format', 'xml'], env)).code).toBe(2);
});

test('the command that audit unused-scopes proposes leaves a client with the scopes it used; then nothing is proposed', async () => {
  const found = (await runJson(['audit', 'unused-scopes', '--days', '30'], env)) as unknown as {
    clients: { client_id: string; command: string; proposed: string[] }[];
  };
  expect(found.clients).toMatchObject([{ client_id: clientId, used: { 'read:orders': 1 }, proposed: ['read:orders'] }]);
  const command = found.clients[0]?.command ?? '';
  expect(command).toBe(`orderpass client scopes --client-id ${clientId} --scope "read:orders"`);
  expect((await runCommand(['audit', 'unused-scopes'], env)).stdout).toContain(command);
  await runJson(['client', 'scopes', '--client-id', clientId, '--scope', 'read:orders'], env);
  expect(await runJson(['audit', 'unused-scopes'], env)).toMatchObject({ clients: [] });
});
