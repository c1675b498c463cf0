/**
 * Where does the processor time of a proxied GET go? The gateway of proxied-get.ts under a token, and the bare proxy, under
 * the same load:
 *   1. the processor time of each process for a request, in interleaved rounds. Other work of the machine changes it less
 *      than the rate. `bare-fields` is the bare proxy with as many header fields in both directions as the gateway adds.
 *   2. which part of the program spends it, by the profiler of V8: each sample counts for the function that runs, by its file.
 *      The profiler costs time itself, so its shares are applied to the time of 1.
 *
 *   node test/bench/profiles/request.ts [ROUNDS] [--beside CLONE] [--way gateway-key] [--files]
 *
 * `--beside`: the folder of another clone (node_modules may be a link), whose gateway is measured in step 1 too, so that two
 * commits can be compared. `--files`: own code by file. With one round the shares only are of use.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { column, median, type Part, pinned, print, processorTimeOf, ratiosOf, withParts } from '../kit/parts.ts';
import { type Frame, fileOf, type Profile, partOf, type Shares, sharesOf } from '../kit/profile-parts.ts';

const connections = 48;
/** Numbers of requests, so that V8 has optimised the same code whatever else the machine does. */
const warmUp = 20_000;
const perRound = 8_000;
const profiled = 20_000;
/** Of the gateway beside the bare proxy in proxied-get.ts. */
const aim = 0.9;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    beside: { type: 'string' },
    way: { type: 'string', default: 'gateway' },
    files: { type: 'boolean', default: false },
  },
});
const rounds = Number(positionals[0] ?? 9);

type Side = 'gateway' | 'bare' | 'bare-fields' | 'beside';
type Costs = Map<Side, number[]>;
type Profiles = Record<'gateway' | 'bare', Profile>;

/** Times of a round in microseconds for a request, and a profile of each process of this clone. */
const measure = (): Promise<{ costs: Costs; profiles: Profiles }> =>
  withParts(async (start) => {
    const load = await start('load', 1, [String(connections)]);
    const store = await start('store', 1, []);
    const urls = [String(load.ready.url), String(store.ready.url)];
    const sides = new Map<Side, Part>();
    sides.set('gateway', await start('contender', 0, ['gateway', ...urls]));
    for (const name of ['bare', 'bare-fields'] as const) sides.set(name, await start('contender', 0, [name, ...urls]));
    if (values.beside !== undefined)
      sides.set('beside', await start('contender', 0, ['gateway', ...urls], values.beside));
    const send = async (name: Side, count: number, retriesLeft = 5): Promise<number> => {
      const { ready, child } = sides.get(name) as Part;
      const { others, ...plain } = ready;
      const before = processorTimeOf(child.pid ?? 0);
      const { requests, failures } = await load.ask({ ...(others?.[values.way] ?? plain), count });
      if (failures === 0) return (processorTimeOf(child.pid ?? 0) - before) / Number(requests);
      // A gateway that a busy machine holds up for a second refuses credentials until it has read the store again.
      if (retriesLeft === 0) throw new Error(`${name}: ${String(failures)} answers were not right`);
      return send(name, count, retriesLeft - 1);
    };
    const names = [...sides.keys()];
    const costs: Costs = new Map(names.map((name) => [name, []]));
    for (const name of names) await send(name, warmUp);
    for (let round = 0; round < rounds; round += 1)
      // Each round has another order, so no side always follows the same one.
      for (let turn = 0; turn < names.length; turn += 1) {
        const name = names[(turn + round) % names.length] as Side;
        costs.get(name)?.push(await send(name, perRound));
      }
    const folder = await mkdtemp(join(tmpdir(), 'orderpass-bench-profile-'));
    const profile = async (name: 'gateway' | 'bare'): Promise<Profile> => {
      await sides.get(name)?.ask({ profile: 'start' });
      await send(name, profiled);
      const file = join(folder, name);
      await sides.get(name)?.ask({ profile: file });
      return JSON.parse(await readFile(file, 'utf8')) as Profile;
    };
    const profiles = { gateway: await profile('gateway'), bare: await profile('bare') };
    await rm(folder, { recursive: true });
    return { costs, profiles };
  });

const row = (name: string, figures: readonly string[]): void =>
  print(`${name.padEnd(28)}${figures.map((figure) => column(figure, 10)).join('')}`);

/** Returns the medians. */
const reportCosts = (costs: Costs): Map<Side, number> => {
  row('', ['µs', 'min', 'max', 'of bare', 'min', 'max']);
  const medians = new Map<Side, number>();
  for (const [name, times] of costs) {
    const ratios = ratiosOf(times, costs.get('bare'));
    const all = [median(times), Math.min(...times), Math.max(...times)].map((time) => time.toFixed(1));
    row(name, [...all, ...[median(ratios), Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2))]);
    medians.set(name, median(times));
  }
  const beside = ratiosOf(costs.get('gateway'), costs.get('beside'))
    .filter(Number.isFinite)
    .toSorted((a, b) => a - b);
  if (beside.length > 0)
    print(
      `gateway : beside, by round: ${median(beside).toFixed(3)} (${beside.map((ratio) => ratio.toFixed(3)).join(' ')})`,
    );
  return medians;
};

type Times = { gateway: number; bare: number };

/** The parts that cost the gateway most more than the bare proxy come first. `times`: of a whole request. */
const reportParts = (gateway: Shares, bare: Shares, times: Times): void => {
  const parts = [...new Set([...gateway.keys(), ...bare.keys()])]
    .map((name) => ({
      name,
      gateway: times.gateway * (gateway.get(name) ?? 0),
      bare: times.bare * (bare.get(name) ?? 0),
    }))
    .toSorted((a, b) => b.gateway - b.bare - (a.gateway - a.bare));
  print('');
  row('µs for a request', ['gateway', 'bare', 'more']);
  for (const part of [...parts, { name: 'together', ...times }])
    row(
      part.name,
      [part.gateway, part.bare, part.gateway - part.bare].map((time) => time.toFixed(1)),
    );
  print('');
  print(`bare : gateway is ${(times.bare / times.gateway).toFixed(2)}; for ${aim.toFixed(2)} all that is more`);
  print(
    `may be ${(times.bare / aim - times.bare).toFixed(1)} µs instead of ${(times.gateway - times.bare).toFixed(1)}`,
  );
};

const reportFiles = (files: Shares, own: number): void => {
  print('');
  for (const [name, share] of [...files].toSorted(([, a], [, b]) => b - a).slice(0, 40))
    row(name.padEnd(50), [(share * own).toFixed(2)]);
};

print(`${rounds} rounds of ${perRound} requests, ${connections} connections, ${values.way}, ${pinned}`);
const { costs, profiles } = await measure();
const medians = reportCosts(costs);
const times = { gateway: medians.get('gateway') ?? 0, bare: medians.get('bare') ?? 0 };
reportParts(sharesOf(profiles.gateway, partOf), sharesOf(profiles.bare, partOf), times);
if (values.files) {
  const nativeOf = (frame: Frame): string | undefined =>
    fileOf(frame) === undefined ? `${frame.url} ${frame.functionName}` : undefined;
  reportFiles(sharesOf(profiles.gateway, fileOf), times.gateway);
  reportFiles(sharesOf(profiles.gateway, nativeOf), times.gateway);
}
