/** Backup, restore and move of one embedded store, by the commands that an operator uses. */
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createBackup } from '#src/app/backup/create-backup.ts';
import { restoreBackup } from '#src/app/backup/restore-backup.ts';
import { loadSettings } from '#src/app/settings/config.ts';
import { isHeadsFile } from '#src/gateway/index.ts';
import { connectionUrl } from '#src/platform/db/driver/socket-connection.ts';
import { embeddedConnection } from '#src/platform/db/embedded/embedded.ts';
import { createLog } from '#src/platform/log.ts';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import {
  makeDataDir,
  plainEnv,
  type RunningProgram,
  root,
  runCommand,
  runJson,
  runWithInput,
  startProgram,
} from '../../support/program.ts';
import { query, startOwner, untilNoServer } from '../../support/store-owner.ts';
import { databaseNameOf, roleUrl, run } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';

const data = makeDataDir();
const folder = join(data.path, '..');
const env: Record<string, string> = {
  ORDERPASS_DATA_DIR: data.path,
  ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
  // Orders are written for as long as the backup takes, as fast as the machine can.
  ORDERPASS_RATE_BURST_UNITS: '100000',
  ORDERPASS_RATE_MINUTE_UNITS: '1000000',
};
const backup = join(folder, 'backup');

let program: RunningProgram;
let receiver: WebhookReceiver;
let restuid: string;
let endpoint: Record<string, string>;
let keys: { api: string; client: string; secret: string };
let order: string;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

beforeAll(async () => {
  receiver = await startReceiver();
  // The address is the issuer of tokens, so it stays the same after the move.
  env.PORT = String(await freePort());
  program = await startProgram(env);
  await until(() => program.output().includes('/demo/receiver\n'));
  const shown = (name: string): string => new RegExp(`${name} +(\\S+)`).exec(program.output())?.[1] ?? '';
  keys = { api: shown('API key'), client: shown('Client id'), secret: shown('Client secret') };
  order = /-d '(\{.*\})'/.exec(program.output())?.[1] ?? '';
  restuid = /\((rst_\w+)\)/.exec(program.output())?.[1] ?? '';
  const create = ['endpoint', 'create', '--restaurant', restuid, '--url', receiver.url, '--kinds', 'orders'];
  endpoint = await runJson(create, env);
});
afterAll(async () => {
  await program?.kill();
  await receiver?.close();
  data.remove();
});

const move = ['move', '--to', '-'];

/** The uid of a new order. */
const createOrder = async (url: string): Promise<string> => {
  const response = await fetch(`${url}/api/order/create`, {
    method: 'POST',
    headers: { 'x-client-id': keys.client, 'x-client-secret': keys.secret, 'content-type': 'application/json' },
    body: order,
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const uid = /"(ord_\w+)"/.exec(text)?.[1];
  if (uid === undefined) throw new Error(text);
  return uid;
};

const countOrders = async (url: string): Promise<number> => {
  const response = await fetch(`${url}/api/orders/list`, { headers: { 'x-api-key': keys.api } });
  expect(response.status).toBe(200);
  return ((await response.json()) as { total_count: number }).total_count;
};

const start = async (own: Record<string, string>): Promise<RunningProgram> => {
  const started = await startProgram(own);
  closers.push(() => started.kill());
  return started;
};

const at = (name: string): Record<string, string> => ({
  ...env,
  ORDERPASS_DATA_DIR: join(folder, name),
  PORT: '0',
});

test('A-275 a backup that is made while orders come in is restored with every order acknowledged before it, its audit and its credentials', async () => {
  const before = [await createOrder(program.url), await createOrder(program.url)];
  let isDone = false;
  let meanwhile = 0;
  const writing = (async (): Promise<void> => {
    for (; !isDone; meanwhile += 1) await createOrder(program.url);
  })();
  const end = (): void => {
    isDone = true;
  };
  const [made] = await Promise.all([
    runJson(['backup', '--to', backup, '--with-master-key'], env).finally(end),
    writing,
  ]);
  expect(meanwhile).toBeGreaterThan(0);
  expect(made).toMatchObject({ folder: backup, with_master_key: true });
  expect(statSync(backup).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(backup)) expect(statSync(join(backup, name)).mode & 0o777, name).toBe(0o600);

  const restored = await runJson(['restore', '--from', backup], at('restored'));
  expect(restored).toMatchObject({
    backup: made.backup,
    audit_ok: true,
    audit_problems: [],
    master_key: 'data folder',
  });
  const again = await start(at('restored'));
  for (const uid of before) {
    const statusOf = async (): Promise<number> =>
      (await fetch(`${again.url}/api/orders/get?uid=${uid}`, { headers: { 'x-api-key': keys.api } })).status;
    // A busy machine may answer the first requests of a start with 503.
    await expect.poll(statusOf).toBe(200);
  }
  const { events } = JSON.parse(
    (await runCommand(['audit', 'search', '--action', 'store.restored', '--json'], at('restored'))).stdout,
  );
  const details = { backup: made.backup, taken_at: made.taken_at };
  expect(events).toEqual([expect.objectContaining({ 'orderpass.details': details })]);
}, 240_000);

test('A-275 a restore refuses a data folder with content, a backup without its key, and a damaged file by its name, and changes nothing', async () => {
  const running = await runCommand(['restore', '--from', backup], env);
  expect([running.code, running.stderr]).toEqual([1, expect.stringContaining(`${data.path} is not empty`)]);
  const target = at('refused');
  const refused = async (why: string, ...more: string[]): Promise<void> => {
    const { code, stderr } = await runCommand(['restore', '--from', backup, ...more], target);
    expect([code, stderr]).toEqual([1, expect.stringContaining(why)]);
    expect(existsSync(join(folder, 'refused'))).toBe(false);
  };
  const otherKey = join(folder, 'other.key');
  writeFileSync(otherKey, Buffer.alloc(32).toString('base64'));
  await refused('not the one that', '--master-key-file', otherKey);
  const keyFile = ['--master-key-file', join(backup, 'master.key')];
  target.ORDERPASS_MASTER_KEY_FILE = otherKey;
  await refused('the next start would take that of the settings', ...keyFile);
  delete target.ORDERPASS_MASTER_KEY_FILE;
  const archive = join(backup, 'base.tar');
  const content = readFileSync(archive);
  const middle = content.length >> 1;
  const damaged = Buffer.from(content);
  damaged[middle] = (damaged[middle] ?? 0) ^ 1;
  writeFileSync(archive, damaged);
  await refused(`the content of ${archive} differs`);
  writeFileSync(archive, content);
  const manifest = join(backup, 'backup.json');
  const text = readFileSync(manifest, 'utf8');
  writeFileSync(manifest, text.replace('"timeline": 1', '"timeline": 2'));
  await refused('its backup.json was changed');
  rmSync(manifest);
  await refused('is not a complete backup');
  writeFileSync(manifest, text);
});

/** Starts a backup and holds it in its middle: the server cannot make the checkpoint that a backup begins with. */
const startHeldBackup = async (to: string) => {
  const found = await embeddedConnection(data.path);
  if (found === undefined) throw new Error('no store runs');
  const find = "select pid from pg_stat_activity where backend_type = 'checkpointer'";
  const [checkpointer] = (await query(found.connection, find)) as { pid: number }[];
  const pid = checkpointer?.pid ?? 0;
  process.kill(pid, 'SIGSTOP');
  closers.push(() => process.kill(pid, 'SIGCONT'));
  const child = spawn(process.execPath, [join(root, 'src/cli/launch.mjs'), 'backup', '--to', to], {
    cwd: root,
    env: { ...plainEnv(), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const drafts = (): string[] => readdirSync(folder).filter((name) => name.startsWith('held.partial-'));
  await until(() => drafts().some((name) => existsSync(join(folder, name, 'base.tar'))));
  /** `times`: how often the signal is sent, within less than a second. Resolves with what the command wrote to standard error. */
  const end = async (signal: NodeJS.Signals, times = 1): Promise<string> => {
    for (let sent = 0; sent < times; sent += 1) {
      child.kill(signal);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await exited;
    return errors;
  };
  return { drafts, end, connection: found.connection };
};

test('A-275 a restore with the key of the settings in a file copies no key, and says where the next start finds it', async () => {
  const key = readFileSync(join(backup, 'master.key'), 'utf8').trim();
  const target = { ...at('keyed'), ORDERPASS_MASTER_KEY: key };
  const words = ['restore', '--from', backup, '--master-key-file', join(backup, 'master.key')];
  expect(await runJson(words, target)).toMatchObject({ master_key: 'settings', audit_ok: true });
  expect(existsSync(join(folder, 'keyed', 'master.key'))).toBe(false);
});

test('A-508 a restore that fails when its files get their names leaves none of them', async () => {
  expect(readdirSync(backup).filter(isHeadsFile)).not.toEqual([]);
  const target = join(folder, 'half');
  const restoring = runCommand(['restore', '--from', backup], at('half'));
  await until(() => existsSync(join(target, 'restore.unfinished', 'postgres')));
  mkdirSync(join(target, 'master.key', 'foreign'), { recursive: true });
  const { code, stderr } = await restoring;
  expect([code, stderr]).toEqual([1, expect.stringContaining('master.key')]);
  expect(readdirSync(target)).toEqual(['master.key']);
});

test('A-275 A-670 a backup that is killed in its middle leaves no folder that a restore takes, and one that is interrupted leaves nothing', async () => {
  const held = join(folder, 'held');
  const killed = await startHeldBackup(held);
  await killed.end('SIGKILL');
  const [draft = ''] = killed.drafts();
  expect(existsSync(held)).toBe(false);
  const { code, stderr } = await runCommand(['restore', '--from', join(folder, draft)], at('refused'));
  expect([code, stderr]).toEqual([1, expect.stringContaining('is not a complete backup')]);
  rmSync(join(folder, draft), { recursive: true });
  const interrupted = await startHeldBackup(held);
  // A terminal signals each process of the group, and npm passes the signal on.
  expect(await interrupted.end('SIGINT', 100)).toContain('SIGINT: the command was ended before it was done');
  expect([interrupted.drafts(), existsSync(held)]).toEqual([[], false]);
  for (const close of closers.splice(0).reverse()) close();
  // The WAL that they held is free again.
  await until(async () => (await query(interrupted.connection, 'select from pg_replication_slots')).length === 0);
});

test('A-570 a backup during which the master key is rotated is refused and leaves nothing, and the next one is restored', async () => {
  const rotated = join(folder, 'rotated');
  let exitCode: number | null | undefined;
  const rotate = (): void => {
    if (exitCode !== undefined) return;
    const command = [join(root, 'src/cli/launch.mjs'), 'master-key', 'rotate'];
    exitCode = spawnSync(process.execPath, command, { cwd: root, env: { ...plainEnv(), ...env } }).status;
  };
  const request = { to: rotated, withMasterKey: true, signal: new AbortController().signal, onPercent: rotate };
  const made = createBackup(loadSettings({ env }), createLog({ level: 'silent', role: 'backup' }), request);
  await expect(made).rejects.toThrow('the master key was rotated during the backup');
  expect([exitCode, readdirSync(folder).filter((name) => name.startsWith('rotated'))]).toEqual([0, []]);
  // Also where the place is named by a link to an empty folder.
  const link = join(folder, 'link');
  symlinkSync('rotated', link);
  mkdirSync(rotated);
  await runJson(['backup', '--to', link, '--with-master-key'], env);
  expect(await runJson(['restore', '--from', rotated], at('of-new-key'))).toMatchObject({ audit_ok: true });
}, 240_000);

/** `meanwhile`: runs once, when the restore has compared the first bytes of the backup, or as much as `fromPercent`. */
const restoreWhile = (
  target: Record<string, string>,
  meanwhile: () => void,
  { fromPercent = 0, signal = new AbortController().signal } = {},
): Promise<unknown> => {
  let isDone = false;
  const onPercent = (percent: number): void => {
    if (isDone || percent < fromPercent) return;
    isDone = true;
    meanwhile();
  };
  const log = createLog({ level: 'silent', role: 'restore' });
  return restoreBackup(loadSettings({ env: target }), log, { from: backup, signal, onPercent });
};

test('A-780 a restore refuses other commands on its data folder as soon as it compares the backup, and replaces nothing that was made there meanwhile', async () => {
  const target = at('raced');
  const command = [join(root, 'src/cli/launch.mjs'), 'migrate'];
  let names: string[] = [];
  const restored = await restoreWhile(target, () => {
    const migrated = spawnSync(process.execPath, command, { cwd: root, env: { ...plainEnv(), ...target } });
    expect([migrated.status, String(migrated.stderr)]).toEqual([1, expect.stringContaining('has not finished')]);
    names = readdirSync(join(folder, 'raced'));
  });
  expect(names).toEqual(['restore.unfinished']);
  expect(restored).toMatchObject({ masterKey: 'data folder', audit: { problems: [] } });
  expect(readFileSync(join(folder, 'raced', 'master.key'))).toEqual(readFileSync(join(backup, 'master.key')));

  const place = join(folder, 'linked', 'postgres');
  const foreign = restoreWhile(at('linked'), () => symlinkSync(join(folder, 'of-another-store'), place));
  await expect(foreign).rejects.toThrow(`${place} was made during the restore`);
  expect(readdirSync(join(folder, 'linked'))).toEqual(['postgres']);
  expect(readlinkSync(place)).toBe(join(folder, 'of-another-store'));
}, 240_000);

const interrupted: [string, number][] = [
  ['compares the backup', 0],
  ['unpacks it', 60],
];

test.each(interrupted)('A-788 a restore that is interrupted while it %s leaves nothing', async (_step, fromPercent) => {
  const stopping = new AbortController();
  const options = { fromPercent, signal: stopping.signal };
  const stopped = restoreWhile(at('stopped'), () => stopping.abort(new Error('SIGINT: ended')), options);
  await expect(stopped).rejects.toThrow('SIGINT: ended');
  expect(existsSync(join(folder, 'stopped'))).toBe(false);
});

test('A-276 a data folder whose restore was killed is not started', async () => {
  mkdirSync(join(folder, 'unfinished', 'restore.unfinished'), { recursive: true });
  const { code, stderr } = await runCommand(['migrate'], at('unfinished'));
  expect([code, stderr]).toEqual([1, expect.stringContaining('has not finished')]);
});

/** A password with an `@` that is not encoded, where the server asks for none. */
const withPassword = (url: string): string => url.replace(/^([a-z]+:\/\/[^:@/?#]*)@/, '$1:an-unencoded@at-sign@');

test('A-277 A-651 a move needs a stopped program and an empty database of a server, and afterwards the program runs there with the same orders, credentials, tokens and webhook secrets', async () => {
  const target = await createEmptyDatabase();
  closers.push(target.drop);
  const token = await fetch(`${program.url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: keys.client, client_secret: keys.secret }),
  });
  const { access_token: bearer } = (await token.json()) as { access_token: string };
  const running = await runWithInput(move, env, target.url);
  expect([running.code, running.stderr]).toEqual([1, expect.stringContaining('in use by another Orderpass')]);
  const own = (await embeddedConnection(data.path))?.connection;
  const before = await countOrders(program.url);
  await program.stop();

  if (own === undefined) throw new Error('no store ran');
  const itself = await runWithInput(move, env, connectionUrl({ ...own, database: 'postgres' }));
  expect([itself.code, itself.stderr]).toEqual([1, expect.stringContaining('is the embedded store itself')]);
  const role = `orderpass_mover_${process.pid}`;
  await run(target.ownerUrl, `create role ${role} login password '${role}'`);
  closers.push(() => run(target.ownerUrl, `drop role ${role}`));
  const denied = await runWithInput(move, env, roleUrl(target.ownerUrl, role));
  expect([denied.code, denied.stderr]).toEqual([
    1,
    expect.stringContaining('give the address with the role that owns'),
  ]);
  expect(denied.stderr).not.toContain('ORDERPASS_MIGRATE');
  const moved = await runWithInput([...move, '--json'], env, withPassword(target.url));
  expect([moved.code, moved.stderr]).toEqual([0, '']);
  expect(JSON.parse(moved.stdout).rows).toBeGreaterThan(before);

  const old = await runCommand(['start'], env);
  expect([old.code, old.stderr]).toEqual([1, expect.stringContaining('this store was moved to')]);
  const there = { ...env, DATABASE_URL: target.url };
  const started = await start(there);
  expect(await countOrders(started.url)).toBe(before);
  const listed = await fetch(`${started.url}/api/orders/list`, { headers: { authorization: `Bearer ${bearer}` } });
  expect(listed.status).toBe(200);
  const earlier = receiver.received.length;
  await createOrder(started.url);
  await until(() => receiver.received.length > earlier);
  const delivery = receiver.received.at(-1);
  expect(() =>
    new Webhook(endpoint.secret ?? '').verify(delivery?.body ?? '', delivery?.headers as Record<string, string>),
  ).not.toThrow();
  expect((await runCommand(['audit', 'verify'], there)).code).toBe(0);
  const recorded = await runCommand(['audit', 'search', '--action', 'store.moved', '--json'], there);
  expect(recorded.stdout).toContain(databaseNameOf(target.url));
  for (const text of [moved.stdout, old.stderr, recorded.stdout]) expect(text).not.toMatch(/an-unencoded|at-sign/);
  await started.stop();

  await runJson(['move', '--undo'], env);
  const filled = await runWithInput(move, env, target.url);
  expect([filled.code, filled.stderr]).toEqual([1, expect.stringContaining('the target is not empty')]);
}, 240_000);

/** The lock of `migrate`, in its own words. */
const migrationLock = 7203517000;

/** Starts a move and holds it before the schema of the target is made. */
const startHeldMove = async (target: TestDatabase) => {
  const lock = await target.pool.connect();
  closers.push(() => lock.release(true));
  await lock.query('select pg_advisory_lock($1)', [migrationLock]);
  const child = spawn(process.execPath, [join(root, 'src/cli/launch.mjs'), ...move], {
    cwd: root,
    env: { ...plainEnv(), ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  closers.push(() => child.kill('SIGKILL'));
  child.stdin.end(target.url);
  const waits = "select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'";
  await until(async () => (await target.pool.query(waits)).rowCount === 1);
  const release = () => lock.query('select pg_advisory_unlock($1)', [migrationLock]);
  return { child, ended, release };
};

test('A-487 while a move runs, other commands read the embedded store', async () => {
  const target = await createEmptyDatabase();
  closers.push(target.drop);
  const { ended, release } = await startHeldMove(target);
  for (const kind of ['restaurant', 'client']) {
    const { code, stderr } = await runCommand([kind, 'list'], env);
    expect([kind, code, stderr]).toEqual([kind, 0, '']);
  }
  await release();
  expect(await ended).toBe(0);
  await runJson(['move', '--undo'], env);
}, 240_000);

test('A-488 a move that is killed when the server has the rows leaves an embedded store that is used again by --undo only', async () => {
  const target = await createEmptyDatabase();
  closers.push(target.drop);
  const { child, ended, release } = await startHeldMove(target);
  const own = (await embeddedConnection(data.path))?.connection;
  const holder = new pg.Client({ ...own, options: '-c default_transaction_read_only=off' });
  // The server ends while it is connected.
  holder.on('error', () => undefined);
  await holder.connect();
  await holder.query("begin; select from platform.facts where name = 'moved_to' for update");
  await release();
  const waits = "select from pg_stat_activity where wait_event_type = 'Lock'";
  await until(async () => (await holder.query(waits)).rowCount === 1);
  expect((await target.pool.query('select from platform.facts')).rowCount).toBeGreaterThan(0);
  // Its statement ends before the server does, which would release the lock first, so that the mark could still be written.
  child.kill('SIGSTOP');
  await holder.query("select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'");
  await until(async () => (await holder.query(waits)).rowCount === 0);
  child.kill('SIGKILL');
  await ended;
  await untilNoServer(join(data.path, 'postgres'));

  const refused = await runCommand(['client', 'list'], env);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('was ended while it was committed')]);
  const again = await runWithInput(move, env, target.url);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('the target is not empty')]);
  await runJson(['move', '--undo'], env);
  expect((await runCommand(['client', 'list'], env)).code).toBe(0);
}, 240_000);

test('A-489 after a move to a database that has the name of the embedded one, and back, the audit of neither is taken for the other', async () => {
  const server = await startOwner({ dataDir: join(folder, 'server') });
  closers.push(server.stop);
  const { connection } = server;
  const there = { ...env, DATABASE_URL: connectionUrl(connection) };
  const moveAndWrite = async (): Promise<void> => {
    const moved = await runWithInput(move, env, there.DATABASE_URL);
    expect([moved.code, moved.stderr]).toEqual([0, '']);
    await runJson(['restaurant', 'create', '--name', 'Osteria'], there);
    expect((await runCommand(['audit', 'verify'], there)).code).toBe(0);
    await runJson(['move', '--undo'], env);
    expect((await runCommand(['audit', 'verify'], env)).code).toBe(0);
  };
  await moveAndWrite();
  const admin = { ...connection, database: 'postgres' };
  await query(admin, `drop database ${connection.database}`, `create database ${connection.database}`);
  await moveAndWrite();
}, 240_000);
