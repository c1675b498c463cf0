/**
 * Reads a base backup of a running server by the command BASE_BACKUP of the replication protocol, as pg_basebackup does, which
 * the npm package does not carry. The server reads its own files: so no rights to them are needed here, each page is checked
 * against its checksum, and the archive holds the WAL that makes it consistent.
 */
import { connectForCopy, copyOut } from '../driver/copy.ts';
import { destroyConnection } from '../driver/pg-client.ts';
import type { SocketConnection } from '../driver/socket-connection.ts';

/** Positions in the WAL such as `0/2000028`. */
export type WalRange = { start: string; end: string; timeline: number };

export type BaseBackupSinks = {
  /** The tar archive of the data folder, in parts. */
  archive(part: Buffer): Promise<void>;
  /** The backup manifest of PostgreSQL, in parts, after the archive. */
  manifest(part: Buffer): Promise<void>;
};

/** The replication protocol knows its commands in capitals only. */
const command = `BASE_BACKUP (LABEL 'orderpass', CHECKPOINT 'fast', WAL true, MANIFEST 'yes', MANIFEST_CHECKSUMS 'SHA256')`;

/** The first byte of each message tells the kinds; others begin an archive or report progress. */
const kinds = { manifest: 'm'.charCodeAt(0), data: 'd'.charCodeAt(0) };

/**
 * Streams a backup into the sinks. It holds all that was committed before the call, and what is committed until its end. Rejects
 * with the reason of `signal` when that is aborted.
 */
export const streamBaseBackup = async (
  connection: SocketConnection,
  sinks: BaseBackupSinks,
  signal: AbortSignal,
): Promise<WalRange> => {
  const client = await connectForCopy(connection, { applicationName: 'orderpass backup', replication: true });
  const end = (): void => destroyConnection(client);
  signal.addEventListener('abort', end);
  try {
    signal.throwIfAborted();
    // Keeps the WAL from here on until the session ends, however it ends. The backup would fail if some were removed.
    const slot = `orderpass_backup_${process.pid}`;
    await client.query(`CREATE_REPLICATION_SLOT ${slot} TEMPORARY PHYSICAL (RESERVE_WAL true)`);
    let isManifest = false;
    const [first, , last] = await copyOut(client, command, async (messages) => {
      for (const message of messages) {
        if (message[0] === kinds.manifest) isManifest = true;
        if (message[0] !== kinds.data) continue;
        await (isManifest ? sinks.manifest : sinks.archive)(message.subarray(1));
      }
    });
    if (first === undefined || last === undefined) throw new Error('the server ended the backup without its WAL range');
    return { start: String(first[0]), end: String(last[0]), timeline: Number(last[1]) };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', end);
    await client.end().catch(() => undefined);
  }
};
