/**
 * What a delivery costs, by part: samples of the profiler of V8 for the main thread of a worker, and the statements of its
 * loops by `pg_stat_statements`.
 */
import type { Frame } from '../profile-parts.ts';

export type SampledProfile = {
  nodes: readonly { id: number; callFrame: Frame; children?: readonly number[] }[];
  samples: readonly number[];
  timeDeltas: readonly number[];
  /** In microseconds of the monotonic clock that all processes of the machine share. */
  startTime: number;
};

/** By the path below src of a function that called the one that runs. The first that fits. */
const ownParts: readonly (readonly [name: string, fits: RegExp])[] = [
  [
    'dispatch',
    /^(?:webhooks\/dispatch\/|webhooks\/deliver\/fast-path|webhooks\/queue\/delivery-store|platform\/db\/outbox\/)/,
  ],
  ['claim', /^webhooks\/(?:deliver\/(?:claim|deliver\.)|queue\/(?:claim|schedule)-store)/],
  ['sign', /^webhooks\/signing\//],
  ['send', /^webhooks\/(?:send|auth|target)\//],
  ['record', /^webhooks\/(?:deliver\/(?:record|endpoint-health)|queue\/(?:attempt|entity-queue)-store)/],
  ['attempt, slots', /^webhooks\/(?:deliver|pacing)\//],
  ['rest of own code', /^(?:webhooks|app)\//],
];

/** Of functions that no function of the program called: the event loop did, when a socket or a timer was ready. */
const otherParts: readonly (readonly [name: string, fits: (frame: Frame) => boolean])[] = [
  ['idle', ({ functionName }) => functionName === '(idle)'],
  ['garbage collection', ({ functionName }) => functionName === '(garbage collector)'],
  ['answers of the store', ({ url }) => /\/node_modules\/(?:pg|pg-|kysely|postgres-)|\/src\/platform\/db\//.test(url)],
  ['send', ({ url }) => /\/node_modules\/undici\/|^wasm:|^node:_http|\/src\/webhooks\/send\//.test(url)],
];

const partOfPath = (path: readonly Frame[]): string => {
  for (const { url } of path) {
    const file = url.includes('/node_modules/') ? undefined : /\/src\/(.*)$/.exec(url)?.[1];
    const part = file === undefined ? undefined : ownParts.find(([, fits]) => fits.test(file));
    if (part !== undefined) return part[0];
  }
  for (const [name, fits] of otherParts) if (path.some(fits)) return name;
  return 'rest of Node: sockets, timers, promises';
};

/** Name -> its share of the samples between two moments of the monotonic clock, in microseconds, without those of an idle thread. */
export const threadShares = (profile: SampledProfile, from: number, to: number): Map<string, number> => {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const parts = new Map<number, string>();
  const partOf = (id: number): string => {
    const known = parts.get(id);
    if (known !== undefined) return known;
    const path: Frame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = nodes.get(at);
      if (node !== undefined) path.push(node.callFrame);
    }
    const part = partOfPath(path);
    parts.set(id, part);
    return part;
  };
  const counts = new Map<string, number>();
  let at = profile.startTime;
  for (const [index, sample] of profile.samples.entries()) {
    at += profile.timeDeltas[index] ?? 0;
    const part = at < from || at > to ? 'idle' : partOf(sample);
    if (part !== 'idle') counts.set(part, (counts.get(part) ?? 0) + 1);
  }
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return new Map([...counts].map(([name, count]) => [name, count / all]));
};

/** By the text of a statement. The first that fits. */
const statementParts: readonly (readonly [name: string, fits: RegExp])[] = [
  ['record: attempts, states of deliveries', /insert into webhooks\.attempts/],
  ['record: health of endpoints', /update webhooks\.endpoint_health/],
  ['entity queues', /pg_advisory_xact_lock\(key\)|as unfinished/],
  ['dispatch: place in the feed', /insert into outbox\.places/],
  ['dispatch: read events', /outbox\./],
  ['dispatch: endpoints', /from webhooks\.endpoints/],
  ['dispatch: insert deliveries', /insert into webhooks\.deliveries/],
  ['claim, schedule', /webhooks\.ready|from webhooks\.deliveries/],
];

export const partOfStatement = (text: string): string =>
  statementParts.find(([, fits]) => fits.test(text))?.[0] ?? 'rest';

/** Its rows are the deliveries that were claimed. */
export const isClaim = (text: string): boolean => /^with chosen as/.test(text);
