/** Lets questions through to Redis while it answers in time; logs once why it stopped, and once that it answers again. */
import { Cluster, type Redis } from 'ioredis';
import type { Logger } from '../log.ts';
import { KvAway, type Late } from './kv.ts';

export type RedisGate = {
  isOpen(): boolean;
  /** `key`: the one that the question is about. Throws KvAway. */
  ask<T>(key: string, question: () => Promise<T>, late?: Late<T>): Promise<T>;
  close(): void;
};

const busyFactor = 20;
const probeMs = 200;
/** A probe may take longer than an answer, to distinguish an overloaded machine from a dead one. */
const probesMax = 8;
const silence = 'it does not answer';
const closed = 'it closed the connection';
/** Several connections break at once, and only one of them may name the cause: it is waited for so long. */
const causeMs = 250;
/** The nodes of a cluster agree on a failover one after the other, so the first answer is not logged yet. */
const steadyMs = 1_000;

/**
 * Counts nothing, and fails wherever counting would: out of memory, on a node that is no primary, without a right. Redis looks
 * at the increment last, and '' is none.
 */
const probeScript = `
local refusal = redis.pcall('incrby', KEYS[1], '')
if string.find(refusal.err, 'not an integer', 1, true) then return 1 end
return refusal`;

export const createRedisGate = (client: Redis | Cluster, log: Logger, waitMsMax: number): RedisGate => {
  /** Key of the question that failed. Probes ask for it: in a cluster, only its node shows whether it counts again. */
  let failedKey: string | undefined;
  let missed = 0;
  let answers = 0;
  const isOpen = (): boolean => client.status === 'ready' && failedKey === undefined;
  const { report, learnReason, learnClosed, forgetReason, close } = createReport(log, isOpen);
  client.on('ready', report).on('close', () => {
    learnClosed();
    report();
  });
  client.on('error', (error: Error) => {
    learnReason(error);
    report();
  });
  // Of one node of a cluster: others may have the same slots, so only a question shows whether the cluster is away.
  client.on('node error', learnReason);

  const probe = async (): Promise<void> => {
    if (failedKey === undefined || client.status !== 'ready') return;
    try {
      await inTime(client.eval(probeScript, 1, failedKey), probeMs, () => 0);
      failedKey = undefined;
      missed = 0;
      report();
    } catch (error) {
      if (error instanceof OverdueAnswer && ++missed % probesMax === 0) closeSilent(client);
    }
  };
  const timer = setInterval(() => void probe(), probeMs);
  return {
    isOpen,
    ask: async (key, question, late) => {
      if (!isOpen()) throw new KvAway();
      const asked = question();
      try {
        asked.then(
          () => {
            answers += 1;
            forgetReason();
          },
          () => undefined,
        );
        return await inTime(asked, waitMsMax, () => answers);
      } catch (error) {
        if (error instanceof Error && !isAboutKey(error)) {
          failedKey ??= key;
          learnReason(error);
        }
        report();
        if (error instanceof OverdueAnswer) late?.(asked);
        throw new KvAway(error);
      }
    },
    close: () => {
      clearInterval(timer);
      close();
    },
  };
};

type Report = {
  /** Logs what changed. */
  report(): void;
  learnReason(error: Error): void;
  /** A connection was closed, by an end of which no error may tell. */
  learnClosed(): void;
  forgetReason(): void;
  close(): void;
};

const createReport = (log: Logger, isOpen: () => boolean): Report => {
  /** That Redis is away. */
  let isReported = false;
  let steady: NodeJS.Timeout | undefined;
  let late: NodeJS.Timeout | undefined;
  let reason: string | undefined;
  /** The line that was logged names no cause. */
  let isVague = false;
  const reportAnswers = (): void => {
    steady = undefined;
    if (!isOpen()) return;
    isReported = false;
    log.warn('Redis is reachable again; limits are shared');
  };
  const reportAway = (): void => {
    clearTimeout(late);
    late = undefined;
    if (isReported || isOpen()) return;
    isReported = true;
    isVague = !isCause(reason);
    log.warn(`Redis is not reachable (REDIS_URL): ${reason ?? silence}; limits are counted by each process alone`);
  };
  /** A new connection may be refused for a cause that the end of the earlier one did not name, such as another password. */
  const reportCause = (): void => {
    if (!isReported || !isVague || !isCause(reason) || isOpen()) return;
    isVague = false;
    log.warn(`Redis is still not reachable (REDIS_URL): ${reason}`);
  };
  return {
    report: () => {
      if (isOpen()) {
        reason = undefined;
        if (isReported) steady ??= setTimeout(reportAnswers, steadyMs).unref();
        return;
      }
      clearTimeout(steady);
      steady = undefined;
      if (reason === closed) late ??= setTimeout(reportAway, causeMs).unref();
      else reportAway();
    },
    learnReason: (error) => {
      const said = reasonOf(error);
      // The error itself has the command that Redis refused, and the one of a login has the password.
      log.debug({ reason: said }, 'Redis connection');
      // The library says this also where the system named the cause just before.
      if (said === 'Connection is closed') reason ??= closed;
      else if (error instanceof OverdueAnswer) reason ??= silence;
      else reason = said;
      reportCause();
    },
    learnClosed: () => {
      reason ??= closed;
    },
    forgetReason: () => {
      reason = undefined;
    },
    close: () => {
      clearTimeout(steady);
      clearTimeout(late);
    },
  };
};

/**
 * The other end is gone without closing (power, a dropped network), or is stopped. A cluster keeps its other connections: all
 * nodes of its address may be away.
 */
const closeSilent = (client: Redis | Cluster): void => {
  if (!(client instanceof Cluster)) return client.disconnect(true);
  for (const node of client.nodes()) inTime(node.ping(), probeMs, () => 0).catch(() => node.disconnect());
};

/** Silence and an end without a word may have any. */
const isCause = (reason: string | undefined): boolean =>
  reason !== undefined && reason !== silence && reason !== closed && !reason.endsWith('ETIMEDOUT');

/** A key with something else in it says nothing about other keys. Every other failure means that nothing is counted. */
const isAboutKey = (error: Error): boolean => /WRONGTYPE|not an integer/.test(error.message);

/** One line, as Redis or the system words it; neither repeats a password. */
const reasonOf = (error: Error): string => {
  const first: unknown =
    error instanceof AggregateError ? error.errors[0] : 'lastNodeError' in error ? error.lastNodeError : error;
  const said = first instanceof Error && first.message !== '' ? first.message : error.name;
  if (said.startsWith('MOVED ')) return 'it is a node of a cluster, which redis+cluster:// reaches';
  return (said.split('\n', 1)[0] ?? said).replace(/\.$/, '');
};

class OverdueAnswer extends Error {}

/** Waits `msMax`, and again as long as `progress` moves, which shows answers to earlier questions. */
const inTime = <T>(work: Promise<T>, msMax: number, progress: () => number): Promise<T> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let seen = progress();
    let timer: NodeJS.Timeout;
    let settled = false;
    const check = (): void => {
      if (settled) return;
      if (progress() === seen || performance.now() - startedAt > msMax * busyFactor) return reject(new OverdueAnswer());
      seen = progress();
      wait();
    };
    const wait = (): void => {
      // A busy process may have the answer in its socket already; it is read before the question counts as late.
      timer = setTimeout(() => setImmediate(() => setImmediate(check)), msMax);
    };
    wait();
    const settle = <V>(next: (value: V) => void) => {
      return (value: V): void => {
        settled = true;
        clearTimeout(timer);
        next(value);
      };
    };
    work.then(settle(resolve), settle(reject));
  });
