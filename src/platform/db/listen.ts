/**
 * Receives PostgreSQL notifications on a connection of its own. A notification is a hint only; the tables hold the facts.
 */
import type { Pool } from 'pg';
import { createWake } from '../wake.ts';

/** Shorter than the silence after which the pool closes a connection. */
const aliveMs = 10_000;

/**
 * Calls `onNews` until `signal` is aborted. Rejects when the connection is lost. `channels` must be constants, not input.
 */
export const listenOn = async (
  pool: Pool,
  channels: readonly string[],
  onNews: (channel: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  const client = await pool.connect();
  const wake = createWake(signal);
  let lost: Error | undefined;
  const onNotification = ({ channel }: { channel: string }): void => onNews(channel);
  const onError = (error: Error): void => {
    lost = error;
    wake.now();
  };
  client.on('notification', onNotification);
  client.on('error', onError);
  try {
    for (const channel of channels) await client.query(`listen ${client.escapeIdentifier(channel)}`);
    while (!signal.aborted) {
      await wake.wait(aliveMs);
      if (lost !== undefined) throw lost;
      if (!signal.aborted) await client.query('select 1');
    }
  } finally {
    wake.close();
    client.off('notification', onNotification);
    client.off('error', onError);
    // The connection is closed instead of released, since it still listens.
    client.release(true);
  }
};
