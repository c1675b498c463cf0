/**
 * Detects when something that an open page shows has changed. It polls the mark of each watched topic every few seconds,
 * and at once after a hint of the store, once for all viewers. Topics without a viewer are not polled.
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
   * Calls back at each hint until the signal is aborted; rejects when it cannot listen. Undefined: polling
   * only.
   */
  listen: Listen | undefined;
};

export type Listen = (
  channels: readonly string[],
  onNotification: (channel: string) => void,
  signal: AbortSignal,
) => Promise<void>;

/**
 * Called with the mark of the first poll that began after the listener was added, and then with each different mark. A
 * poll that began earlier may have read an older state than the page shows.
 */
type Listener = (mark: string) => void;

type Watched = {
  key: string;
  topic: Topic;
  subject: string;
  mark: string | undefined;
  listeners: Set<Listener>;
  /** Listeners that have not been called yet. */
  readonly unnotified: Set<Listener>;
  dueAtMs: number;
  polledAtMs: number;
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
  /** The entry that was polled or added longest ago is the first. */
  const watched = new Map<string, Watched>();
  const channels = [...new Set(topics.flatMap((topic) => topic.channels ?? []))];
  const markOf = async (topic: Topic, subject: string): Promise<string | undefined> => {
    try {
      const text = await topic.mark(ports, subject);
      return createHash('sha256').update(text).digest('base64url').slice(0, 12);
    } catch (error) {
      log.warn({ err: error, topic: topic.name }, 'the panel could not read the mark of a topic');
      return undefined;
    }
  };
  const polling = createPolling(watched, markOf);
  const listening =
    listen && createListening({ watched, channels, log, listen, onNotification: polling.onNotification });
  return {
    topic: (name) => byName.get(name),
    markOf,
    watch: (topic, subject, listener) => {
      const key = `${topic.name} ${subject}`;
      const entry = watched.get(key) ?? newEntry(key, topic, subject);
      watched.set(key, entry);
      entry.listeners.add(listener);
      entry.unnotified.add(listener);
      polling.soon(entry);
      listening?.begin();
      return () => {
        entry.listeners.delete(listener);
        entry.unnotified.delete(listener);
        if (entry.listeners.size > 0) return;
        watched.delete(key);
        listening?.endLater();
      };
    },
    services: [
      { name: 'panel-changes', run: polling.run },
      ...(listening === undefined ? [] : [{ name: 'panel-hints', run: listening.run }]),
    ],
  };
};

const newEntry = (key: string, topic: Topic, subject: string): Watched => ({
  key,
  topic,
  subject,
  mark: undefined,
  listeners: new Set(),
  unnotified: new Set(),
  dueAtMs: 0,
  polledAtMs: Number.NEGATIVE_INFINITY,
});

/**
 * Polls the watched topics that are due, and calls their listeners. A polled entry moves to the end of `watched`, so that each
 * one is polled in turn while polls of all of them take longer than the interval.
 */
const createPolling = (watched: Map<string, Watched>, markOf: ChangeWatch['markOf']) => {
  let wake: Wake | undefined;
  const poll = async (entry: Watched): Promise<void> => {
    entry.polledAtMs = performance.now();
    entry.dueAtMs = entry.polledAtMs + intervalMs;
    watched.delete(entry.key);
    watched.set(entry.key, entry);
    const present = new Set(entry.listeners);
    const mark = await markOf(entry.topic, entry.subject);
    if (mark === undefined) return;
    const isOther = mark !== entry.mark;
    entry.mark = mark;
    for (const listener of present)
      if (entry.unnotified.delete(listener) || (isOther && entry.listeners.has(listener))) listener(mark);
  };
  const makeDue = (entry: Watched): void => {
    entry.dueAtMs = Math.min(entry.dueAtMs, Math.max(performance.now(), entry.polledAtMs + pauseMs));
  };
  return {
    soon: (entry: Watched): void => {
      makeDue(entry);
      wake?.now();
    },
    onNotification: (channel: string): void => {
      for (const entry of watched.values()) if (entry.topic.channels?.includes(channel) === true) makeDue(entry);
      if (watched.size > 0) wake?.now();
    },
    run: async (signal: AbortSignal): Promise<void> => {
      wake = createWake(signal);
      while (!signal.aborted) {
        const now = performance.now();
        const due = [...watched.values()].filter((entry) => entry.dueAtMs <= now).slice(0, atOnceMax);
        await Promise.all(due.map(poll));
        if (due.length === atOnceMax) continue;
        const next = Math.min(now + idleMs, ...[...watched.values()].map((entry) => entry.dueAtMs));
        await wake.wait(Math.max(0, next - performance.now()));
      }
    },
  };
};

type ListeningDeps = {
  watched: ReadonlyMap<string, Watched>;
  channels: readonly string[];
  log: Logger;
  listen: Listen;
  onNotification: (channel: string) => void;
};

/**
 * Listens for notifications. It occupies a connection to the store, so it runs only while a topic is watched and 60 s
 * longer.
 */
const createListening = ({ watched, channels, log, listen, onNotification }: ListeningDeps) => {
  let wake: Wake | undefined;
  let current: AbortController | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  return {
    begin: (): void => {
      clearTimeout(idleTimer);
      wake?.now();
    },
    endLater: (): void => {
      if (watched.size > 0) return;
      clearTimeout(idleTimer);
      idleTimer = setTimeout(() => current?.abort(), idleMs).unref();
    },
    run: async (signal: AbortSignal): Promise<void> => {
      wake = createWake(signal);
      while (!signal.aborted) {
        if (watched.size === 0) {
          await wake.wait(idleMs);
          continue;
        }
        current = new AbortController();
        try {
          await listen(channels, onNotification, AbortSignal.any([signal, current.signal]));
        } catch (error) {
          log.warn({ err: error }, 'the panel cannot listen for changes and polls every few seconds');
          await pause(reconnectMs, signal);
        }
      }
    },
  };
};
