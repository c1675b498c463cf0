/**
 * Service that reads the epoch regularly over a connection of its own. The notification of a change triggers a reading
 * at once. It is only a hint: a lost notification delays the reading by at most one interval.
 */
import type { Pool, PoolClient } from 'pg';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import { type Epoch, listenOn, readEpochOn } from './epoch-store.ts';

type EpochWatchDeps = {
  pool: Pool;
  log: Logger;
  elapsedMs: () => number;
  /** `anew`: the first reading of a connection; the store may have changed before it. */
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
        // Requests read the epoch themselves meanwhile, so the watch simply tries again.
        deps.log.warn({ err: error }, 'the connection that watches credential changes failed; connecting again');
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

/** Closes the connection instead of returning it to the pool: it still listens, and it may be broken. */
const release = (client: PoolClient, wake: Wake): void => {
  wake.close();
  client.off('notification', wake.now);
  client.off('error', wake.now);
  client.release(true);
};
