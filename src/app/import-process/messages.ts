/** What the program and the import process send each other. */
import type { OrderingSettings } from '#src/ordering/config.ts';
import type { LogLevel } from '#src/platform/log.ts';

/** What the process is started with. */
export type ImportSettings = {
  databaseUrl: string;
  /** The database is our own, on this machine. */
  embedded: boolean;
  applicationName: string;
  logLevel: LogLevel;
  /** Base64. */
  assertionKey: string;
  /** Base64. */
  cursorKey: string;
  /** Base64. */
  orderTokenKey: string;
  ordering: OrderingSettings;
};

/** What the process sends: that its start goes on, and then, once, that it listens. */
export type ChildMessage = { starting: true } | { port: number };
