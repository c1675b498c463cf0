/** What `/healthz` and `/readyz` of the internal listener say, in every role, and how a process drains before it stops. */
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { programVersion } from '#src/platform/files/release.ts';
import { openStoreLine, type StoreLine } from '../gateway/harness/store-line.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let line: StoreLine;
const programs: RunningProgram[] = [];
let internal: string;
const masterKey = randomBytes(32).toString('base64');

const metricsToken = 'a'.repeat(16);

beforeAll(async () => {
  database = await createTestDatabase();
  line = await openStoreLine(database.url);
});

afterAll(async () => {
  await line?.close();
  await database?.drop();
});

const start = async (env: Record<string, string>): Promise<RunningProgram> => {
  const port = String(await freePort());
  internal = `http://127.0.0.1:${port}`;
  const program = await startProgram({
    DATABASE_URL: line.url,
    ORDERPASS_MASTER_KEY: masterKey,
    ORDERPASS_INTERNAL_PORT: port,
    ORDERPASS_METRICS_TOKEN: metricsToken,
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9',
    ...env,
  });
  programs.push(program);
  return program;
};

/** A test that failed may leave a long drain, or a store that is away. */
const killAll = async (): Promise<void> => {
  await Promise.all(programs.splice(0).map((program) => program.child.exitCode ?? program.kill()));
  await line.restore();
};

const metrics = async (): Promise<string> => {
  const answer = await fetch(`${internal}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  return answer.text();
};

type Probe = { status: number; connection: string | undefined; body: Record<string, unknown> };

/** Over a connection that would stay open. */
const get = (url: string, headers: Record<string, string> = {}): Promise<Probe> =>
  new Promise((resolve, reject) => {
    request(url, { headers: { connection: 'keep-alive', ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { connection } = response.headers;
        resolve({
          status: response.statusCode ?? 0,
          connection,
          body: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>,
        });
      });
    })
      .once('error', reject)
      .end();
  });

const core = { status: 'ok', store: 'ok', writes: 'ok', schema: 'current', secrets: 'ok', version: programVersion };
const worker = { leases: 'held', queue: 'ok', oldest_due_seconds: 0 };
const gateway = { shared_state: 'local', audit: 'ok', routes_file: 'ok', routes_version: expect.any(String) };

const answersProbes = async (role: string, parts: object): Promise<void> => {
  expect(await get(`${internal}/healthz`)).toMatchObject({ status: 200, body: { status: 'ok' } });
  await until(async () => (await get(`${internal}/readyz`)).status === 200);
  expect((await get(`${internal}/readyz`)).body).toEqual({ ...core, ...parts, role });
  expect((await fetch(`${internal}/readyz`, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`${internal}/metrics`)).status).toBe(401);
};

const showsStatementsThatWait = async (): Promise<void> => {
  const waiting = async (): Promise<number> => Number(/^orderpass_store_waiting (.*)$/m.exec(await metrics())?.[1]);
  await until(async () => (await waiting()) === 0);
  line.freeze();
  // Each probe reads from the store, and no connection comes back to the pool.
  const probes = Array.from({ length: 20 }, () => get(`${internal}/readyz`));
  await until(async () => (await waiting()) > 0);
  await Promise.all(probes);
  await line.restore();
  await until(async () => (await waiting()) === 0);
};

const showsWhetherReady = async (): Promise<void> => {
  const shows = (value: 0 | 1) => async (): Promise<boolean> =>
    (await metrics()).includes(`\norderpass_ready ${value}\n`);
  await until(shows(1));
  await line.cut();
  await until(shows(0));
  await line.restore();
  await until(shows(1));
  expect(programs.map(({ child }) => child.exitCode)).toEqual([null]);
};

/** A reason that only the internal listener knows: the store answers, so only the schema is not ready. */
const showsThatSchemaIsBehind = async (): Promise<void> => {
  const shows = (value: 0 | 1) => async (): Promise<boolean> =>
    (await metrics()).includes(`\norderpass_ready ${value}\n`);
  await until(shows(1));
  await sql`update platform.migrations set feature = 'away' where feature = 'webhooks'`.execute(database.db);
  try {
    expect(await get(`${internal}/readyz`)).toMatchObject({ status: 503, body: { store: 'ok', schema: 'behind' } });
    await until(shows(0));
  } finally {
    await sql`update platform.migrations set feature = 'webhooks' where feature = 'away'`.execute(database.db);
  }
  await until(shows(1));
};

// One start of each role serves all tests of it.

describe('role all', () => {
  beforeAll(() => start({ ORDERPASS_ROLE: 'all' }));
  afterAll(killAll);

  test('A-249 the internal listener of role all answers probes without a token, with what the role needs', () =>
    answersProbes('all', { ...gateway, ...worker }));

  test(
    'A-776 the metrics of role all show that the process is not ready while its schema is behind, as /readyz of its internal listener says',
    showsThatSchemaIsBehind,
  );
});

describe('role gateway', () => {
  beforeAll(() => start({ ORDERPASS_ROLE: 'gateway', ORDERPASS_DATABASE_CONNECTIONS_MAX: '6' }));
  afterAll(killAll);

  test('A-249 the internal listener of role gateway answers probes without a token, with what the role needs', () =>
    answersProbes('gateway', gateway));

  test(
    'A-776 the metrics of role gateway show that the process is not ready while its schema is behind, as /readyz of its internal listener says',
    showsThatSchemaIsBehind,
  );

  test(
    'A-562 the metrics of role gateway show how many statements wait for a connection of its own',
    showsStatementsThatWait,
  );
});

describe('role worker', () => {
  beforeAll(() => start({ ORDERPASS_ROLE: 'worker', ORDERPASS_DATABASE_CONNECTIONS_MAX: '6' }));
  afterAll(killAll);

  test('A-249 the internal listener of role worker answers probes without a token, with what the role needs', () =>
    answersProbes('worker', worker));

  test('A-249 a worker is not ready while its store is away, and the process is alive all the same', async () => {
    await until(async () => (await get(`${internal}/readyz`)).status === 200);
    await line.cut();
    await until(async () => (await get(`${internal}/readyz`)).status === 503);
    expect((await get(`${internal}/readyz`)).body).toMatchObject({ status: 'unavailable', store: 'unavailable' });
    expect((await get(`${internal}/healthz`)).status).toBe(200);
    await line.restore();
    await until(async () => (await get(`${internal}/readyz`)).status === 200);
  });

  test('A-249 the metrics of role worker show whether the process is ready', showsWhetherReady);

  test(
    'A-562 the metrics of role worker show how many statements wait for a connection of its own',
    showsStatementsThatWait,
  );
});

describe('a gateway with several processes', () => {
  afterAll(killAll);
  const shown = async (names: string): Promise<string[]> => {
    const text = await metrics().catch(() => '');
    return text.match(new RegExp(`^orderpass_(${names}) \\S+$`, 'gm')) ?? [];
  };

  test('A-731 the metrics of a gateway with several processes show that it is not ready while none of them serves', async () => {
    await line.cut();
    const starting = start({ ORDERPASS_ROLE: 'gateway', ORDERPASS_PROCESSES: '2', PORT: String(await freePort()) });
    // One that fails with this test, before it is waited for.
    starting.catch(() => undefined);
    const gauges = (): Promise<string[]> => shown('ready|processes');
    await until(async () => (await gauges()).includes('orderpass_processes 0'));
    expect((await get(`${internal}/readyz`)).body).toMatchObject({ status: 'unavailable', processes_ready: 0 });
    expect((await gauges()).toSorted()).toEqual(['orderpass_processes 0', 'orderpass_ready 0']);
    await line.restore();
    await starting;
    await until(async () => (await gauges()).includes('orderpass_ready 1'));
  });

  test('A-571 the metrics of a gateway with several processes keep their gauges while the store is silent, and show that it is not ready', async () => {
    // The program of the test before, unless this one runs alone.
    if (programs.length === 0)
      await start({ ORDERPASS_ROLE: 'gateway', ORDERPASS_PROCESSES: '2', PORT: String(await freePort()) });
    const gauges = (): Promise<string[]> => shown('ready|audit_lag_seconds|audit_problems|shared_state_up');
    await until(async () => (await gauges()).includes('orderpass_ready 1'));
    line.freeze();
    await until(async () => {
      const found = await gauges();
      return found.includes('orderpass_ready 0') && found.length === 4;
    });
    await line.restore();
    await until(async () => (await gauges()).includes('orderpass_ready 1'));
  });
});

describe('a drain', () => {
  afterEach(killAll);

  test.each<[string, Record<string, string>]>([
    ['one process', {}],
    ['several processes', { ORDERPASS_PROCESSES: '2' }],
  ])(
    'A-250 %s of a gateway drains: not ready, while requests are answered with the end of their connection',
    async (_what, env) => {
      const port = String(await freePort());
      const program = await start({ ORDERPASS_ROLE: 'gateway', PORT: port, ORDERPASS_DRAIN_MS: '200000', ...env });
      await until(async () => (await get(`${internal}/readyz`)).status === 200);
      const { processes_ready, ...members } = (await get(`${internal}/readyz`)).body;
      expect(members).toMatchObject({ ...core, audit: 'ok', routes_file: 'ok', role: 'gateway' });
      expect(processes_ready).toBe(env.ORDERPASS_PROCESSES === undefined ? undefined : 2);
      expect((await get(`${program.url}/readyz`)).connection).toBe('keep-alive');
      const exited = new Promise((resolve) => program.child.once('exit', resolve));
      program.child.kill('SIGTERM');
      await until(async () => (await get(`${internal}/readyz`)).body.status === 'draining');
      // Of several processes each one answers in turn, and takes the message in its own time.
      const areDraining = async (): Promise<boolean> => {
        const answers = [await get(`${program.url}/readyz`), await get(`${program.url}/readyz`)];
        return answers.every(
          ({ status, body, connection }) => [status, body.status, connection].join() === '503,draining,close',
        );
      };
      await until(areDraining);
      for (const expecting of [{}, { expect: '100-continue' }]) {
        const own = await get(`${program.url}/api/whoami`, expecting);
        expect([own.status, own.connection]).toEqual([401, 'close']);
      }
      expect(await endedBySignals(program, exited)).toBe(130);
    },
  );

  /** A second signal ends the drain. One that comes at once is that of another process of the group, and is ignored. */
  const endedBySignals = async (program: RunningProgram, exited: Promise<unknown>): Promise<unknown> => {
    let code: unknown;
    void exited.then((ended) => {
      code = ended;
    });
    await until(() => {
      program.child.kill('SIGTERM');
      return code !== undefined;
    });
    return code;
  };

  test('A-250 a stop that arrives as two signals at once, as from a service manager and npm, drains and ends with 0', async () => {
    const program = await start({ ORDERPASS_ROLE: 'worker', ORDERPASS_DRAIN_MS: '300' });
    const exited = new Promise((resolve) => program.child.once('exit', resolve));
    // Two kinds, because the system may deliver two signals of one kind as one.
    program.child.kill('SIGTERM');
    program.child.kill('SIGINT');
    expect(await exited).toBe(0);
  });
});

describe('role ordering', () => {
  beforeAll(() => start({ ORDERPASS_ROLE: 'ordering', ORDERPASS_DATABASE_CONNECTIONS_MAX: '6' }));
  afterAll(killAll);

  test('A-249 the internal listener of role ordering answers probes without a token, with what the role needs', () =>
    answersProbes('ordering', {}));

  test('A-249 a core is not ready while the store reads and each write of it hangs, and is ready when writes end again', async () => {
    await until(async () => (await get(`${internal}/readyz`)).status === 200);
    // A new table has columns in this table of the system, so its writer waits as for a standby that is gone.
    const blocker = await database.pool.connect();
    try {
      await blocker.query('begin; lock table pg_catalog.pg_attribute in share mode');
      await until(async () => (await get(`${internal}/readyz`)).status === 503);
      const { body } = await get(`${internal}/readyz`);
      expect(body).toMatchObject({ status: 'unavailable', store: 'ok', writes: 'failing' });
      await blocker.query('rollback');
    } finally {
      blocker.release(true);
    }
    await until(async () => (await get(`${internal}/readyz`)).status === 200);
  });

  test('A-249 the metrics of role ordering show whether the process is ready', showsWhetherReady);

  test(
    'A-562 the metrics of role ordering show how many statements wait for a connection of its own',
    showsStatementsThatWait,
  );

  // The last one of the file, since it changes what the database knows of its migrations.
  test('A-249 a process that does not know the last migration is ready, and one that misses a migration is not', async () => {
    await until(async () => (await get(`${internal}/readyz`)).status === 200);
    const { db } = database;
    await sql`insert into platform.migrations (feature, number, name, sha256) values ('gateway', 9999, 'later', '')`.execute(
      db,
    );
    expect((await get(`${internal}/readyz`)).body).toMatchObject({ status: 'ok', schema: 'newer' });
    await sql`delete from platform.migrations where feature = 'webhooks'`.execute(db);
    const missing = await get(`${internal}/readyz`);
    expect([missing.status, missing.body.status, missing.body.schema]).toEqual([503, 'unavailable', 'behind']);
  });
});
