/**
 * Where does the time of a proxied GET go? The gateway of proxied-get.ts under a token, and the bare proxy, each under the
 * profiler of V8: microseconds of its core per request, by the part that spends them, and what each part has to do with the
 * distance to the aim of proxied-get.ts.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { column, pinned, print, type Ready, withParts } from './kit/parts.ts';

const connections = 48;
const warmUpMs = 3_000;
const runMs = 8_000;
/** Of the gateway beside the bare proxy in proxied-get.ts. */
const aim = 0.9;

type Frame = { functionName: string; url: string };
type Profile = {
  nodes: { id: number; callFrame: Frame }[];
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
};

const ownCode = 'own code';

/** The first that fits. Functions without an address are native. */
const groups: readonly (readonly [name: string, fits: (frame: Frame) => boolean])[] = [
  ['idle', ({ functionName }) => functionName === '(idle)'],
  ['garbage collection', ({ functionName }) => functionName === '(garbage collector)'],
  ['writes to sockets', ({ functionName, url }) => url === '' && /^write|^shutdown/.test(functionName)],
  [ownCode, ({ url }) => url.includes('/src/')],
  ['undici', ({ url }) => url.includes('/node_modules/undici/') || url.startsWith('wasm:')],
  ['other packages', ({ url }) => url.includes('/node_modules/')],
  ['node:http', ({ url }) => /^node:_http/.test(url)],
  [
    'node:net and streams',
    ({ url }) => /^node:(?:net|stream|internal\/(?:streams|stream_base|readable|writable))/.test(url),
  ],
  ['node:crypto', ({ url }) => url.startsWith('node:internal/crypto')],
  ['rest of Node', ({ url }) => url.startsWith('node:')],
  ['native code', () => true],
];

const groupOf = (frame: Frame): string => groups.find(([, fits]) => fits(frame))?.[0] ?? '';

/** Own code by its folder; undefined for everything else. */
const folderOf = (frame: Frame): string | undefined =>
  groupOf(frame) === ownCode ? /\/(src\/[^/]+(?:\/[^/]+(?=\/))?)/.exec(frame.url)?.[1] : undefined;

type Shares = Map<string, number>;

/** Microseconds by name, over the last `ms` of the profile. */
const sharesOf = (
  { nodes, samples, timeDeltas }: Profile,
  ms: number,
  nameOf: (frame: Frame) => string | undefined,
): Shares => {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const shares: Shares = new Map();
  let left = ms * 1000;
  for (let i = samples.length - 1; i >= 0 && left > 0; i -= 1) {
    const spent = timeDeltas[i] ?? 0;
    const name = names.get(samples[i] ?? -1);
    left -= spent;
    if (name !== undefined) shares.set(name, (shares.get(name) ?? 0) + spent);
  }
  return shares;
};

type Measured = { parts: Shares; folders: Shares };

const measure = async (name: 'gateway' | 'bare'): Promise<Measured> => {
  const folder = await mkdtemp(join(tmpdir(), 'orderpass-bench-profile-'));
  let requests = 0;
  await withParts(async (start) => {
    const load = await start('load', 1, [String(connections)]);
    const store = await start('store', 1, []);
    process.env.NODE_OPTIONS = `--cpu-prof --cpu-prof-dir=${folder}`;
    const { ready } = await start('contender', 0, [name, String(load.ready.url), String(store.ready.url)]);
    delete process.env.NODE_OPTIONS;
    const target: Ready = { ...ready };
    delete target.others;
    await load.ask({ ...target, ms: warmUpMs });
    const answer = await load.ask({ ...target, ms: runMs });
    if (answer.failures !== 0) throw new Error(`${name}: ${String(answer.failures)} answers were not right`);
    requests = Number(answer.requests);
  });
  const [file = ''] = await readdir(folder);
  const profile = JSON.parse(await readFile(join(folder, file), 'utf8')) as Profile;
  await rm(folder, { recursive: true });
  const perRequest = (nameOf: Parameters<typeof sharesOf>[2]): Shares =>
    new Map([...sharesOf(profile, runMs, nameOf)].map(([part, spent]) => [part, spent / requests]));
  return { parts: perRequest(groupOf), folders: perRequest(folderOf) };
};

const row = (name: string, figures: readonly string[]): void =>
  print(`${name.padEnd(24)}${figures.map((figure) => column(figure, 10)).join('')}`);

const sum = (shares: Shares): number => [...shares.values()].reduce((total, spent) => total + spent, 0);

/** The parts that cost the gateway most more than the bare proxy come first. */
const reportParts = (gateway: Shares, bare: Shares): void => {
  const difference = sum(gateway) - sum(bare);
  const parts = [...new Set([...gateway.keys(), ...bare.keys()])]
    .map((name) => ({ name, own: gateway.get(name) ?? 0, other: bare.get(name) ?? 0 }))
    .toSorted((a, b) => b.own - b.other - (a.own - a.other));
  row('', ['gateway', 'bare', 'more', 'of it']);
  for (const { name, own, other } of parts) {
    const more = own - other;
    row(name, [own.toFixed(1), other.toFixed(1), more.toFixed(1), `${((100 * more) / difference).toFixed(0)} %`]);
  }
  row('together', [sum(gateway).toFixed(1), sum(bare).toFixed(1), difference.toFixed(1), '100 %']);
};

const reportAim = (gateway: Shares, bare: Shares): void => {
  const mayTake = sum(bare) / aim;
  const above = sum(gateway) - mayTake;
  print('');
  print(`bare : gateway is ${(sum(bare) / sum(gateway)).toFixed(2)}; for ${aim.toFixed(2)} it may take`);
  print(
    `${mayTake.toFixed(1)} in all, ${(mayTake - sum(bare)).toFixed(1)} more than bare: ${above.toFixed(1)} less than now`,
  );
};

const reportFolders = (folders: Shares): void => {
  print('');
  print(`${ownCode} by folder`);
  for (const [name, spent] of [...folders].toSorted(([, a], [, b]) => b - a)) row(name, [spent.toFixed(1)]);
};

print(`${connections} connections, ${runMs / 1000} s, ${pinned}; microseconds for each request`);
const gateway = await measure('gateway');
const bare = await measure('bare');
for (const { parts } of [gateway, bare]) parts.delete('idle');
reportParts(gateway.parts, bare.parts);
reportAim(gateway.parts, bare.parts);
reportFolders(gateway.folders);
