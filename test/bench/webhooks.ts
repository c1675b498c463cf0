/**
 * How fast do webhooks go, and what do those that wait cost the others? `rate`: deliveries per second to one and to
 * 1,000 receivers, beside a bare loop that signs and posts to the same ones. The events of a round are recorded before,
 * in one transaction: producers are not what is measured. `signatures`: what message signatures (RFC 9421) cost of the
 * rate to the 1,000, in place of `v1a` and beside it, in turn with deliveries that have `v1a` alone. `headers`: what
 * headers cost the main thread, with the thread that signs and without, in processor time, which other work on the
 * machine changes less than a rate. `latency`: from commit to arrival, idle and at half load: half of the rate at which
 * the worker keeps up with commits beside it, with the bare loop at the same pace. `backlog`: both beside 1,000,000
 * waiting deliveries. `kills`: from commit to first arrival while workers are killed. Named parts run alone. Exit code 1
 * when a goal is missed. Of all parts but `latency` the worker has core 0, and the store and the receivers have core 1.
 *
 * `BENCH_DATABASE_URL`: a database of another server, as a superuser, in place of the PostgreSQL that npm installs. The bench makes
 * databases `orderpass_bench…` there, in place of those of an earlier run. Pin its processes to core 1 (`taskset -c 1`) too,
 * but for `latency`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { tuneForFewCores } from '#src/platform/tune-memory.ts';
import { signatureSchemes } from '#src/webhooks/index.ts';
import { median, type Part, pinned, print, ratiosOf, startPart, stopPart, watchStolenTime } from './kit/parts.ts';
import { eventBody, fillLog, type Harness, openHarness, type Signing } from './kit/webhook-harness.ts';
import { addBacklog } from './kit/webhooks/backlog.ts';
import { measureHeaders } from './kit/webhooks/header-cost.ts';
import { measureKills } from './kit/webhooks/kills.ts';

tuneForFewCores();

const goals = {
  ratioMin: 0.6,
  /** Where a message signature takes the place of `v1a`. */
  signedMin: 0.85,
  idleP50MsMax: 20,
  idleP99MsMax: 50,
  /** With a commit every 10 ms. */
  loadP99MsMax: 20,
  backlogCostMax: 1.3,
  killsP99MsMax: 5_000,
};

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
/** Code that is hardly known yet runs at half of its speed, and of the engine there is more than of the loop. */
const warmUpRounds = 3;
const eventsPerRound = Number(process.env.BENCH_EVENTS ?? 10_000);
const probesPerRound = 200;
const probeGapMs = 25;
const receiversCount = 1_000;
const killsCount = Number(process.env.BENCH_KILLS ?? 12);
const killedTenants = 200;
const backlogCount = Number(process.env.BENCH_BACKLOG ?? 1_000_000);
const secret = 'whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=';

const tenantOf = (number: number): string => `rst_${number}`;
const many = Array.from({ length: receiversCount }, (_, number) => tenantOf(number));
const one = ['rst_one'];
const probed = 'rst_probed';
const tenantsOfWay = (way: number): string[] => many.map((_, number) => `rst_way${way}_${number}`);

type Way = { name: string; signing: Signing; tenants: readonly string[]; hasGoal: boolean };

/** Ways to sign beside `v1`, each with 1,000 endpoints of its own at the same receivers: the defaults, then the rest. */
const [usual, ...otherWays]: [Way, ...Way[]] = [
  { name: 'v1a', signing: {}, tenants: tenantsOfWay(0), hasGoal: false },
  ...signatureSchemes.map((signature, index) => ({
    ...{ name: `${signature} in place of v1a`, signing: { signature } },
    ...{ tenants: tenantsOfWay(1 + index), hasGoal: true },
  })),
  ...signatureSchemes.map((signature, index) => ({
    ...{ name: `${signature} beside v1a`, signing: { signature, v1a: true } },
    ...{ tenants: tenantsOfWay(1 + signatureSchemes.length + index), hasGoal: false },
  })),
];
const ways = [usual, ...otherWays];

type Parts = { receivers: Part; loop: Part; ports: number[] };

const addReceivers = async (harness: Harness, ports: readonly number[]): Promise<void> => {
  await Promise.all(
    many.map((tenant, number) => harness.addEndpoint(tenant, `http://127.0.0.1:${ports[number]}/hook`)),
  );
  await harness.addEndpoint('rst_one', `http://127.0.0.1:${ports[0]}/hook`);
  await harness.addEndpoint(probed, `http://127.0.0.1:${ports[1]}/probe`);
};

const measure = async ({ receivers }: Parts, count: number, start: () => Promise<unknown>): Promise<number> => {
  await receivers.ask({ forget: true });
  const arrived = receivers.ask({ count });
  await start();
  return Number((await arrived).rate);
};

/** Deliveries per second, and what one costs the main thread of the worker in microseconds. */
const engineRound = async (parts: Parts, harness: Harness, tenants: readonly string[]): Promise<[number, number]> => {
  harness.freeSigningThread();
  const before = harness.mainMicros();
  const rate = await measure(parts, eventsPerRound, () => harness.record(tenants, eventsPerRound));
  return [rate, (harness.mainMicros() - before) / eventsPerRound];
};

const engineRate = async (...args: Parameters<typeof engineRound>): Promise<number> => (await engineRound(...args))[0];

const loopRate = (parts: Parts, receiversUsed: number): Promise<number> => {
  const urls = parts.ports.slice(0, receiversUsed).map((port) => `http://127.0.0.1:${port}/hook`);
  const body = eventBody('rst_0', 'evt_0', 'cus_0');
  return measure(parts, eventsPerRound, () => parts.loop.ask({ urls, secret, body, count: eventsPerRound }));
};

/** Milliseconds from the commit to the arrival of events that are recorded at a steady pace. */
const probe = async ({ receivers }: Parts, harness: Harness): Promise<number[]> => {
  await receivers.ask({ forget: true });
  const sent = new Map<string, number>();
  for (let count = 0; count < probesPerRound; count += 1) {
    const { id, at } = await harness.recordOne(probed);
    sent.set(id, at);
    await sleep(probeGapMs);
  }
  for (let waits = 0; ; waits += 1) {
    const { probes } = (await receivers.ask({ probes: true })) as { probes: Record<string, number> };
    if (Object.keys(probes).length >= sent.size) return [...sent].map(([id, at]) => (probes[id] ?? 0) - at);
    if (waits > 600) throw new Error('not every probe arrived');
    await sleep(100);
  }
};

/**
 * Milliseconds from when the bare loop should send to the arrival, at the pace of a load: what the machine adds where there is
 * neither a store nor a commit.
 */
const probeLoop = async ({ receivers, loop, ports }: Parts, { perSecond, gapMs }: Load): Promise<number[]> => {
  await receivers.ask({ forget: true });
  const answer = await loop.ask({
    ...{
      urls: ports.map((port) => `http://127.0.0.1:${port}/hook`),
      secret,
      body: eventBody('rst_0', 'evt_0', 'cus_0'),
    },
    ...{ each: eventsIn(perSecond, gapMs), gapMs },
    ...{ probeUrl: `http://127.0.0.1:${ports[1]}/probe`, probes: probesPerRound, probeGapMs },
  });
  const { probes } = (await receivers.ask({ probes: true })) as { probes: Record<string, number> };
  return Object.entries(answer.due as Record<string, number>).map(([id, dueMs]) => (probes[id] ?? Number.NaN) - dueMs);
};

/** Milliseconds between two commits of the load. The events of one commit are dispatched together and wait for each other. */
const steadyGapMs = 10;
const eventsIn = (perSecond: number, gapMs: number): number => Math.max(1, Math.round((perSecond * gapMs) / 1000));

/** Commits of which a delivery may be missing while the next one is made. */
const openCommitsMax = 10;

/**
 * Deliveries per second with which the worker keeps up while a producer beside it commits as many events at a time as at
 * half load. The producer, and the store for it, use the same cores; `rate` has them idle.
 */
const sustainedRate = async ({ receivers }: Parts, harness: Harness, perCommit: number): Promise<number> => {
  await receivers.ask({ forget: true });
  const commits = Math.ceil(eventsPerRound / perCommit);
  for (let commit = 1; commit <= commits; commit += 1) {
    await harness.record(many, perCommit);
    if (commit > openCommitsMax) await receivers.ask({ count: (commit - openCommitsMax) * perCommit });
  }
  return Number((await receivers.ask({ count: commits * perCommit })).rate);
};

type Load = { perSecond: number; gapMs: number };

/** Records events of the 1,000 at a steady pace while `during` runs. */
const underLoad = async <T>(harness: Harness, { perSecond, gapMs }: Load, during: () => Promise<T>): Promise<T> => {
  let over = false;
  const feeding = (async () => {
    const startedAt = performance.now();
    for (let turn = 0; !over; turn += 1) {
      await harness.record(many, eventsIn(perSecond, gapMs));
      await sleep(Math.max(0, startedAt + (turn + 1) * gapMs - performance.now()));
    }
  })();
  try {
    await sleep(1_000);
    return await during();
  } finally {
    over = true;
    await feeding;
  }
};

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;

const closers: (() => Promise<unknown>)[] = [];
const missed: string[] = [];
const figure = (name: string, value: number, goal?: { text: string; held: boolean }): void => {
  print(`${name.padEnd(64)} ${value.toFixed(2).padStart(10)}${goal === undefined ? '' : `   goal ${goal.text}`}`);
  if (goal !== undefined && !goal.held) missed.push(name);
};

const atLeast = (value: number, goal: number) => ({ text: `${goal} at least`, held: value >= goal });
const atMost = (value: number, goal: number) => ({ text: `${goal} at most`, held: value <= goal });

const benchRate = async (parts: Parts, harness: Harness): Promise<void> => {
  const rates: Record<string, number[]> = {
    one: [],
    oneLoop: [],
    many: [],
    manyLoop: [],
    oneMicros: [],
    manyMicros: [],
  };
  // The first rounds open connections and warm both sides; they do not count.
  for (let round = 1 - warmUpRounds; round <= rounds; round += 1) {
    const oneLoop = await loopRate(parts, 1);
    const [ofOne, oneMicros] = await engineRound(parts, harness, one);
    const manyLoop = await loopRate(parts, receiversCount);
    const [ofMany, manyMicros] = await engineRound(parts, harness, many);
    const measured = { oneLoop, one: ofOne, oneMicros, manyLoop, many: ofMany, manyMicros };
    if (round > 0) for (const [name, rate] of Object.entries(measured)) rates[name]?.push(rate);
  }
  for (const [name, words] of [
    ['one', '1 receiver'],
    ['many', `${receiversCount} receivers`],
  ] as const) {
    figure(`${words}: bare loop, deliveries per second`, median(rates[`${name}Loop`] ?? []));
    figure(`${words}: Orderpass, deliveries per second`, median(rates[name] ?? []));
    const ratio = median(ratiosOf(rates[name], rates[`${name}Loop`]));
    figure(`${words}: main thread of the worker, µs per delivery`, median(rates[`${name}Micros`] ?? []));
    figure(`${words}: Orderpass to bare loop`, ratio, atLeast(ratio, goals.ratioMin));
  }
};

const addWays = async (harness: Harness, ports: readonly number[]): Promise<void> => {
  // One after the other: the worker has most of the store meanwhile.
  for (const way of ways)
    for (const [number, tenant] of way.tenants.entries())
      await harness.addEndpoint(tenant, `http://127.0.0.1:${ports[number]}/hook`, way.signing);
};

const benchSignatures = async (parts: Parts, harness: Harness): Promise<void> => {
  await addWays(harness, parts.ports);
  const measured = new Map(ways.map((way) => [way, { rates: [] as number[], micros: [] as number[] }]));
  const of = (way: Way) => measured.get(way) ?? { rates: [], micros: [] };
  for (let round = 1 - warmUpRounds; round <= rounds; round += 1)
    // In turn from another one in each round: the results of one are still being written while the next begins.
    for (let step = 0; step < ways.length; step += 1) {
      const way = ways[(round + warmUpRounds + step) % ways.length] ?? usual;
      const [rate, spent] = await engineRound(parts, harness, way.tenants);
      if (round <= 0) continue;
      of(way).rates.push(rate);
      of(way).micros.push(spent);
    }
  figure(`1,000 receivers, v1 with ${usual.name}, deliveries per second`, median(of(usual).rates));
  figure('main thread of the worker, µs per delivery', median(of(usual).micros));
  for (const way of otherWays) {
    figure(`the same, v1 with ${way.name}`, median(of(way).rates));
    figure('main thread of the worker, µs per delivery', median(of(way).micros));
    const share = median(ratiosOf(of(way).rates, of(usual).rates));
    figure(
      `${way.name}: rate to that with v1a alone`,
      share,
      way.hasGoal ? atLeast(share, goals.signedMin) : undefined,
    );
  }
};

/** Half loads: of the rate beside a producer, or of that of events recorded before, with a commit every `gapMs`. */
const halfLoads = [
  { of: 'sustained', gapMs: steadyGapMs, hasGoal: true },
  { of: 'sustained', gapMs: 50, hasGoal: false },
  { of: 'full', gapMs: steadyGapMs, hasGoal: false },
] as const;

/**
 * Each round measures its own rates before its loads, since the speed of a shared machine changes by half within a minute: half of a rate
 * that was measured earlier may be three quarters of the rate now.
 */
const benchLatency = async (parts: Parts, harness: Harness): Promise<void> => {
  const rates: Record<'full' | 'sustained', number[]> = { full: [], sustained: [] };
  const idle: number[] = [];
  const bare: number[] = [];
  const loaded: number[][] = halfLoads.map(() => []);
  for (let round = 1 - warmUpRounds; round <= rounds; round += 1) {
    const full = await engineRate(parts, harness, many);
    const sustained = await sustainedRate(parts, harness, eventsIn(full / 2, steadyGapMs));
    const pace = { perSecond: sustained / 2, gapMs: steadyGapMs };
    if (round < 0) continue;
    if (round === 0) {
      // Neither has run before, and new code is slow at first.
      await probe(parts, harness);
      await probeLoop(parts, pace);
      continue;
    }
    rates.full.push(full);
    rates.sustained.push(sustained);
    for (const [index, { of, gapMs }] of halfLoads.entries()) {
      const load = { perSecond: { full, sustained }[of] / 2, gapMs };
      loaded[index]?.push(...(await underLoad(harness, load, () => probe(parts, harness))));
    }
    bare.push(...(await probeLoop(parts, pace)));
    idle.push(...(await probe(parts, harness)));
  }
  figure('1,000 receivers, deliveries per second, events recorded before', median(rates.full));
  figure('the same with a producer beside it', median(rates.sustained));
  const [p50, p99] = [percentile(idle, 0.5), percentile(idle, 0.99)];
  figure('idle: commit to arrival, p50, ms', p50, atMost(p50, goals.idleP50MsMax));
  figure('idle: commit to arrival, p99, ms', p99, atMost(p99, goals.idleP99MsMax));
  figure('bare loop at half load: due to arrival, p50, ms', percentile(bare, 0.5));
  figure('the same, p99, ms', percentile(bare, 0.99));
  for (const [index, { of, gapMs, hasGoal }] of halfLoads.entries()) {
    const words = `${Math.round(median(rates[of]) / 2)} a second, a commit every ${gapMs} ms: commit to arrival`;
    figure(`${words}, p50, ms`, percentile(loaded[index] ?? [], 0.5));
    const loadP99 = percentile(loaded[index] ?? [], 0.99);
    figure(`${words}, p99, ms`, loadP99, hasGoal ? atMost(loadP99, goals.loadP99MsMax) : undefined);
  }
};

const benchBacklog = async (parts: Parts, without: Harness, loaded: Harness): Promise<void> => {
  const slow = `http://127.0.0.1:${parts.ports[2]}/slow`;
  print(`adding ${backlogCount} waiting deliveries …`);
  await addBacklog(loaded, slow, backlogCount);
  const rates: Record<'clean' | 'beside', number[]> = { clean: [], beside: [] };
  const latencies: Record<'clean' | 'beside', number[]> = { clean: [], beside: [] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, harness] of [
      ['clean', without],
      ['beside', loaded],
    ] as const) {
      const rate = await engineRate(parts, harness, many);
      // What arrived last is still being written down.
      await sleep(1_000);
      const probes = await probe(parts, harness);
      if (round === 0) continue;
      rates[name].push(rate);
      latencies[name].push(...probes);
    }
  }
  const cost = median(ratiosOf(rates.clean, rates.beside));
  figure('1,000 receivers without a backlog, deliveries per second', median(rates.clean));
  figure('the same beside the backlog', median(rates.beside));
  figure('what the backlog costs, times', cost, atMost(cost, goals.backlogCostMax));
  for (const share of [0.5, 0.99]) {
    figure(`idle p${share * 100} without a backlog, ms`, percentile(latencies.clean, share));
    figure('the same beside the backlog', percentile(latencies.beside, share));
  }
};

const benchHeaders = async (url: string): Promise<void> => {
  const harness = await openHarness(url, 'bench_headers');
  closers.push(() => harness.close());
  for (const { way, signer, cost } of await measureHeaders(harness, rounds)) {
    figure(`headers, v1 with ${way}, signed by the ${signer}: main thread, µs`, cost.main);
    figure('all threads, µs', cost.all);
  }
};

const benchKills = async (parts: Parts, harness: Harness): Promise<void> => {
  const tenants = many.slice(0, killedTenants);
  for (const [number, tenant] of tenants.entries())
    await harness.addEndpoint(tenant, `http://127.0.0.1:${parts.ports[number]}/probe`);
  const took = await measureKills({ harness, receivers: parts.receivers, tenants, kills: killsCount });
  figure(`${killsCount} kills of workers: events`, took.length);
  const p99 = percentile(took, 0.99);
  figure('commit to first arrival, p50, ms', percentile(took, 0.5));
  figure('the same, p99, ms', p99, atMost(p99, goals.killsP99MsMax));
  figure('the same, longest, ms', Math.max(...took));
};

/** The cores of the processes; undefined: any. Receivers are beside the store, the bare loop is beside the worker. */
type Cores = { worker: 0 | undefined; store: 1 | undefined };

/** A ratio compares the worker with the bare loop on the same core. */
const ofTheirOwn: Cores = { worker: 0, store: 1 };
/** Nothing compares them, and operators do not pin them either. */
const any: Cores = { worker: undefined, store: undefined };

const startParts = async ({ worker, store }: Cores): Promise<Parts> => {
  const receivers = await startPart('webhook-receivers', store, [String(receiversCount)]);
  closers.push(() => stopPart(receivers));
  const loop = await startPart('webhook-loop', worker, []);
  closers.push(() => stopPart(loop));
  return { receivers, loop, ports: receivers.ready.ports as number[] };
};

const startEngine = async (url: string, name: string, { ports }: Parts, cores: Cores): Promise<Harness> => {
  const harness = await openHarness(url, name);
  closers.push(() => harness.close());
  await addReceivers(harness, ports);
  const worker = await harness.startWorker({}, cores.worker !== undefined);
  closers.push(() => worker.stop());
  return harness;
};

const printSetting = (where: string): void =>
  print(
    `${rounds} rounds, ${eventsPerRound} deliveries each; worker and bare loop beside receivers and store, ${where}`,
  );

const named = process.argv.slice(2);
const wants = (part: string): boolean => named.length === 0 || named.includes(part);

const benchPinned = async (url: string): Promise<void> => {
  if (wants('headers')) await benchHeaders(url);
  if (!['kills', 'rate', 'signatures', 'backlog'].some(wants)) return;
  const parts = await startParts(ofTheirOwn);
  printSetting(pinned);
  if (wants('kills')) {
    const harness = await openHarness(url, 'bench_kills');
    closers.push(() => harness.close());
    await benchKills(parts, harness);
  }
  if (!['rate', 'signatures', 'backlog'].some(wants)) return;
  await fillLog(url);
  const harness = await startEngine(url, 'bench', parts, ofTheirOwn);
  const stolenShare = watchStolenTime();
  if (wants('rate')) await benchRate(parts, harness);
  if (wants('signatures')) await benchSignatures(parts, harness);
  if (wants('backlog')) await benchBacklog(parts, harness, await startEngine(url, 'bench_backlog', parts, ofTheirOwn));
  figure('taken of the cores by other machines of the host, %', stolenShare());
};

const benchUnpinned = async (url: string): Promise<void> => {
  const parts = await startParts(any);
  printSetting('not pinned');
  await fillLog(url);
  const harness = await startEngine(url, 'bench', parts, any);
  const stolenShare = watchStolenTime();
  await benchLatency(parts, harness);
  figure('taken of the cores by other machines of the host, %', stolenShare());
};

/** Measures with processes that end afterwards. */
const withStore = async ({ store: core }: Cores, measureOn: (url: string) => Promise<void>): Promise<void> => {
  try {
    const { BENCH_DATABASE_URL: given } = process.env;
    if (given !== undefined) return await measureOn(given);
    const store = await startPart('store', core, []);
    closers.push(() => stopPart(store));
    await measureOn(String(store.ready.url));
  } finally {
    for (const close of closers.splice(0).reverse()) await close().catch(() => undefined);
  }
};

if (['headers', 'kills', 'rate', 'signatures', 'backlog'].some(wants)) await withStore(ofTheirOwn, benchPinned);
if (wants('latency')) await withStore(any, benchUnpinned);
if (missed.length > 0) {
  print(`missed: ${missed.join('; ')}`);
  process.exitCode = 1;
}
