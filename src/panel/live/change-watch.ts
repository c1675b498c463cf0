/**
 * Knows when something that a page shows has changed: asks each watched topic for its mark, once for all viewers, at a hint
 * of the store and every few seconds besides. What nobody watches is not asked for.
 */
import { createHash } from 'node:crypto';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import type { Ports } from '../ports/ports.ts';
import type { Topic } from './topic.ts';

type ChangeWatchDeps = {
  topics: readonly Topic[];
  ports: Ports;
  log: Logger;
  /** Calls back at each notification until the signal is aborted; rejects when it cannot. Undefined: nothing is heard. */
  listen: Listen | undefined;
};

export type Listen = (
  channels: readonly string[],
  onNews: (channel: string) => void,
  signal: AbortSignal,
) => Promise<void>;

/**
 * Hears the mark of a topic from a look that began after it came, and whenever it is another: an older look may not have
 * seen what a page shows already.
 */
type Listener = (mark: string) => void;

type Watched = {
  topic: Topic;
  subject: string;
  mark: string | undefined;
  listeners: Set<Listener>;
  /** Those of them that no look has told anything yet. */
  readonly newcomers: Set<Listener>;
  dueAtMs: number;
  lookedAtMs: number;
};

export type ChangeWatch = {
  topic(name: string): Topic | undefined;
  /** The mark of the topic now; undefined when it cannot be had. */
  markOf(topic: Topic, subject: string): Promise<string | undefined>;
  /** Returns the function that ends it. */
  watch(topic: Topic, subject: string, listener: Listener): () => void;
  services: Service[];
};

const intervalMs = 3_000;
/** Between two looks at the same, however many hints there are. */
const pauseMs = 250;
const atOnceMax = 4;
const idleMs = 60_000;
const reconnectMs = 1_000;

export const createChangeWatch = ({ topics, ports, log, listen }: ChangeWatchDeps): ChangeWatch => {
  const byName = new Map(topics.map((topic) => [topic.name, topic]));
  const watched = new Map<string, Watched>();
  const channels = [...new Set(topics.flatMap((topic) => topic.channels ?? []))];
  let wake: Wake | undefined;
  /** When somebody last stopped to watch something. */
  let watchedAtMs = 0;

  const markOf = async (topic: Topic, subject: string): Promise<string | undefined> => {
    try {
      const text = await topic.mark(ports, subject);
      return createHash('sha256').update(text).digest('base64url').slice(0, 12);
    } catch (error) {
      log.warn({ err: error, topic: topic.name }, 'the panel cannot see whether something changed');
      return undefined;
    }
  };
  const look = async (entry: Watched): Promise<void> => {
    entry.lookedAtMs = performance.now();
    entry.dueAtMs = entry.lookedAtMs + intervalMs;
    const present = new Set(entry.listeners);
    const mark = await markOf(entry.topic, entry.subject);
    if (mark === undefined) return;
    const isOther = mark !== entry.mark;
    entry.mark = mark;
    for (const listener of present)
      if (entry.newcomers.delete(listener) || (isOther && entry.listeners.has(listener))) listener(mark);
  };
  const lookSoon = (entry: Watched): void => {
    entry.dueAtMs = Math.min(entry.dueAtMs, Math.max(performance.now(), entry.lookedAtMs + pauseMs));
  };
  const onNews = (channel: string): void => {
    for (const entry of watched.values()) if (entry.topic.channels?.includes(channel) === true) lookSoon(entry);
    if (watched.size > 0) wake?.now();
  };
  const run = async (signal: AbortSignal): Promise<void> => {
    wake = createWake(signal);
    while (!signal.aborted) {
      const now = performance.now();
      if (watched.size === 0 && now - watchedAtMs > idleMs) quiet?.abort();
      const due = [...watched.values()].filter((entry) => entry.dueAtMs <= now).slice(0, atOnceMax);
      await Promise.all(due.map(look));
      if (due.length === atOnceMax) continue;
      const next = Math.min(now + idleMs, ...[...watched.values()].map((entry) => entry.dueAtMs));
      await wake.wait(Math.max(0, next - performance.now()));
    }
  };
  // Hearing takes a connection to the store, so that is done while somebody watches and a while after.
  let watchers: Wake | undefined;
  let quiet: AbortController | undefined;
  const createHear =
    (hearing: Listen) =>
    async (signal: AbortSignal): Promise<void> => {
      watchers = createWake(signal);
      while (!signal.aborted) {
        if (watched.size === 0) {
          await watchers.wait(idleMs);
          continue;
        }
        quiet = new AbortController();
        try {
          await hearing(channels, onNews, AbortSignal.any([signal, quiet.signal]));
        } catch (error) {
          log.warn({ err: error }, 'the panel does not hear of changes; it looks every few seconds');
          await pause(reconnectMs, signal);
        }
      }
    };
  return {
    topic: (name) => byName.get(name),
    markOf,
    watch: (topic, subject, listener) => {
      const key = `${topic.name} ${subject}`;
      const entry = watched.get(key) ?? {
        ...{ topic, subject, mark: undefined, listeners: new Set<Listener>(), newcomers: new Set<Listener>() },
        dueAtMs: 0,
        lookedAtMs: Number.NEGATIVE_INFINITY,
      };
      watched.set(key, entry);
      entry.listeners.add(listener);
      entry.newcomers.add(listener);
      lookSoon(entry);
      wake?.now();
      watchers?.now();
      return () => {
        entry.listeners.delete(listener);
        entry.newcomers.delete(listener);
        if (entry.listeners.size > 0) return;
        watched.delete(key);
        watchedAtMs = performance.now();
      };
    },
    services: [
      { name: 'panel-changes', run },
      ...(listen === undefined ? [] : [{ name: 'panel-hints', run: createHear(listen) }]),
    ],
  };
};
