/**
 * Service that reads the epoch and the changes since the confirmed one regularly, over a connection of its own. The
 * notification of a change triggers a reading at once. It is only a hint: a lost notification delays the reading by at most
 * one interval. Readings have a pause between them, so that many changes at once cost the store no more than ten a second.
 *
 * While no request asks for a credential, readings are half as frequent. A first request that finds the confirmation too old
 * reads the epoch itself, so a lost notification lets nothing pass.
 */
import type { Pool, PoolClient } from 'pg';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import type { EpochConfirmation } from './confirm-epoch.ts';
import { listenOn, readChangesOn } from './epoch-store.ts';

/** One more column of the statement that is sent so often anyway, and what takes its value. */
export type Beside = { column: string; onRead(value: number): void };

type EpochWatchDeps = {
  pool: Pool;
  log: Logger;
  elapsedMs: () => number;
  confirmation: Pick<EpochConfirmation, 'confirm' | 'state' | 'wasUsed' | 'onStale'>;
  beside: Beside | undefined;
};

const intervalMs = 400;
/** chosen: so long after the last request the epoch is read as often as under load. */
const usedMs = 5_000;
/** chosen: still below a second, after which the alert on late revocations counts (config/monitoring/alerts.yaml). */
const unusedIntervalMs = 800;
/** chosen: far below the second in which a revocation holds everywhere. */
const pauseMsMin = 100;
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
  deps.confirmation.onStale(wake.now);
  try {
    await answerInTime(listenOn(client), answerMsMax);
    // The store may have been another one before the first reading of a connection.
    for (let anew = true; !signal.aborted; anew = false) {
      await answerInTime(readAndConfirm(deps, client, anew), answerMsMax);
      await pause(pauseMsMin, signal);
      await wake.wait((deps.confirmation.wasUsed(usedMs) ? intervalMs : unusedIntervalMs) - pauseMsMin);
    }
  } finally {
    release(client, wake);
  }
};

const readAndConfirm = async (deps: EpochWatchDeps, client: PoolClient, anew: boolean): Promise<void> => {
  const { confirmation, elapsedMs } = deps;
  const askedAtMs = elapsedMs();
  const { reading, beside } = await readChangesOn(client, confirmation.state()?.epoch, deps.beside?.column);
  await confirmation.confirm(reading, askedAtMs, anew);
  if (beside !== null) deps.beside?.onRead(Number(beside));
};

/** Closes the connection instead of returning it to the pool: it still listens, and it may be broken. */
const release = (client: PoolClient, wake: Wake): void => {
  wake.close();
  client.off('notification', wake.now);
  client.off('error', wake.now);
  client.release(true);
};
