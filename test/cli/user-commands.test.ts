import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { makeAuthority, writeCertificate } from '../gateway/harness/make-certificate.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { runCommand, runJson } from '../support/program.ts';

let database: TestDatabase;
let env: Record<string, string>;
let restaurants: string[];

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ORIGIN: 'https://api.example',
  };
  restaurants = [];
  for (const name of ['Da Ada', 'Da Bea'])
    restaurants.push((await runJson(['restaurant', 'create', '--name', name], env)).restuid ?? '');
});
afterAll(() => database?.drop());

const user = (...args: string[]): Promise<Record<string, unknown>> => runJson(['user', ...args], env);

const refusal = async (...args: string[]): Promise<{ code: number; stderr: string }> => {
  const { code, stderr } = await runCommand(['user', ...args], env);
  return { code, stderr: stderr.trim() };
};

test('user create creates an account for one or several restaurants and shows its public one-time link once', async () => {
  const [first = '', second = ''] = restaurants;
  const made = await user('create', '--email', 'Ada@Example.com', '--role', 'owner', '--restaurant', first, second);
  expect(made).toMatchObject({ email: 'ada@example.com', role: 'owner', state: 'invited', totp: false });
  expect(made.restaurants).toEqual([first, second].sort());
  expect(made.link).toMatch(/^https:\/\/api\.example\/panel\/link\?token=[\w-]{43}$/);
  expect(Date.parse(String(made.expires)) - Date.now()).toBeGreaterThan(23 * 3_600_000);
  const { users } = (await user('list')) as { users: Record<string, unknown>[] };
  expect(users).toHaveLength(1);
  expect(JSON.stringify(users)).not.toContain(String(made.link).split('=')[1]);
  expect((await user('link', '--email', 'ada@example.com')).link).not.toBe(made.link);
});

test('a link that would name this machine, since the public address of the gateways is not set, comes with a warning', async () => {
  const { ORDERPASS_ORIGIN: _unset, ...bare } = env;
  for (const words of [['create', '--role', 'support'], ['link']]) {
    const made = await runCommand(['user', ...words, '--email', 'nora@example.com', '--json'], bare);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('ORDERPASS_ORIGIN is not set')]);
    expect(JSON.parse(made.stdout).link).toContain('127.0.0.1');
  }
  const made = await runCommand(['user', 'link', '--email', 'nora@example.com', '--json'], env);
  expect([made.code, made.stderr]).toEqual([0, '']);
});

test('F-40 user list says where it goes on when it does not show every account', async () => {
  for (const name of ['zoe', 'zora']) await user('create', '--email', `${name}@example.com`, '--role', 'support');
  const page = async (after: string) => (await user('list', '--limit', '1', '--after', after)) as never as Page;
  type Page = { users: { email: string }[]; next_after: string | null };
  expect(await page('zo')).toMatchObject({ users: [{ email: 'zoe@example.com' }], next_after: 'zoe@example.com' });
  expect(await page('zoe@example.com')).toMatchObject({ users: [{ email: 'zora@example.com' }], next_after: null });
  const { stdout } = await runCommand(['user', 'list', '--limit', '1', '--after', 'zo'], env);
  expect(stdout).toContain('More: --after zoe@example.com');
  expect((await refusal('list', '--limit', '0')).code).toBe(2);
});

test('user set, disable and enable change the account, and each change is in the audit', async () => {
  await user('create', '--email', 'bea@example.com', '--role', 'support');
  const [, second = ''] = restaurants;
  expect(await user('set', '--email', 'bea@example.com', '--role', 'owner', '--restaurant', second)).toMatchObject({
    role: 'owner',
    restaurants: [second],
  });
  expect(await user('set', '--email', 'bea@example.com', '--role', 'security')).toMatchObject({ restaurants: [] });
  expect(await user('disable', '--email', 'bea@example.com')).toMatchObject({ state: 'disabled' });
  expect(await refusal('link', '--email', 'bea@example.com')).toEqual({
    code: 1,
    stderr: 'bea@example.com is disabled',
  });
  expect(await user('enable', '--email', 'bea@example.com')).toMatchObject({ state: 'invited' });
  const { events } = (await runJson(['audit', 'search', '--action', 'user.changed'], env)) as unknown as {
    events: Record<string, unknown>[];
  };
  expect(events).toHaveLength(4);
  // The restaurant has the change that gave it to the user, and the one that took it away.
  const asked = ['audit', 'search', '--action', 'user.changed', '--restaurant', second];
  expect(((await runJson(asked, env)) as unknown as { events: unknown[] }).events).toHaveLength(2);
  expect(events[0]?.['user.name']).toMatch(/^cli:/);
  expect(await runCommand(['audit', 'verify'], env)).toMatchObject({ code: 0 });
});

test('contradictory values are refused with a reason', async () => {
  const answers: Record<string, [args: string[], code: number, text: string]> = {
    twice: [
      ['create', '--email', 'ada@example.com', '--role', 'support'],
      1,
      'There is a user ada@example.com already',
    ],
    email: [['create', '--email', 'no address', '--role', 'support'], 1, 'is no email address'],
    role: [['create', '--email', 'cy@example.com', '--role', 'king'], 2, 'Allowed choices are owner, support'],
    none: [['create', '--email', 'cy@example.com', '--role', 'owner'], 1, 'needs at least one restaurant'],
    absent: [['create', '--email', 'c@e.com', '--role', 'owner', '--restaurant', 'rst_x'], 1, 'no restaurant rst_x'],
    link: [['link', '--email', 'cy@example.com'], 1, 'There is no user cy@example.com'],
    codes: [['remove-totp', '--email', 'ada@example.com'], 1, 'no second factor'],
    passkeys: [['remove-passkeys', '--email', 'ada@example.com'], 1, 'no passkey'],
  };
  await Promise.all(
    Object.values(answers).map(async ([args, code, text]) => {
      const answer = await refusal(...args);
      expect(answer.code, args.join(' ')).toBe(code);
      expect(answer.stderr).toContain(text);
    }),
  );
  const help = await runCommand(['user', '--help'], env);
  for (const name of ['create', 'link', 'set', 'list', 'disable', 'enable', 'remove-totp', 'remove-passkeys'])
    expect(help.stdout).toContain(name);
});

test('a one-time link has the scheme of the public listener where no origin is set, because a listener with TLS answers no plain request', async () => {
  const { certFile, keyFile, remove } = writeCertificate(makeAuthority());
  onTestFinished(remove);
  const { ORDERPASS_ORIGIN: _origin, ...plain }: Record<string, string> = { ...env, PORT: '8443' };
  const tls = { ...plain, ORDERPASS_TLS_CERT_FILE: certFile, ORDERPASS_TLS_KEY_FILE: keyFile };
  for (const [name, settings, origin] of [
    ['tls', tls, 'https://127.0.0.1:8443'],
    ['plain', plain, 'http://127.0.0.1:8443'],
  ] as const) {
    const args = ['user', 'create', '--email', `${name}@example.com`, '--role', 'support'];
    expect(new URL((await runJson(args, settings)).link ?? '').origin).toBe(origin);
  }
});

test('A-708 a change of a contact is found in the audit under each client that it gives or takes away', async () => {
  const clients: string[] = [];
  for (const name of ['till', 'app', 'kiosk'])
    clients.push(
      (await runJson(['client', 'create', '--name', name, '--restaurant', ...restaurants], env)).client_id ?? '',
    );
  const [kept = '', lost = '', gained = ''] = clients.toSorted();
  const email = ['--email', 'partner@example.com'];
  const eventsOf = async (client: string) => {
    const asked = ['audit', 'search', '--client', client];
    const { events } = (await runJson(asked, env)) as unknown as { events: Record<string, unknown>[] };
    return events
      .filter((event) => String(event['event.action']).startsWith('user.'))
      .map((event) => [event['event.action'], event['orderpass.details']]);
  };
  await user('create', ...email, '--role', 'contact', '--client', kept, lost);
  const both = expect.objectContaining({ clients: [kept, lost] });
  for (const client of [kept, lost]) expect(await eventsOf(client)).toEqual([['user.created', both]]);
  await user('set', ...email, '--client', kept, gained);
  const replaced = expect.objectContaining({
    clients: [kept, gained],
    clients_added: [gained],
    clients_removed: [lost],
  });
  expect(await eventsOf(lost)).toEqual([
    ['user.changed', replaced],
    ['user.created', both],
  ]);
  expect(await eventsOf(gained)).toEqual([['user.changed', replaced]]);
  expect(await eventsOf(kept)).toEqual([['user.created', both]]);
  // Another role takes all of them away. A change of none is found under the user alone.
  await user('set', ...email, '--role', 'support');
  await user('set', ...email, '--role', 'security');
  const ended = expect.objectContaining({ role: 'support', clients_removed: [kept, gained].toSorted() });
  expect(await eventsOf(kept)).toEqual([
    ['user.changed', ended],
    ['user.created', both],
  ]);
  expect((await eventsOf(gained))[0]).toEqual(['user.changed', ended]);
  expect(await runCommand(['audit', 'verify'], env)).toMatchObject({ code: 0 });
});

test('user create creates a contact of API clients that exist, and of nothing else', async () => {
  const [first = ''] = restaurants;
  const { client_id = '' } = await runJson(['client', 'create', '--name', 'Ada', '--restaurant', first], env);
  const create = ['create', '--email', 'integrator@example.com', '--role', 'contact'];
  expect((await refusal(...create)).stderr).toContain('A contact needs at least one API client');
  expect((await refusal(...create, '--client', 'opc_none')).stderr).toContain('There is no client opc_none');
  expect((await refusal(...create, '--client', client_id, '--restaurant', first)).code).toBe(1);
  expect(await user(...create, '--client', client_id)).toMatchObject({ clients: [client_id], restaurants: [] });
  expect(await user('set', '--email', 'integrator@example.com', '--role', 'support')).toMatchObject({ clients: [] });
  expect((await refusal('set', '--email', 'integrator@example.com', '--client', client_id)).code).toBe(1);
});
