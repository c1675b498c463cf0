/**
 * Reads the epoch again and again over a connection of its own. The notification of a change makes it read at once and is
 * a hint only: one that gets lost costs at most one interval.
 */
import type { Pool, PoolClient } from 'pg';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import { answerInTime } from './answer-in-time.ts';
import { type Epoch, listenOn, readEpochOn } from './epoch-store.ts';

type EpochWatchDeps = {
  pool: Pool;
  log: Logger;
  elapsedMs: () => number;
  /** `anew`: the first reading of a connection, before which the store may have become another one. */
  confirm: (epoch: Epoch, askedAtMs: number, anew: boolean) => Promise<void>;
};

const intervalMs = 400;
const answerMsMax = 2_000;
const reconnectMs = 250;

export const createEpochWatch = (deps: EpochWatchDeps): Service => ({
  name: 'credential-watch',
  run: async (signal) => {
    while (!signal.aborted) {
      try {
        await watchConnection(deps, signal);
      } catch (error) {
        // Requests confirm for themselves meanwhile, so there is nothing to give up.
        deps.log.warn({ err: error }, 'credential changes are not heard of; connecting again');
        await pause(reconnectMs, signal);
      }
    }
  },
});

const watchConnection = async (deps: EpochWatchDeps, signal: AbortSignal): Promise<void> => {
  const client = await deps.pool.connect();
  const wake = createWake(signal);
  client.on('notification', wake.now);
  client.on('error', wake.now);
  try {
    await answerInTime(listenOn(client), answerMsMax);
    for (let anew = true; !signal.aborted; anew = false) {
      await answerInTime(readAndConfirm(deps, client, anew), answerMsMax);
      await wake.wait(intervalMs);
    }
  } finally {
    release(client, wake);
  }
};

const readAndConfirm = async (deps: EpochWatchDeps, client: PoolClient, anew: boolean): Promise<void> => {
  const askedAtMs = deps.elapsedMs();
  await deps.confirm(await readEpochOn(client), askedAtMs, anew);
};

/** Closed, not given back: it listens, and it may be broken. */
const release = (client: PoolClient, wake: Wake): void => {
  wake.close();
  client.off('notification', wake.now);
  client.off('error', wake.now);
  client.release(true);
};
