/**
 * What does the largest menu cost? 5,000 products with 50,000 option values in one call to the whole program, on its own
 * PostgreSQL: made, changed in every product, sent again, planned and applied, in each round for another restaurant.
 * Meanwhile other requests, reads and orders, go through the gateway at a steady pace; what they take is compared with what
 * they took at the same pace right before, when nothing was imported, and the median of all rounds counts. Exit code 1 when a
 * goal is missed.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Agent, request } from 'undici';
import { makeDataDir, type RunningProgram, runJson, startProgram } from '../support/program.ts';
import { openShops, type Shops } from './kit/orders/order-shops.ts';
import { median, print } from './kit/parts.ts';
import type { Pace } from './kit/steady-thread.ts';

const goals = { secondsMax: 10, extraMebibytesMax: 400, p99RatioMax: 3 };

const readsPerSecond = 100;
const ordersPerSecond = 50;
const roundsDefault = 5;
/** As long as an import takes, so that the slowest hundredth on either side is more than a handful of requests. */
const idleMs = 8_000;
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

/** Latencies in milliseconds. */
type Times = { reads: number[]; orders: number[] };

const kinds = ['reads', 'orders'] as const;

type Steady = { during: (until: Promise<unknown>) => Promise<Times>; end: () => Promise<unknown> };

/** Latencies of requests that come at a steady pace until `until` is settled. */
const startSteady = ({ url, authorization }: Caller, { request: order }: Shops): Steady => {
  const reads = startPace({
    url: `${url}/api/account/subrestaurants`,
    headers: { authorization },
    bodies: [],
    perSecond: readsPerSecond,
  });
  const orders = startPace({ url: `${url}/api/order/create`, ...order, perSecond: ordersPerSecond });
  return {
    during: async (until) => {
      const [ofReads, ofOrders] = await Promise.all([reads.during(until), orders.during(until)]);
      return { reads: ofReads, orders: ofOrders };
    },
    end: () => Promise.all([reads.end(), orders.end()]),
  };
};

const startPace = (pace: Pace) => {
  const thread = new Worker(new URL('./kit/steady-thread.ts', import.meta.url), { workerData: pace });
  return {
    during: async (until: Promise<unknown>): Promise<number[]> => {
      thread.postMessage('start');
      await until.catch(() => undefined);
      thread.postMessage('end');
      const [times] = (await once(thread, 'message')) as [number[]];
      return times;
    },
    end: () => thread.terminate(),
  };
};

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

/** Resident memory of one process in MiB, as Linux tells it. */
const ownMebibytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** The same of the program and of the processes that it has started, but for PostgreSQL. */
const residentMebibytes = (pid: number): number => {
  try {
    if (/^Name:\s+postgres/.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return 0;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number).filter(Boolean);
    return children.reduce((sum, child) => sum + residentMebibytes(child), ownMebibytes(pid));
  } catch {
    // It has ended meanwhile.
    return 0;
  }
};

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

type Step = { name: string; body: () => string };
type Figures = { seconds: number; extra: number; reads: Beside; orders: Beside };
/** What requests of one kind took beside an import, in milliseconds. */
type Beside = { count: number; p50: number; p99: number; worst: number; idleP99: number };

const besideOf = (times: readonly number[], idle: readonly number[]): Beside => ({
  count: times.length,
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99),
  worst: percentile(times, 1),
  idleP99: percentile(idle, 0.99),
});

const runStep = async (program: RunningProgram, caller: Caller, steady: Steady, { body }: Step): Promise<Figures> => {
  const pid = program.child.pid ?? 0;
  const sent = body();
  const idle = await steady.during(sleep(idleMs));
  // All of what the process for long work has counts, also when it is still there from the import before.
  const base = ownMebibytes(pid);
  const startedAt = performance.now();
  const importing = send(caller, 'POST', '/menu/import', sent).then((answer) => ({
    ...answer,
    seconds: (performance.now() - startedAt) / 1000,
  }));
  const [answer, times, peak] = await Promise.all([importing, steady.during(importing), watchMemory(pid, importing)]);
  if (answer.status !== 200)
    throw new Error(`an import was answered with ${answer.status} ${answer.text.slice(0, 500)}`);
  planId = /"plan_id":"([^"]+)"/.exec(answer.text)?.[1] ?? '';
  return {
    seconds: answer.seconds,
    extra: Math.max(0, peak - base),
    reads: besideOf(times.reads, idle.reads),
    orders: besideOf(times.orders, idle.orders),
  };
};

let planId = '';

/** Each price once: every import but the repeated one changes every product of its restaurant. */
let price = 1;
const nextPrice = (): number => {
  price += 0.5;
  return price;
};

const steps: Step[] = [
  { name: 'create everything', body: () => menuBody(price) },
  { name: 'change every product', body: () => menuBody(nextPrice()) },
  { name: 'the same again', body: () => menuBody(price) },
  { name: 'plan', body: () => menuBody(nextPrice(), { dry_run: true }) },
  { name: 'apply the plan', body: () => JSON.stringify({ plan_id: planId }) },
];

const ratiosOf = (figures: readonly Figures[], kind: keyof Times): number[] =>
  figures.map(({ [kind]: { p99, idleP99 } }) => p99 / idleP99);

/** What the middle one of the rounds has, but for the worst of all. */
const lineOf = (figures: readonly Figures[], kind: keyof Times): string => {
  const middle = (name: keyof Beside): number => median(figures.map((each) => each[kind][name]));
  const ratios = ratiosOf(figures, kind);
  const each = ratios.map((ratio) => ratio.toFixed(1)).join(' ');
  const worst = Math.max(...figures.map(({ [kind]: beside }) => beside.worst));
  return `  ${middle('count').toFixed(0)} ${kind} beside it: p50 ${middle('p50').toFixed(1)} ms, p99 ${middle('p99').toFixed(1)} ms = ${median(ratios).toFixed(2)} of idle (${each}), worst ${worst.toFixed(0)} ms`;
};

const measure = async (program: RunningProgram, steady: Steady, rounds: number): Promise<boolean> => {
  const pid = program.child.pid ?? 0;
  await steady.during(sleep(3_000));
  print(`at rest ${ownMebibytes(pid).toFixed(0)} MiB resident; ${rounds} rounds, each import beside its own idle time`);
  const figures = new Map<string, Figures[]>();
  for (let round = 0; round < rounds; round += 1) {
    const caller = await openCaller(program, env);
    for (const step of steps)
      figures.set(step.name, [...(figures.get(step.name) ?? []), await runStep(program, caller, steady, step)]);
  }
  let met = true;
  for (const [name, of] of figures) {
    const slowest = Math.max(...of.map(({ seconds }) => seconds));
    const most = Math.max(...of.map(({ extra }) => extra));
    // One import has too few requests beside it to speak of the slowest hundredth of them.
    const hasGoal = of.length > 1;
    const ratios = kinds.map((kind) => median(ratiosOf(of, kind)));
    const holds =
      slowest <= goals.secondsMax &&
      most <= goals.extraMebibytesMax &&
      (!hasGoal || ratios.every((ratio) => ratio <= goals.p99RatioMax));
    met &&= holds;
    print(`${name}: ${slowest.toFixed(1)} s, +${most.toFixed(0)} MiB  ${holds ? 'ok' : 'MISSED'}`);
    for (const kind of kinds) print(lineOf(of, kind));
  }
  for (const kind of kinds)
    print(
      `p99 of ${kind}, idle: ${median([...figures.values()].flat().map((each) => each[kind].idleP99)).toFixed(1)} ms`,
    );
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
  const caller = await openCaller(program, env);
  const steady = startSteady(caller, await openShops(program, env));
  // The sender of a menu would run on another machine, so its use of a core does not count. The processes that were started
  // before keep their priority.
  setPriority(10);
  const met = await measure(program, steady, Number(process.argv[2] ?? roundsDefault)).finally(steady.end);
  print(
    `goals: at most ${goals.secondsMax} s, ${goals.extraMebibytesMax} MiB more, p99 ${goals.p99RatioMax} times idle: ${met ? 'met' : 'MISSED'}`,
  );
  process.exitCode = met ? 0 : 1;
} finally {
  await agent.close();
  await program.stop();
  data.remove();
}
