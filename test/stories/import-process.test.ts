import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importsAnswer } from '../support/orders/imports-answer.ts';
import { makeDataDir, type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { signalOne } from '../support/signal.ts';
import { until } from '../support/until.ts';

const data = makeDataDir();
const folder = mkdtempSync(join(tmpdir(), 'orderpass-import-'));
const slow = join(folder, 'slow.mjs');
const starts = join(folder, 'starts');
const goOn = join(folder, 'go-on');
const refused = join(folder, 'refused');
/**
 * Every process of the program loads this before its first line. If the test asks for it, the import process waits for a
 * file, or may not change its priority, as under a filter of system calls.
 */
const preload = `
  import { appendFileSync, existsSync } from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import os from 'node:os';
  process.on('warning', (warning) => {
    process.stderr.write(warning.stack + '\\n');
    process.kill(process.pid, 'SIGKILL');
  });
  if (process.argv[1]?.includes('import-process/process')) {
    appendFileSync(${JSON.stringify(starts)}, process.pid + '\\n');
    if (existsSync(${JSON.stringify(refused)})) {
      os.setPriority = () => {
        throw new Error('EPERM');
      };
      syncBuiltinESMExports();
    }
    while (existsSync(${JSON.stringify(`${slow}.on`)}) && !existsSync(${JSON.stringify(goOn)}))
      await new Promise((resolve) => setTimeout(resolve, 20));
  }`;
writeFileSync(slow, preload);
const env = {
  ORDERPASS_DATA_DIR: data.path,
  NODE_ENV: 'production',
  NODE_OPTIONS: `--import=${slow}`,
  ORDERPASS_RATE_BURST_UNITS: '10000',
  ORDERPASS_RATE_MINUTE_UNITS: '10000',
};
let program: RunningProgram;
let headers: Record<string, string>;

beforeAll(async () => {
  program = await startProgram(env);
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Import'], env);
  const client = await runJson(['client', 'create', '--name', 'Till', '--restaurant', String(restuid)], env);
  headers = {
    'content-type': 'application/json',
    'x-client-id': String(client.client_id),
    'x-client-secret': String(client.client_secret),
  };
});
afterAll(async () => {
  await program.kill();
  data.remove();
  rmSync(folder, { recursive: true, force: true });
});

const importProcessesOf = (pid: number | undefined): number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, parent, ...args]) => Number(parent) === pid && args.some((arg) => arg.includes('import-process/process')),
    )
    .map(([child]) => Number(child));

const nicenessOf = (pid: number | undefined): number =>
  Number(execFileSync('ps', ['-o', 'ni=', '-p', String(pid)], { encoding: 'utf8' }));

/** Backends of the program's PostgreSQL with a niceness above that of the program. */
const lowered = (): number[] => {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,ni=,comm='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const base = nicenessOf(program.child.pid);
  const server = rows.find(([, parent, , name]) => Number(parent) === program.child.pid && name === 'postgres')?.[0];
  return rows.filter(([, parent, ni]) => parent === server && Number(ni) > base).map(([pid]) => Number(pid));
};

/**
 * The session of a process as the kernel shares cores by, and its niceness; undefined where it does not (sched(7), autogroup).
 * A program that is in the first session of the machine has an empty line there, and the niceness of everybody.
 */
const sessionOf = (pid: number | undefined): { name: string; niceness: number } | undefined => {
  try {
    const [name = '', , niceness = 0] = readFileSync(`/proc/${pid}/autogroup`, 'utf8').trim().split(' ');
    return { name, niceness: Number(niceness) };
  } catch {
    return undefined;
  }
};

/** Whether this machine lets a session be lowered, as a container may not. */
const canLowerSessions = (): boolean => {
  const sleeper = spawn('sleep', ['30'], { detached: true, stdio: 'ignore' });
  try {
    writeFileSync(`/proc/${sleeper.pid}/autogroup`, '10');
    return sessionOf(sleeper.pid)?.niceness === 10;
  } catch (error) {
    // Too many such changes at once: the kernel takes them a moment later.
    return (error as NodeJS.ErrnoException).code === 'EAGAIN';
  } finally {
    sleeper.kill('SIGKILL');
  }
};

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const menuOf = (name: string): string =>
  JSON.stringify({
    pos_uid: 'till',
    update_mode: 'replace',
    categories: [{ ext_id: 'C', name }],
    products: [{ ext_id: 'P', category_ext_id: 'C', name: 'Bread', price: 1 }],
  });

const importMenu = async (name: string): Promise<{ status: number; state: string }> => {
  const answer = await fetch(`${program.url}/api/menu/import`, { method: 'POST', headers, body: menuOf(name) });
  const { import: made } = (await answer.json()) as { import?: { state: string } };
  return { status: answer.status, state: made?.state ?? '' };
};

const categories = async (): Promise<string[]> => {
  const answer = await fetch(`${program.url}/api/menu/categories`, { headers });
  return ((await answer.json()) as { categories: { name: string }[] }).categories.map(({ name }) => name);
};

test('an import is carried out by a process of its own, which takes its core after the others', async () => {
  expect(importProcessesOf(program.child.pid)).toEqual([]);
  await importsAnswer(program.url, headers);
  expect(await importMenu('First')).toEqual({ status: 200, state: 'applied' });
  const [pid, ...more] = importProcessesOf(program.child.pid);
  expect(more).toEqual([]);
  // Also those of its threads that collect and compile, which were there before its first line.
  const threads = execFileSync('ps', ['-L', '-o', 'ni=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .split('\n');
  expect(threads.length).toBeGreaterThan(1);
  for (const niceness of threads) expect(Number(niceness)).toBeGreaterThan(nicenessOf(program.child.pid));
  // The backends that work for it as well.
  expect(lowered().length).toBeGreaterThan(0);
  // What tells of it answers as everywhere else.
  const listed = await fetch(`${program.url}/api/menu/imports`, { headers });
  expect(listed.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(((await listed.json()) as { imports: unknown[] }).imports).toHaveLength(1);
  expect(importProcessesOf(program.child.pid)).toEqual([pid]);
});

test.skipIf(sessionOf(process.pid) === undefined || !canLowerSessions())(
  'where sessions share a core evenly, those of the import process and its backends are lowered too',
  async () => {
    await importsAnswer(program.url, headers);
    const [pid] = importProcessesOf(program.child.pid);
    expect(lowered().length).toBeGreaterThan(0);
    const own = sessionOf(program.child.pid);
    for (const other of [pid, ...lowered()]) {
      expect(sessionOf(other)?.name).not.toBe(own?.name);
      await until(() => (sessionOf(other)?.niceness ?? 0) > (own?.niceness ?? 0));
    }
  },
);

test('a process that dies in the middle of an import costs a 503 and nothing else', async () => {
  const [pid = 0] = importProcessesOf(program.child.pid);
  // To end process 0 would end the run of the tests.
  expect(pid).not.toBe(0);
  const body = menuOf('Lost');
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const asked = request(`${program.url}/api/menu/import`, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
    });
    asked.on('error', reject);
    asked.on('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    // The rest is never sent, so the import is under way until its process is gone.
    asked.write(body.slice(0, 50), () => signalOne(pid, 'SIGKILL'));
  });
  expect(status).toBe(503);
  expect(await categories()).toEqual(['First']);
  await importsAnswer(program.url, headers);
  expect(await importMenu('Second')).toEqual({ status: 200, state: 'applied' });
  expect(await categories()).toEqual(['Second']);
  expect(importProcessesOf(program.child.pid)).not.toEqual([pid]);
});

test('the process ends with the program, also with one that is killed', async () => {
  const [first = 0] = importProcessesOf(program.child.pid);
  expect(first).not.toBe(0);
  expect(await program.stop()).toBe(0);
  expect(lives(first)).toBe(false);
  program = await startProgram(env);
  await importsAnswer(program.url, headers);
  expect(await importMenu('Third')).toEqual({ status: 200, state: 'applied' });
  const [second = 0] = importProcessesOf(program.child.pid);
  expect(second).not.toBe(0);
  await program.kill();
  await until(() => !lives(second));
});

test('F-03 a start that takes longer than a caller waits goes on, and the next caller finds the same process', async () => {
  writeFileSync(`${slow}.on`, '');
  writeFileSync(starts, '');
  program = await startProgram(env);
  const answer = await fetch(`${program.url}/api/menu/import`, { method: 'POST', headers, body: menuOf('Early') });
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  const [pid = 0] = importProcessesOf(program.child.pid);
  const joined = importMenu('Late');
  writeFileSync(goOn, '');
  // On a busy machine the rest of the start may take longer than this caller waits, too.
  expect([200, 503]).toContain((await joined).status);
  await importsAnswer(program.url, headers);
  expect(await importMenu('Later')).toEqual({ status: 200, state: 'applied' });
  expect(importProcessesOf(program.child.pid)).toEqual([pid]);
  expect(readFileSync(starts, 'utf8')).toBe(`${pid}\n`);
});

test('F-10 answers of the process cause no warning of Node, whatever their size and however many at once', async () => {
  const large = menuOf('Large').padEnd(300 * 1024, ' ');
  const send = (body: string) => fetch(`${program.url}/api/menu/import`, { method: 'POST', headers, body });
  const answers = await Promise.all([menuOf('Small'), large, large, menuOf('Small'), large].map(send));
  for (const answer of answers) await answer.arrayBuffer();
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect((await fetch(`${program.url}/api/menu/imports`, { headers })).status).toBe(200);
  // The processes end at the first warning (see the preloaded file above).
  expect(program.errors()).not.toMatch(/Warning/);
  expect(program.child.exitCode).toBeNull();
});

test('A-786 large imports of one client that arrive slowly, with as many more that wait as may, leave turns to another client', async () => {
  await importsAnswer(program.url, headers);
  const { restuid } = await runJson(['restaurant', 'create', '--name', 'Other'], env);
  const other = await runJson(['client', 'create', '--name', 'Other', '--restaurant', String(restuid)], env);
  const body = menuOf('Large').padEnd(300 * 1024, ' ');
  const agent = new Agent({ keepAlive: false });
  /** Sends a part of the body, and the rest when `finish` is called. */
  const begin = (): { finish: () => void; status: Promise<number> } => {
    const sent = request(`${program.url}/api/menu/import`, {
      ...{ agent, method: 'POST' },
      headers: { ...headers, 'content-length': body.length },
    });
    sent.write(body.slice(0, 1000));
    const status = new Promise<number>((resolve) => {
      sent.on('response', (answer) => resolve(answer.resume().statusCode ?? 0)).on('error', () => resolve(0));
    });
    return { finish: () => void sent.end(body.slice(1000)), status };
  };
  const begun: ReturnType<typeof begin>[] = [];
  try {
    const refusals: number[] = [];
    await until(() => {
      for (let count = 0; count < 4; count += 1) {
        const one = begin();
        begun.push(one);
        void one.status.then((status) => void refusals.push(status));
      }
      return refusals.length > 0;
    });
    expect(refusals[0]).toBe(503);
    const otherHeaders = {
      'content-type': 'application/json',
      'x-client-id': String(other.client_id),
      'x-client-secret': String(other.client_secret),
    };
    const served = await fetch(`${program.url}/api/menu/import`, { method: 'POST', body, headers: otherHeaders });
    expect(served.status, await served.text()).toBe(200);
    const first = begun.slice(0, 4);
    for (const { finish } of first) finish();
    expect(await Promise.all(first.map(({ status }) => status))).toContain(200);
  } finally {
    agent.destroy();
  }
});

test('A-560 where the system lets no process change its priority, menus are imported all the same', async () => {
  writeFileSync(refused, '');
  for (const earlier of importProcessesOf(program.child.pid)) signalOne(earlier, 'SIGKILL');
  await until(() => importProcessesOf(program.child.pid).length === 0);
  await importsAnswer(program.url, headers);
  expect(await importMenu('Unlowered')).toEqual({ status: 200, state: 'applied' });
  const [pid] = importProcessesOf(program.child.pid);
  // The refusal took effect.
  expect(nicenessOf(pid)).toBe(nicenessOf(program.child.pid));
});

test('A-730 an import for which no process can be made, since no file can be opened, is answered with 503 and Retry-After', async () => {
  for (const earlier of importProcessesOf(program.child.pid)) signalOne(earlier, 'SIGKILL');
  await until(() => importProcessesOf(program.child.pid).length === 0);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = (method: string, path: string, body?: string): Promise<[number | undefined, string | undefined]> =>
    new Promise((resolve, reject) => {
      request(program.url + path, { method, agent, headers }, (answer) => {
        answer.resume().once('end', () => resolve([answer.statusCode, answer.headers['retry-after']]));
      })
        .once('error', reject)
        .end(body);
    });
  expect(await send('GET', '/api/menu/categories')).toEqual([200, undefined]);
  const filesMax = (...options: string[]): string =>
    execFileSync('prlimit', ['--pid', String(program.child.pid), '--noheadings', '--output', 'SOFT', ...options], {
      encoding: 'utf8',
    });
  const before = filesMax('--nofile').trim();
  filesMax('--nofile=3:');
  const answers = [];
  try {
    for (let i = 0; i < 2; i += 1) answers.push(await send('POST', '/api/menu/import', menuOf('None')));
  } finally {
    filesMax(`--nofile=${before}:`);
  }
  expect(answers).toEqual([503, 503].map((status) => [status, expect.stringMatching(/^\d+$/)]));
  await importsAnswer(program.url, headers);
  expect(await importMenu('After')).toEqual({ status: 200, state: 'applied' });
});

test('an import of a program that runs with a low priority itself has a lower one', async () => {
  rmSync(refused, { force: true });
  for (const earlier of importProcessesOf(program.child.pid)) signalOne(earlier, 'SIGKILL');
  await until(() => importProcessesOf(program.child.pid).length === 0);
  const { pid: own = 0 } = program.child;
  // 0 is this process.
  expect(own).not.toBe(0);
  const niceness = Math.max(7, nicenessOf(own));
  setPriority(own, niceness);
  await importsAnswer(program.url, headers);
  const [pid] = importProcessesOf(program.child.pid);
  expect(nicenessOf(pid)).toBe(Math.min(19, niceness + 10));
});
