/** What a profile of V8 says: which part of the program each sample belongs to, by the file of the function that runs. */

export type Frame = { functionName: string; url: string };

export type Profile = {
  nodes: { id: number; callFrame: Frame }[];
  samples: number[];
};

/** Of own code: the first that fits the path below src. */
const checks: readonly (readonly [name: string, fits: RegExp])[] = [
  ['check: route', /^gateway\/(?:routing|model\/route)/],
  ['check: limits, quotas', /^gateway\/(?:limits\/|access\/(?:quotas\/|limit-rate))/],
  [
    'check: audit, counts, log',
    /^gateway\/(?:audit\/|whoami\/|policy\/|access\/(?:record|count)|edge\/(?:log|gateway-metrics))/,
  ],
  ['check: audit, counts, log', /^platform\/(?:telemetry|log)/],
  ['identity for the service', /^gateway\/access\/identity\//],
  ['check: credential, scopes', /^gateway\/(?:access|credentials|dpop|oauth)\//],
  ['request to the service', /^gateway\/upstream\/(?:forward|request-headers|addresses|own-cookies)/],
  ['answer to the client', /^gateway\/(?:upstream|answer)\//],
  ['head, id, steps', /^gateway\//],
  ['rest of own code', /./],
];

/** The first that fits. Functions without a file are native. */
const others: readonly (readonly [name: string, fits: (frame: Frame) => boolean])[] = [
  // Nothing to do, or the profiler itself.
  ['idle', ({ functionName, url }) => functionName === '(idle)' || url === 'node:inspector'],
  ['garbage collection', ({ functionName }) => functionName === '(garbage collector)'],
  ['socket writes', ({ functionName, url }) => url === '' && /^write|^shutdown/.test(functionName)],
  ['socket reads, HTTP parser', ({ functionName }) => functionName === '(program)'],
  ['undici', ({ url }) => url.includes('/node_modules/undici/') || url.startsWith('wasm:')],
  ['other packages', ({ url }) => url.includes('/node_modules/')],
  ['node:http', ({ url }) => /^node:_http/.test(url)],
  [
    'node:net, streams, events',
    ({ url }) => /^node:(?:net|stream|events|internal\/(?:streams?|readable|writable))/.test(url),
  ],
  ['node:crypto', ({ url }) => url.startsWith('node:internal/crypto')],
  ['rest of Node', () => true],
];

/** Own code by its path below src; undefined for everything else. The bare proxy has all of its code in one file of the bench. */
export const fileOf = ({ url }: Frame): string | undefined =>
  url.includes('/node_modules/')
    ? undefined
    : /\/(?:src\/(.*)|test\/bench\/kit\/(.*))$/.exec(url)?.slice(1).find(Boolean);

export const partOf = (frame: Frame): string => {
  const file = fileOf(frame);
  if (file === undefined) return others.find(([, fits]) => fits(frame))?.[0] ?? '';
  if (!frame.url.includes('/src/')) return 'bare proxy';
  return checks.find(([, fits]) => fits.test(file))?.[0] ?? '';
};

export type Shares = ReadonlyMap<string, number>;

/**
 * Name -> its part of the samples that were taken while the process worked. Samples are counted, not the time between them,
 * which is long where other work of the machine has interrupted the process.
 */
export const sharesOf = ({ nodes, samples }: Profile, nameOf: (frame: Frame) => string | undefined): Shares => {
  const idle = new Set(nodes.filter(({ callFrame }) => partOf(callFrame) === 'idle').map(({ id }) => id));
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const worked = samples.filter((sample) => !idle.has(sample));
  const counts = new Map<string, number>();
  for (const sample of worked) {
    const name = names.get(sample);
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return new Map([...counts].map(([name, count]) => [name, count / worked.length]));
};
