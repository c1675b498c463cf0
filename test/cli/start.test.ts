import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { importsAnswer } from '../support/orders/imports-answer.ts';
import { type RunningProgram, root, runCommand, runJson, startProgram } from '../support/program.ts';
import { signalOne } from '../support/signal.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    NODE_ENV: 'production',
  };
});

afterAll(() => database?.drop());

const start = async (more: Record<string, string> = {}): Promise<RunningProgram> => {
  const program = await startProgram({ ...env, ...more });
  onTestFinished(() => program.kill());
  return program;
};

test('F-65 SIGHUP ends no role: each logs a line and continues', async () => {
  const port = String(await freePort());
  const roles = [
    await start(),
    await start({
      ORDERPASS_ROLE: 'gateway',
      ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${port}`,
      ORDERPASS_ORIGIN: 'http://127.0.0.1:1',
    }),
    await start({ ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: port }),
    await start({ ORDERPASS_ROLE: 'worker' }),
  ];
  for (const program of roles) {
    program.child.kill('SIGHUP');
    await until(() => /SIGHUP(?: is ignored|: the program reads the route table again)/.test(program.errors()));
    // Also when its terminal is gone, and with it everybody who read its lines.
    program.child.stderr?.destroy();
    program.child.kill('SIGHUP');
  }
  for (const { url } of roles.slice(0, 2)) expect((await fetch(`${url}/healthz`)).status).toBe(200);
  for (const program of roles) expect(await program.stop()).toBe(0);
});

test('F-50 a warning of Node or of a library is a line of the log', async () => {
  const warns = `process.on('SIGUSR2', () => process.emitWarning('an old call', 'DeprecationWarning', 'DEP0000'))`;
  const program = await start({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(warns)}` });
  program.child.kill('SIGUSR2');
  await until(() => program.errors().includes('an old call'));
  const lines = program
    .errors()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { level: string; err?: { message: string } });
  expect(lines.filter(({ err }) => err?.message === 'an old call')).toMatchObject([{ level: 'warn' }]);
});

test('F-65 the import process outlives SIGHUP', async () => {
  const program = await start();
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Hung up'], env);
  const client = await runJson(['client', 'create', '--name', 'Till', '--restaurant', String(restuid)], env);
  const headers = { 'x-client-id': String(client.client_id), 'x-client-secret': String(client.client_secret) };
  const imports = async () => (await fetch(`${program.url}/api/menu/imports`, { headers })).status;
  await importsAnswer(program.url, headers);
  const [pid = 0] = childrenOf(program);
  expect(pid).not.toBe(0);
  signalOne(pid, 'SIGHUP');
  expect(await imports()).toBe(200);
  expect(childrenOf(program)).toEqual([pid]);
});

const childrenOf = ({ child }: RunningProgram): number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, parent, ...args]) =>
        Number(parent) === child.pid && args.some((arg) => arg.includes('import-process/process')),
    )
    .map(([pid]) => Number(pid));

test('F-51 the refusal of an http address at the command line names the setting that allows it', async () => {
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Trial'], env);
  for (const url of ['http://127.0.0.1:2/hook', 'https://127.0.0.1:2/hook']) {
    const args = ['endpoint', 'create', '--restaurant', String(restuid), '--url', url];
    const refused = await runCommand(args, env);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('ORDERPASS_ALLOW_PRIVATE_TARGETS=true'),
    ]);
    const allowed = await runCommand(args, { ...env, ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true' });
    expect(allowed.code).toBe(0);
  }
});

/** A Node that is too old, where this machine has one beside the one that runs the tests. */
const oldNode = ((): string | undefined => {
  const places = ['/usr/bin/node', '/usr/local/bin/node'].filter(existsSync);
  return places.find((place) => {
    const version = execFileSync(place, ['--version'], { encoding: 'utf8' });
    return Number(/^v(\d+)/.exec(version)?.[1]) < 24;
  });
})();

test.skipIf(oldNode === undefined)(
  'F-57 npm start with an older Node and without the one that npm ci brings says in one sentence what to do (skipped without an older Node)',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'orderpass-bare-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
    mkdirSync(join(folder, 'bin'));
    symlinkSync(oldNode ?? '', join(folder, 'bin/node'));
    // The launcher looks for the runtime beside itself, so it is copied out of the checkout that has one.
    mkdirSync(join(folder, 'src/cli'), { recursive: true });
    copyFileSync(join(root, 'src/cli/launch.mjs'), join(folder, 'src/cli/launch.mjs'));
    writeFileSync(join(folder, 'src/main.ts'), 'const typed: number = 1;\n');
    const path = `${join(folder, 'bin')}:/usr/bin:/bin`;
    for (const script of ['start', 'cli']) {
      const { status, stderr } = spawnSync('npm', ['run', '-s', script], {
        cwd: folder,
        env: { PATH: path, HOME: folder },
        encoding: 'utf8',
      });
      expect(status).toBe(1);
      const said = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('npm warn'));
      expect(said).toHaveLength(1);
      expect(said[0]).toMatch(/^Orderpass needs Node 24 or newer and this is Node \d+\.\d+\.\d+: run "npm ci"/);
    }
  },
);

test.skipIf(oldNode === undefined)(
  'F-57 F-65 with an older Node the program runs on the one that the project brings, and signals reach it (skipped without an older Node)',
  async () => {
    const child = spawn(oldNode ?? '', [join(root, 'src/cli/launch.mjs'), 'start'], {
      env: { PATH: '/usr/bin:/bin', ...env, ORDERPASS_ROLE: 'worker' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
    await until(() => said.includes('Orderpass runs as worker'));
    child.kill('SIGHUP');
    await until(() => said.includes('SIGHUP is ignored'));
    child.kill('SIGINT');
    await until(() => child.exitCode === 0);
  },
);
