/**
 * Signs with Ed25519 and ECDSA in a thread of its own, several texts with one message, since a signature takes longer than
 * all else that a delivery needs of its headers. The main thread signs whatever the thread does not: single texts while there
 * is little to do, everything until the thread has started, and what a thread that ended or did not answer had left.
 */
import type { KeyObject } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Logger } from '#src/platform/log.ts';
import { signing } from '../pacing/bounds.ts';
import { type SignText, signText } from './message-signature.ts';
import type { SigningGroup } from './signing-thread.ts';

export type ThreadSigner = {
  sign: SignText;
  /** Ends the thread. What is signed later is signed in the main thread. */
  close(): Promise<void>;
};

type Job = {
  key: KeyObject;
  text: string;
  resolve: (signature: string) => void;
  reject: (error: unknown) => void;
};

type ThreadSignerDeps = {
  log: Logger;
  /** With one of them a second thread only costs. Default: those of this process. */
  cores?: number;
  /** Starts the thread. */
  open?: () => Worker;
};

export const createThreadSigner = (deps: ThreadSignerDeps): ThreadSigner => {
  const { log, cores = availableParallelism(), open = openSigningThread } = deps;
  if (cores < 2) return { sign: signText, close: () => Promise.resolve() };
  let thread: Thread | undefined;
  let waiting: Job[] = [];
  let isScheduled = false;
  let isClosed = false;
  let startMsMin = Number.NEGATIVE_INFINITY;
  const onEnded = (reason: unknown): void => {
    thread = undefined;
    if (!isClosed) log.warn({ err: reason }, 'the thread that signs deliveries has ended; the main thread signs');
    flush();
  };
  const start = (): Thread | undefined => {
    const nowMs = performance.now();
    if (isClosed || nowMs < startMsMin) return undefined;
    startMsMin = nowMs + signing.restartMs;
    try {
      return startThread(open(), { onFree: flush, onEnded });
    } catch (error) {
      onEnded(error);
      return undefined;
    }
  };
  /** Gives what waits to the thread, or signs it here. */
  const flush = (): void => {
    isScheduled = false;
    if (thread?.isBusy() === true || waiting.length === 0) return;
    const group = waiting;
    waiting = [];
    if (group.length < signing.groupMin) return signAll(group);
    thread ??= start();
    if (thread?.isReady() === true) thread.sign(group);
    else signAll(group);
  };
  return {
    sign: (key, text) => {
      if (isClosed || text.length > signing.textMax || waiting.length >= signing.waitingMax) return signText(key, text);
      return new Promise((resolve, reject) => {
        waiting.push({ key, text, resolve, reject });
        if (isScheduled || thread?.isBusy() === true) return;
        isScheduled = true;
        // After all attempts that start in this turn of the event loop.
        setImmediate(flush);
      });
    },
    close: async () => {
      isClosed = true;
      await thread?.end();
    },
  };
};

/** In the main thread. */
const signAll = (jobs: readonly Job[]): void => {
  for (const { key, text, resolve, reject } of jobs) {
    try {
      resolve(signText(key, text));
    } catch (error) {
      reject(error);
    }
  }
};

type Thread = {
  isReady(): boolean;
  /** True while a group is being signed. */
  isBusy(): boolean;
  sign(jobs: readonly Job[]): void;
  end(): Promise<unknown>;
};

type ThreadListener = {
  /** The last group was signed. */
  onFree(): void;
  /** It signs nothing more. What it had left was signed here. */
  onEnded(reason: unknown): void;
};

export const openSigningThread = (): Worker =>
  new Worker(new URL('./signing-thread.ts', import.meta.url), {
    name: 'signing',
    resourceLimits: signing.threadLimits,
  });

const startThread = (worker: Worker, { onFree, onEnded }: ThreadListener): Thread => {
  // It must not keep the process alive.
  worker.unref();
  let isReady = false;
  let isEnded = false;
  let inFlight: readonly Job[] = [];
  let late: NodeJS.Timeout | undefined;
  const take = (): readonly Job[] => {
    const jobs = inFlight;
    inFlight = [];
    clearTimeout(late);
    return jobs;
  };
  const end = (reason: unknown): void => {
    if (isEnded) return;
    isEnded = true;
    signAll(take());
    onEnded(reason);
  };
  worker.on('message', (signatures: readonly string[]) => {
    isReady = true;
    const jobs = take();
    // The next group is on its way before the deliveries of this one are sent.
    onFree();
    for (const [index, job] of jobs.entries()) {
      const signature = signatures[index];
      if (signature === undefined) signAll([job]);
      else job.resolve(signature);
    }
  });
  worker.once('error', end);
  worker.once('exit', (code) => end(new Error(`the thread ended with ${code}`)));
  const giveUp = (jobs: readonly Job[]): void => {
    if (inFlight !== jobs) return;
    end(new Error(`the thread did not answer within ${signing.answerMs} ms`));
    void worker.terminate();
  };
  return {
    isReady: () => isReady,
    isBusy: () => inFlight.length > 0,
    sign: (jobs) => {
      const byKey = [...Map.groupBy(jobs, ({ key }) => key)];
      inFlight = byKey.flatMap(([, ofKey]) => ofKey);
      // An answer that waits for the main thread itself has arrived.
      late = setTimeout(() => setImmediate(giveUp, inFlight), signing.answerMs).unref();
      const group: SigningGroup = byKey.map(([key, ofKey]) => ({ key, texts: ofKey.map(({ text }) => text) }));
      worker.postMessage(group);
    },
    end: () => {
      end(undefined);
      return worker.terminate();
    },
  };
};
