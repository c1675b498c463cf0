/** The route table is changed under running gateways: on a signal, by command, and when its file changes. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { makeAuthority } from '../gateway/harness/make-certificate.ts';
import { closeServer, listen } from '../gateway/harness/public-door.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../support/program.ts';
import { signalOne } from '../support/signal.ts';
import { until } from '../support/until.ts';

type Service = { url: string; server: Server; connections: () => number; seen: { connections: number } };
type Gateway = { program: RunningProgram; metricsUrl: string };

let database: TestDatabase;
let folder: string;
let env: Record<string, string>;
let old: Service;
let fresh: Service;
let gateways: Gateway[];

/** Answers with its name; `/stream` sends an event every 20 ms, and WebSockets get back what they send. */
const startService = async (name: string): Promise<Service> => {
  // Longer than any wait of these tests, so that an idle connection ends only when the gateway closes it.
  const server = createServer({ keepAliveTimeout: 600_000 }, (req, res) => {
    if (!req.url?.endsWith('/stream')) return void res.end(name);
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => res.write(`data: ${name}\n\n`), 20);
    res.once('close', () => clearInterval(timer));
  });
  new WebSocketServer({ server }).on('connection', (socket) => {
    socket.on('error', () => undefined);
    socket.on('message', (data) => socket.send(`${name} ${String(data)}`));
  });
  const seen = { connections: 0 };
  let open = 0;
  server.on('connection', (socket) => {
    seen.connections += 1;
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
  });
  return { url: await listen(server), server, connections: () => open, seen };
};

const route = (id: string, path: string, more: Record<string, unknown> = {}) => ({
  ...{ id, path, method: 'GET', access: 'public', upstream: 'shop', body: 'any' },
  ...more,
});

const prices = { name: 'read:prices', description: 'Prices' };

const tableWith = (upstream: Service, ...more: Record<string, unknown>[]) => ({
  scopes: [],
  upstreams: { shop: { addresses: [upstream.url], identity: 'none' } },
  routes: [route('shop.stream', '/stream'), route('shop.socket', '/socket', { upgrade: true }), ...more],
});

const file = (): string => join(folder, 'routes.json');
/** At once, as editors and deployments do it. */
const replace = (text: string): void => {
  writeFileSync(`${file()}.new`, text);
  renameSync(`${file()}.new`, file());
};
const write = (table: object): void => replace(JSON.stringify(table));

const startGateway = async (more: Record<string, string> = {}): Promise<Gateway> => {
  const port = String(await freePort());
  const program = await startProgram({ ...env, ORDERPASS_INTERNAL_PORT: port, ...more });
  return { program, metricsUrl: `http://127.0.0.1:${port}/metrics` };
};

type Status = { gateway: string; version: string; result: string; problems: string[] };
const reload = async (): Promise<{ code: number; gateways: Status[]; silent: string[] }> => {
  const { code, stdout, stderr } = await runCommand(['config', 'reload', '--wait', '60', '--json'], env);
  if (stdout === '') throw new Error(stderr);
  return { code, ...(JSON.parse(stdout) as { gateways: Status[]; silent: string[] }) };
};

const ask = async ({ program }: Gateway, path: string): Promise<string> => {
  const answer = await fetch(program.url + path);
  const text = await answer.text();
  return answer.status === 200 ? text : String(answer.status);
};
const askAll = (path: string): Promise<string[]> => Promise.all(gateways.map((gateway) => ask(gateway, path)));
const readyOf = async ({ program }: Gateway): Promise<Record<string, unknown>> =>
  (await (await fetch(`${program.url}/readyz`)).json()) as Record<string, unknown>;
const metricOf = async ({ metricsUrl }: Gateway, start: string): Promise<string | undefined> =>
  (await (await fetch(metricsUrl)).text()).split('\n').find((line) => line.startsWith(start));
const hangUp = ({ program }: Gateway): boolean => signalOne(program.child.pid, 'SIGHUP');

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'orderpass-reload-'));
  [old, fresh] = await Promise.all([startService('old'), startService('fresh')]);
  write(tableWith(old, route('shop.menu', '/menu')));
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_ROUTES_FILE: file(),
    ORDERPASS_RATE_MINUTE_UNITS: '10000000',
    ORDERPASS_RATE_BURST_UNITS: '10000000',
  };
  gateways = [await startGateway(), await startGateway()];
});

afterAll(async () => {
  for (const { program } of gateways ?? []) await program.stop();
  for (const service of [old, fresh]) await closeServer(service.server);
  rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

test('A-206 config reload has every gateway serve the new table, shows its version, and the audit has what changed and by whom', async () => {
  expect(await askAll('/menu')).toEqual(['old', 'old']);
  const before = (await readyOf(gateways[0] as Gateway)).routes_version;
  // A gateway writes down what it serves a moment after its start, and the command waits for those that did.
  await until(async () => (await runCommand(['config', 'status'], env)).stdout.match(/serves /g)?.length === 2);
  write({ ...tableWith(old, route('shop.prices', '/prices'), route('shop.late', '/late')), scopes: [prices] });
  const answer = await reload();
  expect([answer.code, answer.silent, answer.gateways.map(({ result }) => result)]).toEqual([
    0,
    [],
    ['reloaded', 'reloaded'],
  ]);
  const [version] = answer.gateways.map((one) => one.version);
  expect(version).not.toBe(before);
  expect([await askAll('/menu'), await askAll('/prices')]).toEqual([
    ['404', '404'],
    ['old', 'old'],
  ]);
  for (const gateway of gateways) {
    expect(await readyOf(gateway)).toMatchObject({ routes_version: version, routes_file: 'ok' });
    expect(await metricOf(gateway, 'orderpass_config_info')).toContain(`version="${version}"`);
    const metadata = await fetch(`${gateway.program.url}/.well-known/oauth-protected-resource`);
    expect(await metadata.json()).toMatchObject({ scopes_supported: ['read:prices'] });
  }
  const { rows } = await database.pool.query(
    "select actor, details from gateway.audit_events where action = 'config.reloaded'",
  );
  expect(rows).toHaveLength(2);
  for (const { actor, details } of rows) {
    expect(actor).toMatch(/^cli:/);
    expect(JSON.parse(details)).toMatchObject({
      ...{ from: before, to: version, more: 0, members: ['scopes'] },
      ...{ added: ['shop.prices', 'shop.late'], removed: ['shop.menu'], changed: [] },
    });
  }
  const status = await runCommand(['config', 'status'], env);
  expect(status.stdout.match(new RegExp(`serves ${version}`, 'g'))).toHaveLength(2);
});

test('A-552 the audit names changed limits of tenants as a member of the table, and no route that was not changed', async () => {
  const table = tableWith(old, route('shop.prices', '/prices'), route('shop.late', '/late'));
  const limited = { ...table, scopes: [prices], tenantLimits: { perMinute: 1_000 } };
  const changes = async (next: object) => {
    const { routes_version: from } = await readyOf(gateways[0] as Gateway);
    write(next);
    const { code, gateways: reloaded } = await reload();
    expect(code).toBe(0);
    const { rows } = await database.pool.query(
      "select details from gateway.audit_events where action = 'config.reloaded'",
    );
    const details = rows.map((row) => JSON.parse(row.details));
    return details.find((one) => one.from === from && one.to === reloaded[0]?.version);
  };
  expect(await changes(limited)).toMatchObject({
    members: ['tenantLimits'],
    changed: [],
    added: [],
    removed: [],
    more: 0,
  });
  const moved = tableWith(old, route('shop.prices', '/prices'), route('shop.late', '/later'));
  expect(await changes({ ...moved, scopes: [prices] })).toMatchObject({
    ...{ members: ['tenantLimits'], changed: ['shop.late'], added: [], removed: [] },
  });
  expect(await changes({ ...table, scopes: [prices] })).toMatchObject({ members: [], changed: ['shop.late'] });
});

test('A-207 a table with mistakes changes nothing: every gateway names them, in the answer, the log, /readyz and a metric', async () => {
  const { routes_version: version } = await readyOf(gateways[0] as Gateway);
  write(tableWith(old, route('Wrong', '/prices'), route('shop.x', 'no-slash')));
  const answer = await reload();
  expect(answer.code).toBe(1);
  for (const { result, problems, ...served } of answer.gateways) {
    expect([result, served.version]).toEqual(['refused', version]);
    expect(problems.map((problem) => problem.split(':', 1)[0])).toEqual(['routes.2.id', 'routes.3.path']);
  }
  expect(await askAll('/prices')).toEqual(['old', 'old']);
  for (const gateway of gateways) {
    expect(await readyOf(gateway)).toMatchObject({
      status: 'degraded',
      routes_file: 'refused',
      routes_version: version,
    });
    expect(await metricOf(gateway, 'orderpass_config_refused')).toMatch(/ 1$/);
    const line =
      gateway.program
        .errors()
        .split('\n')
        .find((one) => one.includes('routes.3.path')) ?? '';
    expect(JSON.parse(line)).toMatchObject({ routes_version: version, problems: expect.any(Array) });
    // The release of the program keeps its member.
    expect(line.match(/"version":/g)).toHaveLength(1);
  }
  replace('{ "routes": [');
  expect((await reload()).code).toBe(1);
  rmSync(file());
  expect((await reload()).code).toBe(1);
  expect(await askAll('/prices')).toEqual(['old', 'old']);

  // The same table in another layout is the same version.
  const same = tableWith(old, route('shop.prices', '/prices'), route('shop.late', '/late'));
  replace(JSON.stringify({ ...same, scopes: [prices] }, null, 4));
  const again = await reload();
  expect([again.code, ...again.gateways.map((one) => one.version)]).toEqual([0, version, version]);
  for (const gateway of gateways) {
    expect(await readyOf(gateway)).toMatchObject({ status: 'ok', routes_file: 'ok' });
    expect(await metricOf(gateway, 'orderpass_config_refused')).toMatch(/ 0$/);
  }
});

const open = (url: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => get(url, { agent: false }, resolve).on('error', reject));

test('A-208 SIGHUP: running streams and WebSockets go on with the old table and its services, later requests meet the new one', async () => {
  const [gateway, other] = gateways as [Gateway, Gateway];
  const stream = await open(`${gateway.program.url}/stream`);
  let events = '';
  stream.on('data', (chunk) => {
    events += String(chunk);
  });
  stream.on('error', () => undefined);
  const socket = new WebSocket(`${gateway.program.url.replace('http', 'ws')}/socket`);
  const said: string[] = [];
  socket.on('message', (data) => said.push(String(data)));
  await until(() => socket.readyState === WebSocket.OPEN && events.includes('old'));

  write(tableWith(fresh, route('shop.prices', '/prices')));
  hangUp(gateway);
  await until(async () => (await ask(gateway, '/prices')) === 'fresh');
  // A signal reaches one gateway; the other one has not been asked.
  expect([await ask(other, '/prices'), await ask(other, '/late'), await ask(gateway, '/late')]).toEqual([
    'old',
    'old',
    '404',
  ]);
  const { rows } = await database.pool.query(
    "select 1 from gateway.audit_events where action = 'config.reloaded' and actor = 'signal:SIGHUP'",
  );
  expect(rows).toHaveLength(1);
  await reload();
  expect(await ask(other, '/prices')).toBe('fresh');

  const seen = events.length;
  socket.send('still there?');
  await until(() => events.length > seen && said.length === 1);
  expect([said, events.includes('fresh')]).toEqual([['old still there?'], false]);

  // The connections of the old table end with the last request that uses them.
  expect(old.connections()).toBeGreaterThan(0);
  stream.destroy();
  socket.close();
  await until(() => old.connections() === 0);
});

test('A-209 twenty reloads under load lose no request, and a service that did not change keeps its connections', async () => {
  const [gateway] = gateways as [Gateway];
  let running = true;
  let answered = 0;
  const wrong: string[] = [];
  const load = Array.from({ length: 8 }, async () => {
    while (running) {
      const text = await ask(gateway, '/prices').catch((error: unknown) => String(error));
      answered += 1;
      if (text !== 'fresh') wrong.push(text);
    }
  });
  const { connections } = fresh.seen;
  for (let count = 0; count < 20; count += 1) {
    const path = `/version-${count}`;
    write(tableWith(fresh, route('shop.prices', '/prices'), route('shop.version', path)));
    hangUp(gateway);
    await until(async () => (await ask(gateway, path)) === 'fresh');
  }
  running = false;
  await Promise.all(load);
  expect(wrong).toEqual([]);
  expect(answered).toBeGreaterThan(100);
  // As many as there are requests at the same time, for all twenty tables together.
  expect(fresh.seen.connections - connections).toBeLessThanOrEqual(9);
});

test('A-210 with ORDERPASS_WATCH=on a gateway follows its file: written, renamed, and swapped by a symbolic link', async () => {
  const mount = join(folder, 'mount');
  mkdirSync(mount);
  let version = 0;
  /** As Kubernetes mounts a ConfigMap: a link to a file in a folder behind a second link. */
  const mountTable = (table: object): void => {
    version += 1;
    const next = join(mount, `..v${version}`);
    mkdirSync(next);
    writeFileSync(join(next, 'routes.json'), JSON.stringify(table));
    symlinkSync(next, join(mount, '..next'));
    renameSync(join(mount, '..next'), join(mount, '..data'));
  };
  mountTable(tableWith(fresh, route('shop.first', '/first')));
  symlinkSync('..data/routes.json', join(mount, 'routes.json'));
  const watched = join(mount, 'routes.json');
  const watching = await startGateway({ ORDERPASS_WATCH: 'on', ORDERPASS_ROUTES_FILE: watched });
  try {
    expect(await ask(watching, '/first')).toBe('fresh');
    mountTable(tableWith(fresh, route('shop.linked', '/linked')));
    await until(async () => (await ask(watching, '/linked')) === 'fresh');
    writeFileSync(watched, JSON.stringify(tableWith(fresh, route('shop.written', '/written'))));
    await until(async () => (await ask(watching, '/written')) === 'fresh');
    writeFileSync(`${watched}.new`, 'no table');
    renameSync(`${watched}.new`, watched);
    await until(async () => (await readyOf(watching)).routes_file === 'refused');
    expect(await ask(watching, '/written')).toBe('fresh');
    writeFileSync(`${watched}.new`, JSON.stringify(tableWith(fresh, route('shop.renamed', '/renamed'))));
    renameSync(`${watched}.new`, watched);
    await until(async () => (await ask(watching, '/renamed')) === 'fresh');
    expect(await metricOf(watching, 'orderpass_config_reload_total{result="refused"}')).toMatch(/ 1$/);
  } finally {
    await watching.program.stop();
  }
});

/** While `run` goes on, the audit takes no `config.reloaded`. `tries`: how often one was refused. */
const withoutAudit = async (run: (tries: () => Promise<number>) => Promise<void>): Promise<void> => {
  await database.pool.query(`
    create sequence gateway.refused_reloads;
    create function gateway.refuse_reload() returns trigger language plpgsql as $$
    begin
      perform nextval('gateway.refused_reloads');
      raise exception 'the audit is away';
    end $$;
    create trigger refuse_reload before insert on gateway.audit_events for each row
      when (new.action = 'config.reloaded') execute function gateway.refuse_reload()`);
  try {
    // A sequence counts also where its transaction ends in an error.
    await run(async () => {
      const { rows } = await database.pool.query('select last_value, is_called from gateway.refused_reloads');
      return rows[0].is_called ? Number(rows[0].last_value) : 0;
    });
  } finally {
    await database.pool.query(`
      drop trigger refuse_reload on gateway.audit_events;
      drop function gateway.refuse_reload;
      drop sequence gateway.refused_reloads`);
  }
};

const refusals = ({ program }: Gateway, problem: string): number =>
  program
    .errors()
    .split('\n')
    .filter((line) => line.includes('the route table is not used') && line.includes(problem)).length;

test('A-569 a table that was refused for a missing TLS file or for the store is served when the reason is gone, and the reason is logged once', async () => {
  const watched = join(folder, 'watched.json');
  const writeWatched = (table: object): void => {
    writeFileSync(`${watched}.new`, JSON.stringify(table));
    renameSync(`${watched}.new`, watched);
  };
  writeWatched(tableWith(old, route('shop.begin', '/begin')));
  const watching = await startGateway({ ORDERPASS_WATCH: 'on', ORDERPASS_ROUTES_FILE: watched });
  try {
    // The start of the watch reads the file once more: what it reads of a later table must not count for this test.
    writeWatched(tableWith(old, route('shop.next', '/next')));
    await until(async () => (await ask(watching, '/next')) === 'old');
    const { upstreams, ...table } = tableWith(
      old,
      route('shop.secured', '/secured'),
      route('pos.list', '/pos', { upstream: 'pos' }),
    );
    const pos = { addresses: ['https://127.0.0.1:1'], identity: 'none', tls: { caFile: 'pos-ca.pem' } };
    writeWatched({ ...table, upstreams: { ...upstreams, pos } });
    await until(() => refusals(watching, 'pos-ca.pem') > 0);
    expect(await ask(watching, '/secured')).toBe('404');
    writeFileSync(join(folder, 'pos-ca.pem'), makeAuthority().cert);
    await until(async () => (await ask(watching, '/secured')) === 'old');
    expect(refusals(watching, 'pos-ca.pem')).toBe(1);
    expect(await readyOf(watching)).toMatchObject({ routes_file: 'ok' });

    await withoutAudit(async (tries) => {
      writeWatched(tableWith(old, route('shop.audited', '/audited')));
      await until(async () => (await tries()) >= 2);
      expect([await ask(watching, '/audited'), refusals(watching, 'the audit is away')]).toEqual(['404', 1]);
      expect(await metricOf(watching, 'orderpass_config_reload_total{result="refused"}')).toMatch(/ 2$/);
    });
    await until(async () => (await ask(watching, '/audited')) === 'old');
  } finally {
    await watching.program.stop();
  }
});

test('A-569 a request to reload that the audit could not take is carried out when it can, and its gateways are named until then', async () => {
  const before = JSON.parse(readFileSync(file(), 'utf8')) as object;
  await withoutAudit(async (tries) => {
    write(tableWith(old, route('shop.audited', '/audited')));
    const { code, stdout } = await runCommand(['config', 'reload', '--wait', '5', '--json'], env);
    const { gateways: named, silent } = JSON.parse(stdout) as { gateways: Status[]; silent: string[] };
    expect([code, silent.length, named.map(({ result }) => result)]).toEqual([1, 2, ['refused', 'refused']]);
    expect(named.flatMap(({ problems }) => problems)).toEqual(['the audit is away', 'the audit is away']);
    await until(async () => (await tries()) >= 4);
    expect(gateways.map((gateway) => refusals(gateway, 'the audit is away'))).toEqual([1, 1]);
    expect(await askAll('/audited')).toEqual(['404', '404']);
  });
  await until(async () => (await askAll('/audited')).join() === 'old,old');
  write(before);
  expect((await reload()).code).toBe(0);
});

test('A-458 tokens stay valid over a reload, their scopes are compared with the new table, and documents describe it', async () => {
  const stock = { name: 'read:stock', description: 'Stock' };
  const pricesWith = (scopes: string[]) => route('shop.prices', '/prices', { access: 'credential', scopes });
  const tableFor = (names: object[], scopes: string[], ...more: Record<string, unknown>[]) => ({
    ...tableWith(old, pricesWith(scopes), ...more),
    scopes: names,
  });
  write(tableFor([prices, stock], ['read:prices']));
  expect((await reload()).code).toBe(0);
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Osteria'], env);
  const { client_id = '', client_secret = '' } = await runJson(
    ['client', 'create', '--name', 'Till', '--restaurant', restuid],
    env,
  );
  const gateway = gateways[0] as Gateway;
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id,
    client_secret,
    scope: 'read:prices',
  });
  const issued = await fetch(`${gateway.program.url}/api/oauth/token`, { method: 'POST', body });
  const { access_token: token } = (await issued.json()) as { access_token: string };
  const statuses = async (): Promise<number[]> => {
    const headers = { authorization: `Bearer ${token}` };
    const asked = gateways.map(({ program }) => fetch(`${program.url}/prices`, { headers }));
    return (await Promise.all(asked)).map(({ status }) => status);
  };
  expect(await statuses()).toEqual([200, 200]);
  write(
    tableFor(
      [prices, stock],
      ['read:stock'],
      route('shop.late', '/late-addition', { access: 'credential', scopes: [] }),
    ),
  );
  expect((await reload()).code).toBe(0);
  expect(await statuses()).toEqual([403, 403]);
  for (const { program } of gateways) {
    const json = async (path: string) => (await fetch(program.url + path)).json() as Promise<Record<string, unknown>>;
    for (const name of ['oauth-authorization-server', 'oauth-protected-resource'])
      expect(await json(`/.well-known/${name}`)).toMatchObject({ scopes_supported: ['read:prices', 'read:stock'] });
    expect(JSON.stringify(await json('/api/openapi.json'))).toContain('/late-addition');
  }
  // The scope of the token does not exist any more.
  write(tableFor([stock], []));
  expect((await reload()).code).toBe(0);
  expect(await statuses()).toEqual([200, 200]);
  for (const { program } of gateways) {
    const document = await (await fetch(`${program.url}/api/openapi.json`)).text();
    expect(document).not.toContain('/late-addition');
  }
});

test('A-211 a gateway that does not answer is named, and without gateways the command has nothing to wait for', async () => {
  const [gateway, other] = gateways as [Gateway, Gateway];
  const [running, silent] = [gateway, other].map(({ program }) => program.child.pid);
  const ended = new RegExp(`:${silent} {2}has ended or does not answer: it was last seen \\d+ s ago and served \\w+\n`);
  signalOne(silent, 'SIGSTOP');
  // A process that is stopped does not end with the test.
  onTestFinished(() => void signalOne(silent, 'SIGCONT'));
  const { code, stderr, stdout } = await runCommand(['config', 'reload', '--wait', '8'], env);
  // The row of a gateway that was killed stays in the same way.
  await until(async () => {
    const shown = (await runCommand(['config', 'status'], env)).stdout;
    return shown.includes(`:${running}  serves `) && ended.test(shown);
  }, 40_000);
  signalOne(silent, 'SIGCONT');
  expect([code, stdout.split('\n').length, stderr]).toEqual([
    1,
    3,
    expect.stringContaining('has not answered within 8 s'),
  ]);
  expect((await runCommand(['config', 'reload', '--wait', 'soon'], env)).code).toBe(2);
  for (const { program } of [gateway, other]) await program.stop();
  gateways = [];
  const { code: empty, stdout: said } = await runCommand(['config', 'reload'], env);
  expect([empty, said]).toEqual([0, 'No gateway is running.\n']);
});
