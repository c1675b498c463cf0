/**
 * The shared state of several processes of one program: one of them counts in its memory (shared-counts.ts), the others ask
 * it by messages. Questions of one turn of the event loop travel together. A question that is not answered within
 * `waitMsMax` fails, and so does every further one until an answer arrives: meanwhile each process counts by itself. The late
 * answer still shows what was counted.
 */
import { type Count, type Kv, KvAway, type Late, type Leases, type WindowCounter, type WindowOptions } from './kv.ts';
import type { KvAnswer, KvAsk } from './shared-counts.ts';

type ProcessKvDeps = {
  /** Number of processes that share the counters. */
  sharers: number;
  ask(asks: readonly KvAsk[]): void;
  /** To all processes, this one included. */
  publish(channel: string, message: string): void;
  waitMsMax?: number;
};

export type ProcessKv = Kv & {
  receiveAnswers(answers: readonly KvAnswer[]): void;
  receiveMessage(channel: string, message: string): void;
};

/** Without `id`. */
type Question<T = KvAsk> = T extends KvAsk ? Omit<T, 'id'> : never;
type Value = KvAnswer['value'];
type Waiting = {
  resolve(value: Value): void;
  reject(error: KvAway): void;
  askedAtMs: number;
  late?: Late<Value> | undefined;
};

const waitMsDefault = 500;
const waitingMax = 20_000;

export const createProcessKv = ({ sharers, ask, publish, waitMsMax = waitMsDefault }: ProcessKvDeps): ProcessKv => {
  const listeners = new Map<string, Set<(message: string) => void>>();
  const waiting = new Map<number, Waiting>();
  /** Questions that were given up, whose answers are still of use. */
  const overdue = new Map<number, (value: Value) => void>();
  let asks: KvAsk[] = [];
  let asked = 0;
  let isAway = false;

  const send = (): void => {
    const all = asks;
    asks = [];
    ask(all);
  };
  const question = (of: Question, late?: Late<Value>): Promise<Value> =>
    new Promise((resolve, reject) => {
      // While the state is away a few questions still go, so that an answer shows its return.
      if (waiting.size >= (isAway ? 1 : waitingMax)) return reject(new KvAway());
      asked += 1;
      waiting.set(asked, { resolve, reject, askedAtMs: performance.now(), late });
      if (asks.push({ id: asked, ...of } as KvAsk) === 1) setImmediate(send);
    });
  // One timer for all questions; a map lists them in the order in which they were asked.
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [id, { reject, askedAtMs, late }] of waiting) {
      if (now - askedAtMs < waitMsMax) return;
      waiting.delete(id);
      isAway = true;
      if (late !== undefined && overdue.size < waitingMax) late(new Promise((resolve) => overdue.set(id, resolve)));
      reject(new KvAway());
    }
    if (isAway && waiting.size === 0)
      question({ kind: 'add', key: 'probe', units: 0, quota: 0, windowMs: 0 }).catch(() => undefined);
  }, waitMsMax / 4).unref();

  return {
    sharers,
    health: () => (isAway ? 'down' : 'up'),
    windows: (options) => createCounter(question, options),
    leases: (options) => createLeases(question, options),
    publish,
    subscribe: (channel, listener) => {
      const all = listeners.get(channel) ?? new Set();
      listeners.set(channel, all.add(listener));
      return () => void all.delete(listener);
    },
    receiveAnswers: (answers) => {
      isAway = false;
      for (const { id, value } of answers) {
        const resolve = waiting.get(id)?.resolve ?? overdue.get(id);
        waiting.delete(id);
        overdue.delete(id);
        resolve?.(value);
      }
    },
    receiveMessage: (channel, message) => {
      for (const listener of listeners.get(channel) ?? []) listener(message);
    },
    close: async () => {
      clearInterval(timer);
      for (const { reject } of waiting.values()) reject(new KvAway());
      waiting.clear();
      overdue.clear();
    },
  };
};

type Ask = (of: Question, late?: Late<Value>) => Promise<Value>;

const createCounter = (ask: Ask, { name, quota, windowSeconds }: WindowOptions): WindowCounter => {
  const windowMs = windowSeconds * 1000;
  type Counted = Count & { taken: boolean };
  const count = (kind: 'add' | 'take' | 'release', key: string, units: number, late?: Late<Counted>) =>
    ask({ kind, key: `${name}:${key}`, units, quota, windowMs }, late as Late<Value> | undefined) as Promise<Counted>;
  return {
    add: (key, units, late) => count('add', key, units, late),
    take: (key, units, late) => count('take', key, units, late),
    release: async (key, units, late) =>
      void (await count('release', key, units, late && ((answer) => late(answer.then(() => undefined))))),
  };
};

const createLeases = (ask: Ask, { name, leaseMs }: { name: string; leaseMs: number }): Leases => {
  const lease = (kind: 'hold' | 'renew' | 'free', key: string, holders: readonly string[], max = 0) =>
    ask({ kind, key: `${name}:${key}`, holders, max, leaseMs });
  return {
    take: async (key, holder, max) => (await lease('hold', key, [holder], max)) === true,
    renew: async (key, holders) => void (await lease('renew', key, holders)),
    release: async (key, holder) => void (await lease('free', key, [holder])),
  };
};
