/**
 * What does the largest menu cost? 5,000 products with 50,000 option values in one call to the whole program, on its own
 * PostgreSQL: made, changed in every product, planned and applied. Meanwhile other requests go through the gateway at a
 * steady pace, and each is timed from the moment at which it was due. Exit code 1 when a goal is missed.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { makeDataDir, type RunningProgram, runJson, startProgram } from '../support/program.ts';

const goals = { secondsMax: 10, extraMebibytesMax: 400, p99RatioMax: 3 };

const requestsPerSecond = 100;
const idleMs = 10_000;
const productsCount = 5_000;
const valuesOfProduct = 10;
const categoriesCount = 100;

const menuBody = (price: number, more: object = {}): string =>
  JSON.stringify({
    pos_uid: 'bench',
    update_mode: 'replace',
    ...more,
    categories: Array.from({ length: categoriesCount }, (_, i) => ({ ext_id: `C${i}`, name: `Category ${i}` })),
    products: Array.from({ length: productsCount }, (_, i) => ({
      ext_id: `P${i}`,
      category_ext_id: `C${i % categoriesCount}`,
      name: `Product ${i}`,
      description: `Dish number ${i}, with what the season gives`,
      price,
      allergens: ['milk', 'gluten'],
      options: [
        {
          ext_id: 'o',
          name: 'Extras',
          type: 'multiple',
          option_values: Array.from({ length: valuesOfProduct }, (_value, v) => ({
            ext_id: `v${v}`,
            name: `Value ${v}`,
            price_operand: v,
          })),
        },
      ],
    })),
  });

const agent = new Agent({ connections: 64, pipelining: 1, headersTimeout: 120_000, bodyTimeout: 120_000 });

type Caller = { url: string; authorization: string };

const send = async ({ url, authorization }: Caller, method: 'GET' | 'POST', path: string, body?: string) => {
  const headers = { authorization, 'content-type': 'application/json' };
  const answer = await request(`${url}/api${path}`, { method, headers, dispatcher: agent, ...(body && { body }) });
  return { status: answer.statusCode, text: await answer.body.text() };
};

/** Latencies in milliseconds of requests that are due at a steady pace until `until` is settled. */
const steadyRequests = async (caller: Caller, until: Promise<unknown>): Promise<number[]> => {
  const times: number[] = [];
  const running: Promise<void>[] = [];
  let ended = false;
  void until.finally(() => {
    ended = true;
  });
  const startedAt = performance.now();
  for (let count = 0; !ended; count += 1) {
    const dueAt = startedAt + (count * 1000) / requestsPerSecond;
    const early = dueAt - performance.now();
    if (early > 0) await sleep(early);
    const one = async (): Promise<void> => {
      const { status } = await send(caller, 'GET', '/account/subrestaurants');
      if (status !== 200) throw new Error(`a request beside the import was answered with ${status}`);
      times.push(performance.now() - dueAt);
    };
    running.push(one());
  }
  await Promise.all(running);
  return times;
};

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

/** Resident memory of a process in MiB, as Linux tells it. */
const residentMebibytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** The greatest resident memory until `until` is settled. */
const watchMemory = async (pid: number, until: Promise<unknown>): Promise<number> => {
  let greatest = 0;
  let ended = false;
  void until.finally(() => {
    ended = true;
  });
  while (!ended) {
    greatest = Math.max(greatest, residentMebibytes(pid));
    await sleep(20);
  }
  return greatest;
};

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const openCaller = async (program: RunningProgram, env: Record<string, string>): Promise<Caller> => {
  const restaurant = await runJson(['restaurant', 'create', '--name', 'Bench'], env);
  const client = await runJson(
    ['client', 'create', '--name', 'Bench', '--restaurant', String(restaurant.restuid)],
    env,
  );
  const answer = await fetch(`${program.url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: String(client.client_id),
      client_secret: String(client.client_secret),
    }),
  });
  const { access_token: token } = (await answer.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`no token: ${answer.status}`);
  return { url: program.url, authorization: `Bearer ${token}` };
};

const measure = async (program: RunningProgram, caller: Caller): Promise<boolean> => {
  const pid = program.child.pid ?? 0;
  await send(caller, 'POST', '/menu/import', menuBody(1, { dry_run: true }));
  await steadyRequests(caller, sleep(3_000));
  const idle = await steadyRequests(caller, sleep(idleMs));
  const idleP99 = percentile(idle, 0.99);
  const base = residentMebibytes(pid);
  print(
    `idle: p50 ${percentile(idle, 0.5).toFixed(1)} ms, p99 ${idleP99.toFixed(1)} ms, ${base.toFixed(0)} MiB resident`,
  );
  let met = true;
  let planId = '';
  const steps: [string, () => string][] = [
    ['create everything', () => menuBody(7.5)],
    ['change every product', () => menuBody(8)],
    ['the same again', () => menuBody(8)],
    ['plan', () => menuBody(9, { dry_run: true })],
    ['apply the plan', () => JSON.stringify({ plan_id: planId })],
  ];
  for (const [name, bodyOf] of steps) {
    const body = bodyOf();
    const startedAt = performance.now();
    const importing = send(caller, 'POST', '/menu/import', body).then((answer) => ({
      ...answer,
      seconds: (performance.now() - startedAt) / 1000,
    }));
    const [answer, times, peak] = await Promise.all([
      importing,
      steadyRequests(caller, importing),
      watchMemory(pid, importing),
    ]);
    if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${answer.text.slice(0, 500)}`);
    planId = /"plan_id":"([^"]+)"/.exec(answer.text)?.[1] ?? '';
    const p99 = percentile(times, 0.99);
    const ratio = p99 / idleP99;
    const extra = Math.max(0, peak - base);
    const holds = answer.seconds <= goals.secondsMax && extra <= goals.extraMebibytesMax && ratio <= goals.p99RatioMax;
    met &&= holds;
    print(
      `${name.padEnd(22)} ${answer.seconds.toFixed(1)} s  +${extra.toFixed(0)} MiB  beside it: p50 ${percentile(times, 0.5).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms = ${ratio.toFixed(2)} of idle, worst ${percentile(times, 1).toFixed(0)} ms  ${holds ? 'ok' : 'MISSED'}`,
    );
  }
  return met;
};

const data = makeDataDir();
const env = {
  ORDERPASS_DATA_DIR: data.path,
  ORDERPASS_RATE_MINUTE_UNITS: '1000000000',
  ORDERPASS_RATE_BURST_UNITS: '1000000000',
  ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
  NODE_ENV: 'production',
};
const program = await startProgram(env);
try {
  const met = await measure(program, await openCaller(program, env));
  print(
    `goals: at most ${goals.secondsMax} s, ${goals.extraMebibytesMax} MiB more, p99 ${goals.p99RatioMax} times idle: ${met ? 'met' : 'MISSED'}`,
  );
  process.exitCode = met ? 0 : 1;
} finally {
  await agent.close();
  await program.stop();
  data.remove();
}
