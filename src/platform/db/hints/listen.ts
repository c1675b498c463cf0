/** Receives hints on a connection of its own. A hint says only where to look; the tables hold the facts. */
import type { Pool } from 'pg';
import { createWake } from '../../wake.ts';
import { hintsOf } from './hints.ts';

/** Shorter than the silence after which the pool closes a connection. */
const aliveMs = 10_000;

/**
 * Calls `onHint` until `signal` is aborted. Rejects when the connection is lost. `channels` must be constants, not input.
 */
export const listenOn = async (
  pool: Pool,
  channels: readonly string[],
  onHint: (channel: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  const client = await pool.connect();
  const wake = createWake(signal);
  let lost: Error | undefined;
  const onError = (error: Error): void => {
    lost = error;
    wake.now();
  };
  const end = hintsOf(pool).receive(client, channels, onHint);
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
    end();
    client.off('error', onError);
    // The connection is closed instead of released, since it still listens.
    client.release(true);
  }
};
