/**
 * What do several processes of a gateway cost, and what do they bring? The program as role gateway with one process and with two
 * (ORDERPASS_PROCESSES), each with a token for every request: requests per second, time of all cores for a request with and
 * without that of the kernel, and resident memory of each process. Rounds are interleaved. The load and the upstream run on the
 * same machine and take their part of its cores; so they are wrk and nginx where these are installed, which take little.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { freePort } from '../support/free-port.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { databaseUrl, run } from '../support/test-server.ts';
import { hasLightLoad, runLightLoad, startLightUpstream } from './kit/light-load.ts';
import { column, median, print, ratiosOf, withParts } from './kit/parts.ts';

const rounds = Number(process.argv[2] ?? 7);
const roundMs = 3_000;
const warmUpMs = 3_000;
const connections = 32;
const counts = [1, 2] as const;
/** Of /proc/PID/stat, on every Linux that Node supports. */
const ticksPerSecond = 100;

type Cpu = { user: number; system: number };

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

/** Milliseconds of all cores since the start. */
const cpuOf = (pids: readonly number[]): Cpu => {
  const sum = { user: 0, system: 0 };
  for (const pid of pids) {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in parentheses and may hold spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    sum.user += (Number(fields[11]) * 1000) / ticksPerSecond;
    sum.system += (Number(fields[12]) * 1000) / ticksPerSecond;
  }
  return sum;
};

const residentMib = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

const startGateway = async (env: Record<string, string>, count: number): Promise<RunningProgram> => {
  const [PORT, ORDERPASS_INTERNAL_PORT] = [String(await freePort()), String(await freePort())];
  return startProgram({ ...env, PORT, ORDERPASS_INTERNAL_PORT, ORDERPASS_PROCESSES: String(count) });
};

const tokenOf = async (env: Record<string, string>, url: string): Promise<string> => {
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Bench'], env);
  const made = await runJson(['client', 'create', '--name', 'Bench', '--restaurant', restuid], env);
  const { client_id = '', client_secret = '' } = made;
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const answer = await fetch(`${url}/api/oauth/token`, { method: 'POST', body });
  return ((await answer.json()) as { access_token: string }).access_token;
};

type Round = { rate: number; userUs: number; systemUs: number };

await withParts(async (start) => {
  const load = await start('load', undefined, [String(connections)]);
  const upstream = hasLightLoad ? await startLightUpstream() : undefined;
  const store = await start('store', undefined, []);
  const name = `bench_${randomBytes(6).toString('hex')}`;
  await run(String(store.ready.url), `create database ${name}`);
  const env = {
    DATABASE_URL: databaseUrl(String(store.ready.url), name),
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_UPSTREAMS: `ordering=${upstream?.url ?? String(load.ready.url)}`,
    ORDERPASS_LOG_LEVEL: 'warn',
    ORDERPASS_RATE_MINUTE_UNITS: '1000000000',
    ORDERPASS_RATE_BURST_UNITS: '1000000000',
  };
  const programs: RunningProgram[] = [];
  try {
    for (const count of counts) programs.push(await startGateway(env, count));
    const token = await tokenOf(env, programs[0]?.url ?? '');
    const target = { path: '/api/orders/list', headers: { authorization: `Bearer ${token}` } };
    const ask = (url: string, ms: number) =>
      hasLightLoad ? runLightLoad({ ...target, url, ms, connections }) : load.ask({ ...target, url, ms });
    const found = counts.map((): Round[] => []);
    for (const { url } of programs) await ask(url, warmUpMs);
    for (let round = 0; round < rounds; round += 1)
      for (const [i, { url, child }] of programs.entries()) {
        const pids = [child.pid ?? 0, ...childrenOf(child.pid ?? 0)];
        const before = cpuOf(pids);
        const { requests, failures, ms } = await ask(url, roundMs);
        if (failures !== 0) throw new Error(`${counts[i]} processes: ${String(failures)} answers were not right`);
        const after = cpuOf(pids);
        const each = (from: number, to: number): number => ((to - from) * 1000) / Number(requests);
        found[i]?.push({
          rate: (Number(requests) * 1000) / Number(ms),
          userUs: each(before.user, after.user),
          systemUs: each(before.system, after.system),
        });
      }
    print(
      `${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, not pinned, ${hasLightLoad ? 'wrk and nginx' : 'load and upstream of Node'}`,
    );
    print(
      ['processes', 'requests/s', 'user, us', 'kernel, us', 'MiB of each'].map((text) => column(text, 14)).join(''),
    );
    for (const [i, { child }] of programs.entries()) {
      const figures = (['rate', 'userUs', 'systemUs'] as const).map((key) =>
        median(found[i]?.map((one) => one[key]) ?? []),
      );
      const memory = [child.pid ?? 0, ...childrenOf(child.pid ?? 0)]
        .map((pid) => residentMib(pid).toFixed(0))
        .join(' + ');
      print(
        `${column(String(counts[i]), 14)}${figures.map((one) => column(one.toFixed(0), 14)).join('')}${column(memory, 20)}`,
      );
    }
    const [one, two] = found.map((all) => all.map(({ rate }) => rate));
    print(`rate of two processes : one = ${median(ratiosOf(two, one)).toFixed(2)}`);
  } finally {
    for (const program of programs) await program.stop();
    await upstream?.close();
  }
});
