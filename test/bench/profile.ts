/**
 * Where does the time of a proxied GET go? The gateway of proxied-get.ts under a token, and the bare proxy, each under the
 * profiler of V8: microseconds of its core per request, by the part that spends them.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { column, pinned, print, type Ready, withParts } from './kit/parts.ts';

const connections = 48;
const warmUpMs = 3_000;
const runMs = 8_000;

type Frame = { functionName: string; url: string };
type Profile = {
  nodes: { id: number; callFrame: Frame }[];
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
};

/** The first that fits. Functions without an address are native. */
const groups: readonly (readonly [name: string, fits: (frame: Frame) => boolean])[] = [
  ['idle', ({ functionName }) => functionName === '(idle)'],
  ['garbage collection', ({ functionName }) => functionName === '(garbage collector)'],
  ['writes to sockets', ({ functionName, url }) => url === '' && /^write|^shutdown/.test(functionName)],
  ['own code', ({ url }) => url.includes('/src/')],
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

/** Microseconds by group, over the last `ms` of the profile. */
const sharesOf = ({ nodes, samples, timeDeltas }: Profile, ms: number): Map<string, number> => {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, groupOf(callFrame)]));
  const shares = new Map<string, number>();
  let left = ms * 1000;
  for (let i = samples.length - 1; i >= 0 && left > 0; i -= 1) {
    const spent = timeDeltas[i] ?? 0;
    const name = names.get(samples[i] ?? -1) ?? '';
    left -= spent;
    shares.set(name, (shares.get(name) ?? 0) + spent);
  }
  return shares;
};

const measure = async (name: 'gateway' | 'bare'): Promise<Map<string, number>> => {
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
  return new Map([...sharesOf(profile, runMs)].map(([group, spent]) => [group, spent / requests]));
};

print(`${connections} connections, ${runMs / 1000} s, ${pinned}; microseconds for each request`);
const gateway = await measure('gateway');
const bare = await measure('bare');
print(`${''.padEnd(24)}${column('gateway', 10)}${column('bare', 10)}${column('more', 10)}`);
const busy = [...gateway.keys(), ...bare.keys()].filter((group) => group !== 'idle');
for (const group of new Set(busy)) {
  const [own, other] = [gateway.get(group) ?? 0, bare.get(group) ?? 0];
  print(`${group.padEnd(24)}${[own, other, own - other].map((figure) => column(figure.toFixed(1), 10)).join('')}`);
}
