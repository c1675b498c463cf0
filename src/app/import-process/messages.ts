/** The messages between the program and the import process. */
import type { OrderingSettings } from '#src/ordering/config.ts';
import type { LogLevel } from '#src/platform/log.ts';

/** The first message to the process. */
export type ImportSettings = {
  databaseUrl: string;
  /** `databaseUrl` leads to a pooler in transaction mode. */
  isPooled: boolean;
  /** Hot statements get a name (platform/db/pool.ts). */
  prepared: boolean;
  /** The database is the embedded one, on this machine. */
  embedded: boolean;
  applicationName: string;
  logLevel: LogLevel;
  /** How long a running import may take after the stop. */
  graceMs: number;
  /** Base64. */
  assertionKey: string;
  /** Base64. */
  cursorKey: string;
  /** Base64. */
  orderTokenKey: string;
  ordering: OrderingSettings;
};

/** Messages of the process: the start continues; then, once, the port that it listens on. */
export type ChildMessage = { starting: true } | { port: number };
