/** The audit of a real program: killed, set back and emptied, and held against what left the house before. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeDataDir, type RunningProgram, runCommand, runJson, startProgram } from '../support/program.ts';
import { databaseNameOf, run } from '../support/test-server.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let folder: ReturnType<typeof makeDataDir>;
let env: Record<string, string>;
let program: RunningProgram | undefined;
let restuid: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = makeDataDir();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_DATA_DIR: folder.path,
    NODE_ENV: 'production',
  };
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Da Ada'], env)).restuid);
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
  folder?.remove();
});

type Verified = { ok: boolean; unsigned: number; problems: { chain: number; seq: number | null; problem: string }[] };

const verify = async (...more: string[]): Promise<Verified & { code: number }> => {
  const { code, stdout, stderr } = await runCommand(['audit', 'verify', '--json', ...more], env);
  if (stdout === '') throw new Error(stderr);
  return { ...(JSON.parse(stdout) as Verified), code };
};

const query = async (text: string, values: unknown[] = []) =>
  (await database.pool.query(text, values)).rows as Record<string, unknown>[];

const sendRequest = (url: string): Promise<number> => fetch(`${url}/api/orders/list`).then(({ status }) => status);

const newest = async (): Promise<{ chain: number; seq: number }> => {
  const [row] = await query('select chain, seq::int as seq from gateway.audit_chains order by chain desc limit 1');
  return row as { chain: number; seq: number };
};

test('A-432 commands print a checkpoint and proofs, and verify names a checkpoint of another audit', async () => {
  const file = join(folder.path, 'kept.checkpoint');
  const { vkey, checkpoint } = await runJson(['audit', 'checkpoint', '--out', file], env);
  expect(String(checkpoint).startsWith(`${String(vkey).split('+')[0]}\n`)).toBe(true);
  const event = await runCommand(['audit', 'prove', '--event', '0-1', '--checkpoint', file], env);
  expect(event.stdout).toMatch(/^c2sp\.org\/tlog-proof@v1\nextra \S+\nindex 0\n/);
  expect((await runCommand(['audit', 'prove', '--from', file], env)).stdout).toMatch(/^old [1-9]\d*\n/);
  const later = join(folder.path, 'later.checkpoint');
  await runJson(['restaurant', 'set', '--restaurant', restuid, '--countdown-minutes', '9'], env);
  await runJson(['audit', 'checkpoint', '--out', later], env);
  await runJson(['restaurant', 'set', '--restaurant', restuid, '--countdown-minutes', '8'], env);
  const between = await runCommand(['audit', 'prove', '--from', file, '--checkpoint', later], env);
  expect(between.stdout.endsWith(`\n\n${readFileSync(later, 'utf8')}`)).toBe(true);
  const backwards = await runCommand(['audit', 'prove', '--from', later, '--checkpoint', file], env);
  expect([backwards.code, backwards.stderr]).toEqual([1, expect.stringContaining('The older checkpoint has')]);
  expect(await verify('--checkpoint', file)).toMatchObject({ ok: true, code: 0, checkpoint: { problem: null } });
  writeFileSync(file, String(checkpoint).replace(/\n\d+\n/, '\n9999\n'));
  expect(await verify('--checkpoint', file)).toMatchObject({ ok: false, code: 1 });
  expect((await runCommand(['audit', 'prove', '--event', '0-1', '--from', file], env)).code).toBe(2);
});

test('F-37 changed settings of a restaurant are in the audit with their actor', async () => {
  await runJson(['restaurant', 'set', '--restaurant', restuid, '--countdown-minutes', '7'], env);
  const [event] = await query(
    `select actor, tenants, details from gateway.audit_events
     where action = 'tenant.changed' order by at desc, seq desc limit 1`,
  );
  expect(event).toMatchObject({ actor: expect.stringMatching(/^cli:/), tenants: [restuid] });
  expect(JSON.parse(String(event?.details))).toEqual({ operation: 'restaurant/set', countdownMinutes: 7 });
});

test('F-58 a killed process leaves nothing unsigned, the next start closes its chain, and what is cut off it is named', async () => {
  program = await startProgram(env);
  for (let i = 0; i < 5; i += 1) expect(await sendRequest(program.url)).toBe(401);
  await program.kill();
  const dead = await newest();
  expect(dead.seq).toBeGreaterThanOrEqual(5);
  expect(await verify()).toMatchObject({ code: 0, ok: true, unsigned: 0 });
  program = await startProgram(env);
  await until(
    async () =>
      (await query('select closed from gateway.audit_chains where chain = $1', [dead.chain]))[0]?.closed === true,
  );
  expect(await verify()).toMatchObject({ code: 0, ok: true });
  await query('delete from gateway.audit_events where chain = $1 and seq > $2', [dead.chain, dead.seq - 2]);
  const { code, problems } = await verify();
  expect(code).toBe(1);
  expect(problems).toContainEqual(expect.objectContaining({ chain: dead.chain, seq: dead.seq - 1 }));
});

test('F-58 the chain of a killed process whose end was cut off is not closed, and is named', async () => {
  for (let i = 0; i < 5; i += 1) expect(await sendRequest(program?.url ?? '')).toBe(401);
  await program?.kill();
  const dead = await newest();
  await query('delete from gateway.audit_events where chain = $1 and seq > $2', [dead.chain, dead.seq - 2]);
  program = await startProgram(env);
  await until(
    async () =>
      (
        await query("select 1 from gateway.audit_events where action = 'audit.broken' and details like $1", [
          `{"chain":${dead.chain},%`,
        ])
      ).length > 0,
  );
  expect(await query('select closed from gateway.audit_chains where chain = $1', [dead.chain])).toEqual([
    { closed: false },
  ]);
  expect((await verify()).problems).toContainEqual(expect.objectContaining({ chain: dead.chain, seq: dead.seq - 1 }));
});

test('F-23 an export tells of a database that went back, also where the data folder is gone; a file that is none is refused', async () => {
  await program?.stop();
  program = undefined;
  const other = await createTestDatabase();
  const elsewhere = { ...env, DATABASE_URL: other.url, ORDERPASS_DATA_DIR: join(folder.path, 'other') };
  const again = async (): Promise<Verified & { code: number }> => {
    const { code, stdout } = await runCommand(['audit', 'verify', '--json', '--against', file], elsewhere);
    return { ...(JSON.parse(stdout) as Verified), code };
  };
  const file = join(folder.path, 'export.jsonl');
  try {
    await runJson(['restaurant', 'create', '--name', 'One'], elsewhere);
    await other.pool.query('create table kept_heads as select * from gateway.audit_chains');
    await other.pool.query('create table kept_events as select * from gateway.audit_events');
    await runJson(['restaurant', 'create', '--name', 'Two'], elsewhere);
    writeFileSync(file, (await runCommand(['audit', 'export'], elsewhere)).stdout);
    const csv = (await runCommand(['audit', 'export', '--format', 'csv'], elsewhere)).stdout;
    expect(await again()).toMatchObject({ code: 0, ok: true, problems: [] });
    for (const name of ['chains', 'events']) {
      await other.pool.query(`delete from gateway.audit_${name}`);
      await other.pool.query(
        `insert into gateway.audit_${name} select * from kept_${name === 'chains' ? 'heads' : name}`,
      );
    }
    elsewhere.ORDERPASS_DATA_DIR = join(folder.path, 'new');
    expect(await again()).toMatchObject({ code: 1, ok: false });
    await runJson(['restaurant', 'create', '--name', 'Three'], elsewhere);
    const { rows } = await other.pool.query('select count(*)::int as n from kept_events');
    const first = { chain: 0, seq: Number(rows[0].n) + 1 };
    expect((await again()).problems).toContainEqual(expect.objectContaining(first));
    writeFileSync(file, csv);
    expect((await again()).problems).toContainEqual(expect.objectContaining(first));
    writeFileSync(file, 'nothing of the kind\n');
    const refused = await runCommand(['audit', 'verify', '--against', file], elsewhere);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('Line 1 is not an event of an export');
  } finally {
    await other.drop();
  }
});

test('F-23 verification names what it cannot see without an earlier end, and an emptied audit is named without the data folder too', async () => {
  const other = await createTestDatabase();
  const elsewhere = { ...env, DATABASE_URL: other.url, ORDERPASS_DATA_DIR: join(folder.path, 'first') };
  const again = () => runCommand(['audit', 'verify'], { ...elsewhere, ORDERPASS_DATA_DIR: join(folder.path, 'none') });
  try {
    const { restuid: own } = await runJson(['restaurant', 'create', '--name', 'One'], elsewhere);
    expect((await runCommand(['audit', 'verify'], elsewhere)).stdout).toContain('Nothing was changed or removed.');
    const unknown = await again();
    expect([unknown.code, unknown.stdout]).toEqual([0, expect.stringContaining('no earlier end is known here')]);
    await other.pool.query('truncate gateway.audit_chains, gateway.audit_events');
    const emptied = await again();
    expect([emptied.code, emptied.stderr]).toEqual([1, expect.stringContaining('chain 0: the chain is missing')]);
    // An installation is older than its first change after the attack.
    await other.pool.query("update gateway.tenants set created = created - interval '2 hours'");
    elsewhere.ORDERPASS_DATA_DIR = join(folder.path, 'next');
    await runJson(['restaurant', 'set', '--restaurant', String(own), '--countdown-minutes', '9'], elsewhere);
    const later = await again();
    expect([later.code, later.stderr]).toEqual([1, expect.stringContaining('chain 0: the chain is missing')]);
  } finally {
    await other.drop();
  }
});

test('A-796 a database that was restored to an older state on purpose is sound when the heads are removed before the first command on it, and named for good when they are removed later', async () => {
  const other = await createTestDatabase();
  const server = inject('testServer').url;
  const name = databaseNameOf(other.url);
  const home = join(folder.path, 'restored');
  const elsewhere = { ...env, DATABASE_URL: other.url, ORDERPASS_DATA_DIR: home };
  const change = (restaurant: string) => runJson(['restaurant', 'create', '--name', restaurant], elsewhere);
  const again = async (): Promise<number> => (await runCommand(['audit', 'verify'], elsewhere)).code;
  const restore = async (): Promise<void> => {
    await run(server, `drop database ${name} with (force)`);
    await run(server, `create database ${name} template ${name}_backup`);
  };
  const removeHeads = (): void => {
    const heads = readdirSync(home).filter((file) => file.startsWith('audit-heads-'));
    expect(heads).toHaveLength(1);
    for (const file of heads) rmSync(join(home, file));
  };
  try {
    await change('One');
    await run(server, `create database ${name}_backup template ${name}`);
    await change('Two');
    await restore();
    expect(await again()).toBe(1);
    removeHeads();
    expect(await again()).toBe(0);
    await change('Three');
    expect(await again()).toBe(0);
    await restore();
    await change('Four');
    removeHeads();
    expect(await again()).toBe(1);
    // The way out: once more from the backup.
    await restore();
    await change('Five');
    expect(await again()).toBe(0);
  } finally {
    await other.drop();
    await run(server, `drop database if exists ${name}_backup with (force)`);
  }
});

test('F-24 the text of a search says which event no signature covers', async () => {
  const [end] = await query(
    'select chain, seq::int from gateway.audit_events where chain = 0 order by seq desc limit 1',
  );
  await query(
    `insert into gateway.audit_events select (jsonb_populate_record(e, jsonb_build_object('seq', e.seq + 1, 'actor', 'mallory', 'details', 'x'))).*
     from gateway.audit_events e where chain = $1 and seq = $2`,
    [end?.chain, end?.seq],
  );
  const { stdout } = await runCommand(['audit', 'search', '--limit', '500'], env);
  const shown = stdout.split('\n').filter((line) => line.includes('signed="no, so it may be forged"'));
  expect(shown).toHaveLength(1);
  expect(shown[0]).toContain('mallory');
  await query('delete from gateway.audit_events where chain = $1 and seq > $2', [end?.chain, end?.seq]);
});

test('F-23 an emptied audit is named by the heads in the data folder, for good, and one whose file was edited too', async () => {
  await query('truncate gateway.audit_chains, gateway.audit_events');
  expect((await verify()).problems).toContainEqual({ chain: 0, seq: null, problem: 'the chain is missing' });
  program = await startProgram(env);
  await sendRequest(program.url);
  await runJson(['restaurant', 'set', '--restaurant', restuid, '--countdown-minutes', '8'], env);
  await program.stop();
  program = undefined;
  expect((await verify()).problems).toContainEqual({ chain: 0, seq: null, problem: 'the chain is missing' });
  const [event] = await query("select details from gateway.audit_events where action = 'audit.rolled_back' limit 1");
  expect(JSON.parse(String(event?.details))).toMatchObject({ chain: 0 });
  const [kept] = readdirSync(folder.path).filter((name) => name.startsWith('audit-heads-'));
  writeFileSync(join(folder.path, kept ?? ''), `${'0'.repeat(64)}\n{"heads":[],"problems":[]}\n`);
  expect((await verify()).problems).toContainEqual(
    expect.objectContaining({ problem: 'the file that keeps the heads beside the database was changed' }),
  );
});
