/**
 * Hints: after the commit of a change, notifications of PostgreSQL wake the loops that wait for such a change. A hint carries
 * no facts, and every receiver also polls its tables, so a lost hint delays a receiver until its next poll and loses nothing.
 *
 * PostgreSQL commits transactions that notify one after the other, for all databases of the server, and each until its commit
 * is on the disk. So no transaction that changes rows notifies. The hints of committed transactions are gathered here, and a
 * statement of its own sends them. It writes no rows, so it does not hold that lock for a write to the disk.
 */
import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import type { Logger } from 'pino';
import { startWait, type Wait } from '../../wake.ts';
import { mark } from '../driver/named.ts';

export type Hints = {
  /**
   * Calls the receivers of this process at once, and notifies those of other processes soon. `channel` must be a constant,
   * since each waiting channel takes memory. Never throws.
   */
  send(channel: string): void;
  /**
   * Calls `onHint`, which must not throw, for each hint of this process, and for those of others that `client` is notified of:
   * the caller lets it listen on the channels. Returns the function that ends it.
   */
  receive(client: PoolClient, channels: readonly string[], onHint: (channel: string) => void): () => void;
  /** Sends the hints that wait, within a second. Later ones reach only receivers of this process. */
  close(): Promise<void>;
};

/**
 * chosen: hints that follow each other this closely share a statement. measured: `node test/bench/webhooks.ts latency`, where 5 ms
 * delayed a tenth of the events by 3 ms more.
 */
const gatherMs = 2;
/** chosen: a command must end soon, also when the database is silent. */
const closeMsMax = 1_000;

const notify = `${mark} select pg_notify(channel, $2) from unnest($1::text[]) as hinted (channel)`;

type Receiver = { channels: readonly string[]; onHint: (channel: string) => void };

/**
 * The first hint leaves at once. Those that follow wait until its statement has ended and `gatherMs` have passed, so at most
 * one statement is in flight, however many transactions commit. It takes a connection of the pool like every other statement.
 */
export const openHints = (pool: Pool, log: Logger): Hints => {
  const self = randomUUID();
  const receivers = new Set<Receiver>();
  const waiting = new Set<string>();
  let sending: Promise<void> | undefined;
  let gathering: Wait | undefined;
  let isClosed = false;

  const sendWaiting = async (): Promise<void> => {
    while (waiting.size > 0) {
      const channels = [...waiting];
      waiting.clear();
      try {
        await pool.query(notify, [channels, self]);
      } catch (error) {
        // It is not sent again: by the time the database answers, the receivers have polled.
        if (!pool.ending) log.warn({ err: error }, 'a hint was lost; other processes find the change when they poll');
      }
      if (isClosed) continue;
      gathering = startWait(gatherMs);
      await gathering.over;
    }
    sending = undefined;
  };

  const hints: Hints = {
    send: (channel) => {
      for (const { channels, onHint } of receivers) if (channels.includes(channel)) onHint(channel);
      if (isClosed) return;
      waiting.add(channel);
      sending ??= sendWaiting();
    },
    receive: (client, channels, onHint) => {
      const receiver = { channels, onHint };
      const onNotification = (notification: { channel: string; payload?: string | undefined }): void => {
        // For a change of this process `onHint` was called before.
        if (notification.payload !== self) onHint(notification.channel);
      };
      receivers.add(receiver);
      client.on('notification', onNotification);
      return () => {
        receivers.delete(receiver);
        client.off('notification', onNotification);
      };
    },
    close: async () => {
      isClosed = true;
      gathering?.end();
      const timeout = startWait(closeMsMax);
      await Promise.race([sending, timeout.over]);
      timeout.end();
    },
  };
  byPool.set(pool, hints);
  return hints;
};

const byPool = new WeakMap<Pool, Hints>();

/** Receivers on connections of `to` get the hints of `from`, within this process at once. */
export const shareHints = (from: Pool, to: Pool): void => {
  byPool.set(to, hintsOf(from));
};

/** The hints of a pool that `createPool` made. */
export const hintsOf = (pool: Pool): Hints => {
  const hints = byPool.get(pool);
  if (hints === undefined) throw new Error('the pool was not made by createPool');
  return hints;
};
