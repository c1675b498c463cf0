/** The package as `npm pack` makes it, run from a folder without the repository. */
import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { plainEnv, root } from '../support/program.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

let database: TestDatabase;
let folder: string;
let installed: string;
let env: NodeJS.ProcessEnv;
/** What git says of the clone, or nothing where there is none. */
const git = (...args: string[]): Promise<string | undefined> =>
  run('git', args, { cwd: root }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
/** Undefined when files differ from the commit. */
let commit: string | undefined;

beforeAll(async () => {
  commit = (await git('status', '--porcelain')) === '' ? await git('rev-parse', 'HEAD') : undefined;
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'orderpass-package-'));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  const name = /"filename": "([^"]+)"/.exec(stdout)?.[1] ?? '';
  await run('tar', ['-xzf', join(folder, name), '-C', folder]);
  installed = join(folder, 'package');
  // Its dependencies are those of the repository, as an installation would find them.
  symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'));
  env = {
    ...plainEnv(),
    PORT: '0',
    DATABASE_URL: database.url,
    ORDERPASS_DATA_DIR: join(folder, 'data'),
    ORDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
});

afterAll(async () => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

const command = (): string => {
  const { bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { bin: { orderpass: string } };
  return join(installed, bin.orderpass);
};

const startInstalled = async (): Promise<{ url: string; stop(): Promise<unknown> }> => {
  const program = spawn(process.execPath, [command(), 'start'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => program.once('exit', resolve));
  let output = '';
  program.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const url = (): string | undefined => /listens on (\S+)/.exec(output)?.[1];
  await until(() => url() !== undefined);
  const stop = (): Promise<unknown> => {
    program.kill('SIGTERM');
    return exited;
  };
  return { url: url() ?? '', stop };
};

test('A-252 the package has compiled files with types and source maps, and nothing of the tests', () => {
  const files = readdirSync(join(installed, 'dist/src'), { recursive: true, encoding: 'utf8' });
  const compiled = files.filter((file) => file.endsWith('.js') && !file.includes('/assets/'));
  expect(compiled.length).toBeGreaterThan(800);
  for (const file of compiled) {
    const path = join(installed, 'dist/src', file);
    expect([file, existsSync(`${path}.map`)]).toEqual([file, true]);
    expect([file, existsSync(path.replace(/\.js$/, '.d.ts'))]).toEqual([file, true]);
  }
  expect(files.filter((file) => /(?<!\.d)\.ts$/.test(file))).toEqual([]);
  expect(readdirSync(join(installed, 'dist')).toSorted()).toEqual(['config', 'package.json', 'src']);
  const names = readdirSync(join(installed, 'dist/config'));
  expect(names.filter((name) => !existsSync(join(root, 'config', name)))).toEqual([]);
  expect(names).toEqual(expect.arrayContaining(['routes.json', 'routes.schema.json', 'README.md']));
  expect(names).not.toContain('package');
  expect(readdirSync(installed).toSorted()).toEqual(['LICENSE', 'README.md', 'dist', 'node_modules', 'package.json']);
});

test('A-283 the package names the commit that it was made from, unless files differed from it', () => {
  const { gitHead } = JSON.parse(readFileSync(join(installed, 'dist/package.json'), 'utf8')) as { gitHead?: string };
  expect(gitHead).toBe(commit);
});

test('the thread that signs webhooks starts from its compiled file', async () => {
  const signer = pathToFileURL(join(installed, 'dist/src/webhooks/signing/thread-signer.js')).href;
  const program = `
    import { once } from 'node:events';
    import { openSigningThread } from '${signer}';
    const thread = openSigningThread();
    await once(thread, 'message');
    await thread.terminate();
    console.log('started');`;
  const file = join(folder, 'start-thread.mjs');
  writeFileSync(file, program);
  const { stdout } = await run(process.execPath, [file], { env });
  expect(stdout).toBe('started\n');
});

test('A-252 the command of the package runs commands, and a start that answers and stops', async () => {
  const made = await run(process.execPath, [command(), 'restaurant', 'create', '--name', 'Da Ada', '--json'], { env });
  expect(JSON.parse(made.stdout).restuid).toMatch(/^rst_/);
  const program = await startInstalled();
  for (const path of [
    '/readyz',
    '/api/openapi.json',
    '/docs',
    '/docs/changelog',
    '/docs/operate/settings',
    '/docs/secure/audit',
    '/llms-full.txt',
    '/panel',
  ])
    expect([path, (await fetch(`${program.url}${path}`)).status]).toEqual([path, 200]);
  expect(await program.stop()).toBe(0);
});

test('A-252 the installed command names itself in what it prints, and not the script of a clone', async () => {
  const help = await run(process.execPath, [command(), 'move', '--help'], { env });
  expect(help.stdout).toContain('| orderpass move --to -');
  const printed = readdirSync(join(installed, 'dist/src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /^(app|cli|platform)\/.*\.js$/.test(file) && !/reference|release\.js$/.test(file))
    .filter((file) => readFileSync(join(installed, 'dist/src', file), 'utf8').includes('npm run'));
  expect(printed).toEqual([]);
});

test('A-516 the installed command logs in to a running program and shows the credential, where no store is', async () => {
  const json = async (...args: string[]): Promise<Record<string, string>> =>
    JSON.parse((await run(process.execPath, [command(), ...args, '--json'], { env })).stdout);
  const { restuid = '' } = await json('restaurant', 'create', '--name', 'Osteria');
  const client = await json('client', 'create', '--name', 'Till', '--restaurant', restuid);
  // As npm installs a command: executable, and linked into a folder of the path.
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  chmodSync(command(), 0o755);
  symlinkSync(command(), join(bin, 'orderpass'));
  const there = {
    ...plainEnv(),
    PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter),
    XDG_CONFIG_HOME: join(folder, 'config'),
    ORDERPASS_DATA_DIR: join(folder, 'none'),
  };
  const orderpass = (args: readonly string[], input = ''): Promise<{ stdout: string }> => {
    const started = run('orderpass', args, { cwd: bin, env: there });
    started.child.stdin?.end(input);
    return started;
  };
  const program = await startInstalled();
  try {
    const { client_id: id = '', client_secret: secret = '' } = client;
    const made = await orderpass(['login', '--url', program.url, '--client-id', id], `${secret}\n`);
    expect([made.stdout.includes('Till'), made.stdout.includes(secret)]).toEqual([true, false]);
    const shown = await orderpass(['whoami', '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ url: program.url, credential: { id } });
    expect(existsSync(join(folder, 'none'))).toBe(false);
  } finally {
    expect(await program.stop()).toBe(0);
  }
});
