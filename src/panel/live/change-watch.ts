/**
 * Detects when something that an open page shows has changed. It polls the mark of each watched topic every few seconds,
 * and at once after a notification of the store, once for all viewers. Topics without a viewer are not polled.
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
  /**
   * Calls back at each notification until the signal is aborted; rejects when it cannot listen. Undefined: polling
   * only.
   */
  listen: Listen | undefined;
};

export type Listen = (
  channels: readonly string[],
  onNews: (channel: string) => void,
  signal: AbortSignal,
) => Promise<void>;

/**
 * Called with the mark of the first poll that began after the listener was added, and then with each different mark. A
 * poll that began earlier may have read an older state than the page shows.
 */
type Listener = (mark: string) => void;

type Watched = {
  topic: Topic;
  subject: string;
  mark: string | undefined;
  listeners: Set<Listener>;
  /** Listeners that have not been called yet. */
  readonly newcomers: Set<Listener>;
  dueAtMs: number;
  lookedAtMs: number;
};

export type ChangeWatch = {
  topic(name: string): Topic | undefined;
  /** The current mark of the topic; undefined when it could not be read. */
  markOf(topic: Topic, subject: string): Promise<string | undefined>;
  /** Returns the function that removes the listener. */
  watch(topic: Topic, subject: string, listener: Listener): () => void;
  services: Service[];
};

const intervalMs = 3_000;
/** The least time between two polls of one topic, however many notifications arrive. */
const pauseMs = 250;
const atOnceMax = 4;
const idleMs = 60_000;
const reconnectMs = 1_000;

export const createChangeWatch = ({ topics, ports, log, listen }: ChangeWatchDeps): ChangeWatch => {
  const byName = new Map(topics.map((topic) => [topic.name, topic]));
  const watched = new Map<string, Watched>();
  const channels = [...new Set(topics.flatMap((topic) => topic.channels ?? []))];
  let wake: Wake | undefined;
  /** When the last viewer of a topic left. */
  let watchedAtMs = 0;

  const markOf = async (topic: Topic, subject: string): Promise<string | undefined> => {
    try {
      const text = await topic.mark(ports, subject);
      return createHash('sha256').update(text).digest('base64url').slice(0, 12);
    } catch (error) {
      log.warn({ err: error, topic: topic.name }, 'the panel could not read the mark of a topic');
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
  // Listening occupies a connection to the store, so it runs only while a topic is watched and for a while after.
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
          log.warn({ err: error }, 'the panel cannot listen for changes and polls every few seconds');
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
