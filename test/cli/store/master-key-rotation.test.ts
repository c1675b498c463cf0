/** The rotation of the master key on running programs: one follows the file of its key, one has the key in its environment. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMasterKey } from '#src/app/installation/master-keys.ts';
import { totpCodeAt } from '../../panel/harness/totp-code.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import type { Json } from '../../support/ordering.ts';
import {
  makeDataDir,
  plainEnv,
  type RunningProgram,
  root,
  runCommand,
  runJson,
  startProgram,
} from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { verifyMessage } from '../../webhooks/harness/guide-verifier.ts';
import { boxOfEarlierStore } from './earlier-store.ts';

const origin = 'http://localhost:4000';
const password = 'seven unlikely words';
const folder = mkdtempSync(join(tmpdir(), 'orderpass-keys-'));
const makeKey = () => {
  const bytes = randomBytes(32);
  return { text: bytes.toString('base64'), id: createMasterKey(bytes).id, bytes };
};
const [oldKey, newKey, strangeKey] = [makeKey(), makeKey(), makeKey()];
const withOld = { ORDERPASS_MASTER_KEY: oldKey.text };
const withNew = { ORDERPASS_MASTER_KEY: newKey.text };
const withBoth = { ...withNew, ORDERPASS_MASTER_KEY_PREVIOUS: oldKey.text };

let database: TestDatabase;
let receiver: WebhookReceiver;
let env: Record<string, string>;
let first: RunningProgram;
let worker: RunningProgram;
const programs: RunningProgram[] = [];

const start = async (more: Record<string, string>): Promise<RunningProgram> => {
  const program = await startProgram({ ...env, ...more });
  programs.push(program);
  return program;
};

/** The way of orchestrators: a new file takes the place of the old one. */
const replaceFile = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(`${path}.new`, `${text}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
};

const post = (url: string, form: Record<string, string>, cookie = ''): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin, cookie },
    body: new URLSearchParams(form),
    redirect: 'manual',
  });

const cookiesOf = (answer: Response): string =>
  answer.headers
    .getSetCookie()
    .map((text) => text.split(';', 1)[0])
    .join('; ');

/** What was made before the rotation. */
let made: {
  key: Record<string, string>;
  client: Record<string, string>;
  bearer: Record<string, string>;
  session: string;
  email: string;
  totp: string;
  webhook: Webhook;
};

const tokenFrom = async (url: string, client: Record<string, string>): Promise<string> => {
  const { 'x-client-id': client_id = '', 'x-client-secret': client_secret = '' } = client;
  const answer = await post(`${url}/api/oauth/token`, { grant_type: 'client_credentials', client_id, client_secret });
  return ((await answer.json()) as { access_token: string }).access_token;
};

const signIn = async (url: string, code?: string): Promise<string> => {
  const begun = await post(`${url}/panel/sign-in`, { email: made.email, password });
  if (code === undefined) return cookiesOf(begun);
  expect(begun.headers.get('location')).toContain('/panel/sign-in/code');
  const done = await post(`${url}/panel/sign-in/code`, { code }, cookiesOf(begun));
  expect(done.status).toBe(303);
  return cookiesOf(done);
};

const makeEverything = async (): Promise<void> => {
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], { ...env, ...withOld });
  const of = ['--restaurant', restuid];
  await runJson(['notifications', 'set', ...of, '--customers', 'on'], { ...env, ...withOld });
  const [endpoint, client, key, user] = await Promise.all(
    [
      ['endpoint', 'create', ...of, '--url', receiver.url, '--signature', 'rfc9421:ed25519'],
      ['client', 'create', '--name', 'Till', ...of],
      ['key', 'create', ...of],
      ['user', 'create', '--email', 'ada@example.com', '--role', 'support'],
    ].map((args) => runJson(args, { ...env, ...withOld })),
  );
  const valueFile = join(folder, 'header-value');
  writeFileSync(valueFile, 'of-the-receiver');
  const ofEndpoint = [...of, '--endpoint', endpoint?.endpoint_uid ?? ''];
  const header = ['--header', 'X-Api-Key', '--value-file', valueFile];
  await runJson(['endpoint', 'auth', ...ofEndpoint, ...header], { ...env, ...withOld });
  const link = new URL(user?.link ?? '');
  const token = link.searchParams.get('token') ?? '';
  const asClient = { 'x-client-id': client?.client_id ?? '', 'x-client-secret': client?.client_secret ?? '' };
  made = {
    key: { 'x-api-key': key?.api_key ?? '' },
    client: asClient,
    bearer: { authorization: `Bearer ${await tokenFrom(first.url, asClient)}` },
    email: 'ada@example.com',
    webhook: new Webhook(endpoint?.secret ?? ''),
    session: '',
    totp: '',
  };
  await post(`${first.url}${link.pathname}`, { token, password, again: password });
  made.session = await signIn(first.url);
  await addTotp();
};

const addTotp = async (): Promise<void> => {
  const account = await (await fetch(`${first.url}/panel/account`, { headers: { cookie: made.session } })).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(account)?.[1] ?? '';
  const begun = await post(`${first.url}/panel/account/totp/begin`, { csrf, current: password }, made.session);
  const shown = await begun.text();
  made.totp = (/<code id="totp-key">([^<]+)</.exec(shown)?.[1] ?? '').replaceAll(' ', '');
  const proof = /name="proof" value="([^"]+)"/.exec(shown)?.[1] ?? '';
  // A code counts in its own step and the one after it, so that of the step before needs a step that lasts until it is checked.
  await until(() => Date.now() % 30_000 < 15_000);
  const code = totpCodeAt(made.totp, Date.now() - 30_000);
  const done = await post(`${first.url}/panel/account/totp`, { csrf, code, proof }, made.session);
  expect(done.status).toBe(200);
};

let customers = 0;

/** Every kind of credential, a new token, the session and a signed webhook, through one program. */
const expectAllToWork = async ({ url }: RunningProgram): Promise<void> => {
  const fresh = { authorization: `Bearer ${await tokenFrom(url, made.client)}` };
  for (const headers of [made.key, made.client, made.bearer, fresh])
    expect((await fetch(`${url}/api/menu/products`, { headers })).status).toBe(200);
  const account = await fetch(`${url}/panel/account`, { headers: { cookie: made.session }, redirect: 'manual' });
  expect(account.status).toBe(200);
  const before = receiver.received.length;
  customers += 1;
  const created = await fetch(`${url}/api/customer/create`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...made.client },
    body: JSON.stringify({ email: `guest${customers}@example.com`, first_name: 'Ada' }),
  });
  expect(created.status).toBe(200);
  await until(() => receiver.received.length > before);
  const { body, headers } = receiver.received.at(-1) ?? { body: '', headers: {} };
  made.webhook.verify(body, headers as Record<string, string>);
  const published = await fetch(`${url}/.well-known/webhook-signature-keys`);
  const { keys } = (await published.json()) as { keys: Parameters<typeof verifyMessage>[0] };
  const isSigned = verifyMessage(keys, receiver.url, headers as Record<string, string>, Buffer.from(body));
  expect([isSigned, headers]).toMatchObject([true, { 'x-api-key': 'of-the-receiver' }]);
};

const auditVerifies = async (of: Record<string, string>): Promise<void> => {
  expect(await runJson(['audit', 'verify'], of)).toMatchObject({ ok: true });
};

const statusWith = async (more: Record<string, string>): Promise<{ code: number; status: Json }> => {
  const { code, stdout, stderr } = await runCommand(['master-key', 'status', '--json'], { ...env, ...more });
  expect(stderr).toBe('');
  return { code, status: JSON.parse(stdout) as Json };
};

/** A rotation that runs in the background until it ends, or is killed. */
const rotateInBackground = (more: Record<string, string>): { child: ChildProcess; errors: () => string } => {
  const child = spawn(process.execPath, [join(root, 'src/cli/launch.mjs'), 'master-key', 'rotate', '--wait', '600'], {
    cwd: root,
    env: { ...plainEnv(), ...env, ...more },
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  return { child, errors: () => errors };
};

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    ORDERPASS_ORIGIN: origin,
    ORDERPASS_DATA_DIR: join(folder, 'data'),
  };
  first = await start({ ORDERPASS_MASTER_KEY_FILE: replaceFile('master.key', oldKey.text) });
  worker = await start({ ...withOld, ORDERPASS_ROLE: 'worker' });
  await makeEverything();
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await receiver?.close();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

test('A-260 before the rotation a start and a rotation with a key that does not open the store are refused and name both keys', async () => {
  await expectAllToWork(first);
  const cases: [string[], Record<string, string>][] = [
    [['start'], withNew],
    [['start'], { ...withNew, ORDERPASS_MASTER_KEY_PREVIOUS: strangeKey.text }],
    [['master-key', 'rotate'], withNew],
  ];
  const refusals = await Promise.all(cases.map(([args, more]) => runCommand(args, { ...env, ...more })));
  for (const { code, stderr } of refusals) {
    expect([code, stderr]).toEqual([1, expect.stringContaining('ORDERPASS_MASTER_KEY_PREVIOUS')]);
    expect(stderr).toContain(`sealed by the key ${oldKey.id}`);
    expect(stderr).toContain(newKey.id);
  }
  expect((await runCommand(['master-key', 'rotate'], { ...env, ...withOld })).stderr).toContain('give a new key');
  expect(await statusWith(withNew)).toMatchObject({ code: 1, status: { state: 'unknown_key' } });
  expect(await statusWith(withOld)).toMatchObject({ code: 0, status: { state: 'settled', sealed_by: [oldKey.id] } });
  expect(await statusWith(withBoth)).toMatchObject({ code: 1, status: { state: 'to_rotate', previous: oldKey.id } });
});

test('A-259 A-261 A-485 a rotation that is killed leaves both keys, one beside another is refused, and the next one removes the old key when no process needs it', async () => {
  const killed = rotateInBackground(withBoth);
  await until(() => killed.errors().includes(String(worker.child.pid)));
  expect(killed.errors()).toContain(String(first.child.pid));
  killed.child.kill('SIGKILL');
  const { code, status } = await statusWith(withBoth);
  expect([code, status.state, status.sealed_by.toSorted()]).toEqual([1, 'rotating', [oldKey.id, newKey.id].toSorted()]);
  expect(status.processes).toHaveLength(2);

  const third = await start(withNew);
  for (const program of [first, third]) await expectAllToWork(program);
  await signIn(third.url, totpCodeAt(made.totp, Date.now()));
  await auditVerifies({ ...env, ...withOld });

  const refused = await runCommand(['master-key', 'rotate', '--wait', '0'], { ...env, ...withBoth });
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(/previous_removed +false/);
  for (const { child } of [first, worker]) expect(refused.stderr).toContain(`:${child.pid} `);
  expect(refused.stderr).not.toContain(`:${third.child.pid} `);

  const again = rotateInBackground(withBoth);
  await until(() => again.errors().includes(String(worker.child.pid)));
  const second = await runCommand(['master-key', 'rotate', '--wait', '0'], { ...env, ...withBoth });
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('another master-key rotate is running')]);
  replaceFile('master.key', newKey.text);
  await worker.stop();
  await until(() => again.child.exitCode !== null);
  expect([again.child.exitCode, (await statusWith(withNew)).code]).toEqual([0, 0]);
});

test('A-259 after the rotation the old key opens nothing, and everything that was made before works with the new key', async () => {
  const refused = await runCommand(['start'], { ...env, ...withOld });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`sealed by the key ${newKey.id}`)]);
  await expectAllToWork(first);
  await first.stop();
  const second = await start({ ORDERPASS_MASTER_KEY_FILE: join(folder, 'master.key') });
  await expectAllToWork(second);
  await signIn(second.url, totpCodeAt(made.totp, Date.now() + 30_000));
  await auditVerifies({ ...env, ...withNew });
  const done = await runJson(['master-key', 'rotate'], { ...env, ...withBoth });
  expect(done).toMatchObject({ master_key: newKey.id, previous_removed: true });
  const { rows } = await database.pool.query<{ action: string; details: string }>(
    `select action, details from gateway.audit_events where action like 'master_key.%' order by at`,
  );
  expect(rows.map(({ action, details }) => [action, JSON.parse(details)])).toEqual([
    ['master_key.added', { key: newKey.id }],
    ['master_key.removed', { key: oldKey.id }],
  ]);
});

test('A-259 a writer of the database cannot put another root in place of the sealed one', async () => {
  const name = `sealed_root/${newKey.id}`;
  const other = createMasterKey(strangeKey.bytes).sealRoot(Buffer.alloc(32)).toString('base64');
  const { rows } = await database.pool.query<{ value: string }>('select value from platform.facts where name = $1', [
    name,
  ]);
  const write = (value: string | undefined) =>
    database.pool.query('update platform.facts set value = $2 where name = $1', [name, value]);
  await write(other);
  const refused = await runCommand(['key', 'list', '--restaurant', 'x'], { ...env, ...withNew });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('was changed in the database')]);
  await write(rows[0]?.value);
});

test('A-259 a store of an earlier release opens with its key, and its keys stay valid when that key is rotated', async () => {
  const earlier = await createTestDatabase();
  try {
    const box = await boxOfEarlierStore(earlier.db, oldKey.bytes);
    const of = { DATABASE_URL: earlier.url, ORDERPASS_DATA_DIR: join(folder, 'earlier') };
    const refused = await runCommand(['audit', 'verify'], { ...of, ...withNew });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('sealed by another key')]);
    expect((await runJson(['master-key', 'rotate'], { ...of, ...withBoth })).master_key).toBe(newKey.id);
    const { key } = await runJson(['upstream', 'key', 'ordering'], { ...of, ...withNew });
    expect(key).toBe(box.derive('assertion/ordering').toString('base64'));
  } finally {
    await earlier.drop();
  }
});

test('A-262 the key file of a data folder is replaced under a running program, and the store opens with the new key only', async () => {
  const { path, remove } = makeDataDir();
  const own = { ORDERPASS_DATA_DIR: path };
  let program: RunningProgram | undefined;
  try {
    program = await startProgram({ ...own, NODE_ENV: 'production' });
    const before = readFileSync(join(path, 'master.key'), 'utf8');
    const { master_key: id, previous_file: kept } = await runJson(['master-key', 'rotate'], own);
    expect(readFileSync(kept ?? '', 'utf8')).toBe(before);
    expect(createMasterKey(Buffer.from(readFileSync(join(path, 'master.key'), 'utf8'), 'base64')).id).toBe(id);
    await auditVerifies(own);
    renameSync(kept ?? '', join(path, 'master.key'));
    const refused = await runCommand(['audit', 'verify'], own);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`sealed by the key ${id}`)]);
  } finally {
    await program?.stop();
    remove();
  }
});
