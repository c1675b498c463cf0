/** Commands of an integrator: on a machine without an installation, against a server elsewhere. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  type CommandResult,
  plainEnv,
  type RunningProgram,
  root,
  runCommand,
  runJson,
  runProcess,
  runWithInput,
  startProgram,
} from '../../support/program.ts';
import { until } from '../../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;
let program: RunningProgram;
let folder: string;
let restuid: string;
let key: string;
let client: { client_id: string; client_secret: string };

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'orderpass-remote-'));
  env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
  program = await startProgram(env);
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Osteria'], env)).restuid);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  client = { client_id: String(made.client_id), client_secret: String(made.client_secret) };
  key = String((await runJson(['key', 'create', '--restaurant', restuid], env)).api_key);
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** The machine of the integrator: neither a store nor the master key. */
const elsewhere = (): Record<string, string> => ({
  XDG_CONFIG_HOME: join(folder, 'config'),
  ORDERPASS_DATA_DIR: join(folder, 'none'),
});
const file = (): string => join(folder, 'config/orderpass/logins.json');

beforeEach(() => rmSync(join(folder, 'config'), { recursive: true, force: true }));

/** `input`: standard input. */
const run = (args: readonly string[], input = '', more: Record<string, string> = {}): Promise<CommandResult> =>
  runWithInput(args, { ...elsewhere(), ...more }, input);

const login = (): Promise<CommandResult> =>
  run(['login', '--url', program.url, '--client-id', client.client_id], `${client.client_secret}\n`);

test('A-355 login keeps a credential that the server accepts, for the user of the machine alone, and shows no secret', async () => {
  const made = await login();
  expect([made.code, made.stderr]).toEqual([0, '']);
  expect(made.stdout).toContain('Till');
  expect(made.stdout).not.toContain(client.client_secret);
  expect([statSync(file()).mode & 0o777, statSync(join(folder, 'config/orderpass')).mode & 0o777]).toEqual([
    0o600, 0o700,
  ]);
  const shown = await runProcess(['whoami', '--json'], elsewhere());
  expect(JSON.parse(shown.stdout)).toMatchObject({ url: program.url, credential: { id: client.client_id } });
  expect(existsSync(join(folder, 'none'))).toBe(false);
  const ended = await run(['logout', '--json']);
  expect(JSON.parse(ended.stdout)).toEqual({ url: program.url, removed: true });
  expect(readFileSync(file(), 'utf8')).not.toContain(client.client_secret);
  const without = await run(['whoami']);
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('log in first')]);
});

test('A-355 nothing is kept when the server refuses the credential, or when it would travel in the clear', async () => {
  const refused = await run(['login', '--url', program.url], 'opk_wrong\n');
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/says: .+ \(request req_/)]);
  expect(refused.stderr).not.toContain('opk_wrong');
  for (const url of ['http://orders.example', 'ftp://orders.example', 'https://me:secret@orders.example']) {
    const wrong = await run(['login', '--url', url], key);
    expect([wrong.code, wrong.stderr.includes('--url')]).toEqual([2, true]);
  }
  expect((await run(['login', '--url', program.url], '')).code).toBe(2);
  expect(existsSync(file())).toBe(false);
});

test('A-355 a file of logins that others can read is refused, and no credential is sent', async () => {
  expect((await login()).code).toBe(0);
  chmodSync(file(), 0o640);
  const refused = await run(['whoami']);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('can be read by others')]);
});

test('A-356 token get prints a token alone, with fewer scopes on request; an API key has none', async () => {
  await login();
  const { code, stdout } = await run(['token', 'get', '--scope', 'read:orders']);
  expect([code, stdout.split('\n')]).toEqual([0, [expect.stringMatching(/^eyJ/), '']]);
  const listed = await fetch(`${program.url}/api/orders/list`, {
    headers: { authorization: `Bearer ${stdout.trim()}` },
  });
  const refused = await fetch(`${program.url}/api/menu/products`, {
    headers: { authorization: `Bearer ${stdout.trim()}` },
  });
  expect([listed.status, refused.status]).toEqual([200, 403]);
  const wrong = await run(['token', 'get', '--scope', 'read:everything']);
  expect([wrong.code, wrong.stdout]).toEqual([1, '']);
  const byKey = await run(['token', 'get', '--url', program.url], '', { ORDERPASS_API_KEY: key });
  expect([byKey.code, byKey.stderr]).toEqual([1, expect.stringContaining('gets no tokens')]);
});

test('A-403 token get limits the token by details of a file or of the command line, and by services', async () => {
  await login();
  const details = JSON.stringify([{ type: 'orderpass_access', operations: ['orders.list'], actions: ['read'] }]);
  const detailsFile = join(folder, 'details.json');
  writeFileSync(detailsFile, `\n${details}\n`);
  for (const given of [details, detailsFile]) {
    const { code, stdout } = await run(['token', 'get', '--authorization-details', given]);
    const headers = { authorization: `Bearer ${stdout.trim()}` };
    const statuses = [];
    for (const path of ['orders/list', 'menu/products', 'whoami'])
      statuses.push((await fetch(`${program.url}/api/${path}`, { headers })).status);
    expect([code, statuses]).toEqual([0, [200, 403, 403]]);
  }
  const shown = JSON.parse((await run(['token', 'get', '--json', '--authorization-details', details])).stdout);
  expect(shown.authorization_details).toEqual(JSON.parse(details));
  const missing = await run(['token', 'get', '--authorization-details', join(folder, 'nothing.json')]);
  expect([missing.code, missing.stdout]).toEqual([2, '']);
  const own = await run(['token', 'get', '--resource', program.url, '--resource', `${program.url}/api`]);
  expect([own.code, own.stdout]).toEqual([0, expect.stringMatching(/^eyJ/)]);
  const elsewhere = await run(['token', 'get', '--resource', 'https://elsewhere.example']);
  expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('resource must be')]);
});

test('A-356 requests without an id lists the own requests of the login, and counts by hour', async () => {
  await login();
  const token = (await run(['token', 'get', '--scope', 'read:orders'])).stdout.trim();
  const refused = await fetch(`${program.url}/api/menu/products`, { headers: { authorization: `Bearer ${token}` } });
  const id = refused.headers.get('x-request-id');
  const listed = async (...args: string[]) => (await run(['requests', ...args])).stdout;
  await until(async () => (await listed('--status', '4xx', '--json')).includes(String(id)));
  expect(JSON.parse(await listed('--request-id', String(id), '--json'))).toMatchObject({
    requests: [{ request_id: id, status: 403, code: 'INSUFFICIENT_SCOPE', method: 'GET' }],
    next_cursor: null,
  });
  await until(async () => /refused=[1-9]/.test(await listed('--hours')));
  // The store of this machine is not asked in place of the server: none is made.
  const ofOther = await run(['requests', '--url', program.url, '--client-id', 'Till']);
  expect([ofOther.code, ofOther.stderr]).toEqual([2, expect.stringContaining('--url shows your own requests')]);
  expect(existsSync(join(folder, 'none'))).toBe(false);
  const wrong = await run(['requests', '--client-id', 'a', '--key', 'b']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('not both')]);
});

test('A-357 restaurants are listed and shown, and an option takes a name that one restaurant or client has', async () => {
  const twins = [];
  for (const name of ['Due Torri', 'due torri'])
    twins.push(String((await runJson(['restaurant', 'create', '--name', name], env)).restuid));
  const first = await runJson(['restaurant', 'list', '--limit', '2'], env);
  expect(first).toMatchObject({ restaurants: [{ restuid: twins[1] }, { restuid: twins[0] }], next_before: twins[0] });
  const next = await runJson(['restaurant', 'list', '--before', String(first.next_before)], env);
  expect(next).toMatchObject({ restaurants: [{ restuid, name: 'Osteria', currency: 'EUR' }], next_before: null });
  expect(await runJson(['restaurant', 'show', '--restaurant', 'osteria'], env)).toMatchObject({
    ...{ restuid, name: 'Osteria', sandbox: false, api_enabled: true, countdown_minutes: 10, cell: 'default' },
  });
  const trial = await runJson(['restaurant', 'create', '--name', 'Trial', '--sandbox'], env);
  const all = (await runJson(['restaurant', 'list'], env)) as Record<string, unknown>;
  const listed = all.restaurants as Record<string, unknown>[];
  expect(listed.map((one) => one.restuid)).toEqual([twins[1], twins[0], restuid, trial.restuid]);
  const last = await runJson(['restaurant', 'list', '--before', restuid], env);
  expect(last).toMatchObject({ restaurants: [{ restuid: trial.restuid, sandbox: true }], next_before: null });
  const several = await runCommand(['restaurant', 'show', '--restaurant', 'Due Torri'], env);
  expect(several.code).toBe(2);
  for (const uid of twins) expect(several.stderr).toContain(uid);
  const unknown = await runCommand(['restaurant', 'show', '--restaurant', 'Tre Torri'], env);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('There is no restaurant Tre Torri')]);
  expect(await runJson(['client', 'show', '--client-id', 'till'], env)).toMatchObject({ client_id: client.client_id });
});

test('A-344 a key or an endpoint is named by its name, address or description; several candidates are listed, and nothing changes', async () => {
  const of = async (name: string) => String((await runJson(['restaurant', 'create', '--name', name], env)).restuid);
  const [here, there] = [await of('Here'), await of('There')];
  const key = async (place: string, name: string) =>
    String((await runJson(['key', 'create', '--restaurant', place, '--name', name], env)).key_id);
  const [own, twin, single] = [await key(here, 'Counter'), await key(there, 'counter'), await key(here, 'Only one')];
  const shared = await runCommand(['key', 'revoke', '--key-id', 'Counter'], env);
  expect(shared.code).toBe(2);
  for (const [id, place] of [
    [own, here],
    [twin, there],
  ])
    expect(shared.stderr).toContain(`${id} (of ${place})`);
  const live = async (place: string) =>
    ((await runJson(['key', 'list', '--restaurant', place], env)) as Record<string, unknown>).keys as {
      key_id: string;
      state: string;
    }[];
  expect((await live(here)).map(({ state }) => state)).toEqual(['active', 'active']);
  expect(await runJson(['key', 'revoke', '--key-id', 'only one'], env)).toMatchObject({ key_id: single });
  // One of the two is left, so its name is enough; an argument takes a name too.
  await runJson(['key', 'revoke', '--key-id', twin], env);
  expect(await runJson(['key', 'limits', 'Counter', '--minute', '7'], env)).toMatchObject({ key_id: own });
  const unknown = await runCommand(['key', 'revoke', '--key-id', 'Nowhere'], env);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('Nowhere')]);
  const url = 'https://93.184.216.34/hooks/0123';
  const endpoint = await runJson(['endpoint', 'create', '--restaurant', here, '--url', url], env);
  const update = (name: string, place = here) =>
    runCommand(['endpoint', 'update', '--restaurant', place, '--endpoint', name, '--signature', 'none', '--json'], env);
  expect(JSON.parse((await update(url)).stdout)).toMatchObject({ endpoint: { uid: endpoint.endpoint_uid } });
  expect((await update(url, there)).code).toBe(1);
  await runJson(['endpoint', 'create', '--restaurant', here, '--url', url], env);
  const several = await update(url, 'Here');
  expect([several.code, several.stderr]).toEqual([2, expect.stringContaining(String(endpoint.endpoint_uid))]);
  expect(several.stderr).not.toContain('0123 (');
});

test('A-481 audit search, usage, user and replay on an installation take names, and an unknown name is said to be unknown', async () => {
  const place = String((await runJson(['restaurant', 'create', '--name', 'Named here'], env)).restuid);
  const made = await runJson(['client', 'create', '--name', 'Till by name', '--restaurant', place], env);
  const id = String(made.client_id);
  const madeKey = await runJson(['key', 'create', '--restaurant', place, '--name', 'Key by name'], env);
  const search = (name: string) => runCommand(['audit', 'search', '--client', name, '--action', 'client.created'], env);
  expect((await search('till BY name')).stdout).toContain(id);
  expect((await search('Nowhere')).stdout).toBe('No event matches. No client has the id or the name Nowhere.\n');
  expect(await runJson(['usage', '--client', 'Till by name'], env)).toMatchObject({ caller: id });
  expect(await runJson(['usage', '--key', 'Key by name'], env)).toMatchObject({ caller: madeKey.key_id });
  const contact = ['--email', 'contact@example.com'];
  await runJson(['user', 'create', ...contact, '--role', 'contact', '--client', 'Till by name'], env);
  await runJson(['user', 'set', ...contact, '--client', 'Till by name', '--client', client.client_id], env);
  const { users } = (await runJson(['user', 'list'], env)) as unknown as { users: { clients: string[] }[] };
  expect(users.map(({ clients }) => [...clients].sort())).toEqual([[client.client_id, id].sort()]);
  const url = 'https://93.184.216.34/hooks/4567';
  await runJson(['endpoint', 'create', '--restaurant', place, '--url', url], env);
  const replay = ['replay', '--endpoint', url, '--restaurant', 'Named here', '--forward-to', 'http://127.0.0.1:9'];
  expect(await runJson(replay, env)).toEqual({ forwarded: [] });
});

test('A-481 client list has pages, and requests with more rows than a server answers at once asks for the next ones', async () => {
  const listed = (await runJson(['client', 'list'], env)) as unknown as { clients: { client_id: string }[] };
  const ids = listed.clients.map(({ client_id }) => client_id);
  expect(ids.length).toBeGreaterThan(1);
  const page = await runJson(['client', 'list', '--limit', '1'], env);
  expect(page).toMatchObject({ clients: [{ client_id: ids[0] }], next_after: ids[0] });
  const rest = await runJson(['client', 'list', '--after', String(ids[0])], env);
  expect(rest).toMatchObject({ clients: ids.slice(1).map((client_id) => ({ client_id })), next_after: null });
  await login();
  // The calls below are more than the default limit of a minute allows.
  await runJson(['client', 'limits', client.client_id, '--minute', '10000', '--burst', '1000'], env);
  const refused = 130;
  for (let call = 0; call < refused; call += 1)
    await fetch(`${program.url}/api/orders/list?pagesize=0`, {
      headers: { 'x-client-id': client.client_id, 'x-client-secret': client.client_secret },
    });
  const rows = async (limit: number): Promise<number> => {
    const { stdout, stderr } = await run(['requests', '--json', '--limit', String(limit)]);
    expect(stderr).toBe('');
    return JSON.parse(stdout).requests.length;
  };
  await until(async () => (await rows(500)) >= refused);
  expect(await rows(120)).toBe(120);
});

test('master-key status says nothing of a previous key where there is none', async () => {
  const { code, stdout } = await runCommand(['master-key', 'status'], env);
  expect([code, stdout]).toEqual([0, expect.stringContaining('previous key  none')]);
  expect(stdout).not.toContain('The previous key');
});

test('A-357 a list is a table on a terminal, with colours unless NO_COLOR is set, and one line for each item in a pipe', async () => {
  const list = `${process.execPath} ${join(root, 'src/cli/launch.mjs')} restaurant list --search Osteria`;
  // `script` gives the command a terminal.
  const atTerminal = (more: Record<string, string>): Promise<string> =>
    new Promise((resolve, reject) => {
      // In a CI Node takes a terminal for one without colours.
      const { CI: _ci, ...plain } = plainEnv();
      const terminal = { ...plain, ...env, ORDERPASS_DATA_DIR: join(folder, 'data'), TERM: 'xterm', ...more };
      const child = spawn('script', ['-qec', `stty cols 160; ${list}`, '/dev/null'], { env: terminal });
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      child.once('error', reject).once('close', () => resolve(text.replaceAll('\r', '')));
    });
  const row = `${restuid}  Osteria  false    UTC        EUR`;
  expect(await atTerminal({ NO_COLOR: '1' })).toBe(
    `restuid${' '.repeat(restuid.length - 7)}  name     sandbox  time_zone  currency\n${row}\n`,
  );
  expect(await atTerminal({})).toContain('\u001b[1mrestuid');
  const piped = await runCommand(['restaurant', 'list', '--search', 'Osteria'], env);
  expect(piped.stdout).toBe(`${restuid}  name=Osteria  sandbox=false  time_zone=UTC  currency=EUR\n`);
});

test('A-309 trigger makes a real event with the credential of a sandbox, and nothing with that of a real restaurant', async () => {
  await login();
  const real = await run(['trigger', 'customer.changed']);
  expect([real.code, real.stderr]).toEqual([1, expect.stringContaining('not one of a sandbox')]);
  const sandbox = await runJson(['restaurant', 'create', '--name', 'Trial', '--sandbox'], env);
  const ofSandbox = ['--restaurant', String(sandbox.restuid)];
  const made = await runJson(['client', 'create', '--name', 'Trial till', ...ofSandbox], env);
  const secret = `${String(made.client_secret)}\n`;
  await run(['login', '--url', program.url, '--client-id', String(made.client_id)], secret);
  const off = await run(['trigger', 'customer.changed']);
  expect([off.code, off.stderr]).toEqual([1, expect.stringContaining('the kind customers are off')]);
  await runJson(['notifications', 'set', ...ofSandbox, '--customers', 'on', '--orders', 'on'], env);
  const done = JSON.parse((await run(['trigger', 'customer.changed', '--json'])).stdout);
  expect(done).toEqual({ event: 'customer.changed', uid: expect.stringMatching(/^cus_/) });
  const recorded = await runJson(['webhook', 'events', ...ofSandbox], env);
  expect(recorded.events).toMatchObject([{ event: 'customer.changed', entity: done.uid }]);
  const unknown = await run(['trigger', 'order.eaten']);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('order.new')]);
  const empty = await run(['trigger', 'order.new']);
  expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('no products')]);
});

test('A-309 A-601 trigger orders by the clock of the sandbox, refuses before any change what its credential or the sandbox does not allow, and says what a credential may not read', async () => {
  const sandbox = await runJson(['restaurant', 'create', '--name', 'Ahead', '--sandbox'], env);
  const ofSandbox = ['--restaurant', String(sandbox.restuid)];
  await runJson(['notifications', 'set', ...ofSandbox, '--orders', 'on', '--customers', 'on'], env);
  const products = [{ ext_id: 'p', category_ext_id: 'c', name: 'P', price: 3 }];
  const menuFile = join(folder, 'menu.json');
  writeFileSync(menuFile, JSON.stringify({ categories: [{ ext_id: 'c', name: 'C' }], products }));
  await runJson(['menu', 'import', menuFile, ...ofSandbox, '--mode', 'replace'], env);
  await runJson(['sandbox', 'clock', 'advance', '1d', ...ofSandbox], env);
  const loginAs = async (...scopes: string[]): Promise<void> => {
    const made = await runJson(['client', 'create', '--name', 'Ahead till', ...ofSandbox, ...scopes], env);
    const secret = `${String(made.client_secret)}\n`;
    await run(['login', '--url', program.url, '--client-id', String(made.client_id)], secret);
  };
  await loginAs();
  const placed = await run(['trigger', 'order.new', '--json']);
  expect([placed.code, placed.stderr]).toEqual([0, '']);
  const { uid } = JSON.parse(placed.stdout);
  const { events } = (await runJson(['webhook', 'events', ...ofSandbox], env)) as unknown as { events: object[] };
  expect(events).toContainEqual(expect.objectContaining({ event: 'order.new', entity: uid }));
  await runJson(['restaurant', 'set', ...ofSandbox, '--countdown-minutes', '0'], env);
  const recorded = async () => (await runJson(['webhook', 'events', ...ofSandbox], env)).events;
  const before = await recorded();
  const without = await run(['trigger', 'order.timeout']);
  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('have no countdown')]);
  await loginAs('--scope', 'read:menu write:orders read:webhooks write:customers');
  for (const [event, scope] of [
    ['order.confirmed', 'manage:orders'],
    ['order.countdown_started', 'manage:orders'],
    ['loyaltylog.created', 'write:loyalty'],
  ] as const) {
    const lacking = await run(['trigger', event]);
    expect([lacking.code, lacking.stderr]).toEqual([1, expect.stringContaining(`lacks ${scope}, which ${event}`)]);
  }
  expect(await recorded()).toEqual(before);
  await loginAs('--scope', 'read:customers write:customers');
  const unread = await run(['trigger', 'customer.changed', '--json']);
  expect([unread.code, unread.stderr]).toEqual([0, expect.stringContaining('lacks read:webhooks')]);
  expect(JSON.parse(unread.stdout)).toMatchObject({ uid: expect.stringMatching(/^cus_/) });
});

test('A-357 a name is found behind hundreds of newer names that begin with it, and two of a name are found wherever they are', async () => {
  await sql`insert into gateway.clients select (jsonb_populate_record(c, jsonb_build_object(
      'client_id', 'opc_more' || n, 'name', c.name || ' ' || n, 'created', now() + interval '1 hour'))).*
    from gateway.clients c, generate_series(1, 250) n where client_id = ${client.client_id}`.execute(database.db);
  await sql`insert into ordering.restaurants select (jsonb_populate_record(r, jsonb_build_object(
      'uid', 'rst_zz' || n, 'name', r.name || ' ' || n))).*
    from ordering.restaurants r, generate_series(1, 250) n where uid = ${restuid}`.execute(database.db);
  expect(await runJson(['client', 'show', '--client-id', 'till'], env)).toMatchObject({ client_id: client.client_id });
  expect(await runJson(['restaurant', 'show', '--restaurant', 'osteria'], env)).toMatchObject({ restuid });
  await sql`update gateway.clients set name = 'TILL' where client_id = 'opc_more250'`.execute(database.db);
  await sql`update ordering.restaurants set name = 'OSTERIA' where uid = 'rst_zz250'`.execute(database.db);
  for (const [words, ids] of [
    [
      ['client', 'show', '--client-id', 'Till'],
      [client.client_id, 'opc_more250'],
    ],
    [
      ['restaurant', 'show', '--restaurant', 'Osteria'],
      [restuid, 'rst_zz250'],
    ],
  ] as const) {
    const several = await runCommand(words, env);
    expect([several.code, ids.filter((id) => !several.stderr.includes(id))]).toEqual([2, []]);
  }
});

test('A-574 control characters of a server are shown as escapes, and its line breaks begin no row', async () => {
  const text = 'a\u001b[2J\u009b1m\nrestuid  b';
  const answers: Record<string, [status: number, body: object]> = {
    '/api/whoami': [200, { success: true, name: text, list: [text] }],
    '/api/whoami/requests': [200, { success: true, requests: [{ request_id: text, code: text }], next_cursor: null }],
    '/api/whoami/usage': [403, { success: false, message: `no\u0007${text}` }],
  };
  const server = createServer((request, answer) => {
    const [status, body] = answers[new URL(request.url ?? '/', 'http://localhost').pathname] ?? [404, {}];
    answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const at = ['--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
    const asked = (...words: string[]) => run([...words, ...at], '', { ORDERPASS_API_KEY: 'opk_any' });
    const shown = [await asked('whoami'), await asked('requests'), await asked('requests', '--hours')];
    expect(shown.map(({ code }) => code)).toEqual([0, 0, 1]);
    for (const { stdout, stderr } of shown) expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]/u);
    const safe = String.raw`a\u001b[2J\u009b1m\u000arestuid  b`;
    expect(shown[0]?.stdout).toContain(`name  ${safe}\n`);
    expect(shown[1]?.stdout.split('\n')).toEqual([expect.stringContaining(safe), '']);
    expect(shown[2]?.stderr).toContain(String.raw`no\u0007a\u001b[2J`);
    expect(JSON.parse((await asked('whoami', '--json')).stdout)).toMatchObject({ name: text, list: [text] });
  } finally {
    server.close();
  }
});
