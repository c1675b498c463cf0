/** Connections to PostgreSQL: a bounded pool, the types it hands out, and the query builder on top of it. */
import type { Socket } from 'node:net';
import { type Dialect, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { withStrictTls } from './database-address.ts';
import { nameStatements } from './driver/named.ts';

/** Where a PostgreSQL listens on a Unix socket. `host` is the folder of the socket. */
export type SocketConnection = { host: string; port: number; user: string; database: string };

export type PoolSettings = {
  /** A connection to our own server or a `postgresql://` address. */
  connection: SocketConnection | string;
  max?: number;
  /** Shown in pg_stat_activity, so that an operator sees whose connection it is. */
  applicationName: string;
  /** How long a statement may stay without a byte of answer; 0: for ever. */
  silentMsMax?: number;
};

const maxDefault = 10;
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 30_000;
/** A living server has ended a statement by then, and said so. */
const answerGraceMs = 5_000;
const idleInTransactionTimeoutMs = 30_000;
/** A new connection knows no table yet: its first statement takes ten times as long, just when there is a rush. */
const idleTimeoutMs = 60_000;
const keepAliveDelayMs = 10_000;

const int8 = 20;
const date = 1082;

/** `int8` as a number, `date` as `YYYY-MM-DD`; `timestamptz` stays a Date and `numeric` a string. */
const createTypes = (): pg.CustomTypesConfig => {
  const types = new pg.TypeOverrides();
  types.setTypeParser(int8, (text: string) => {
    const value = Number(text);
    // Rounding an amount or a sequence number without a word would be worse than failing the query.
    if (!Number.isSafeInteger(value)) throw new RangeError('an int8 value is outside the safe integers');
    return value;
  });
  types.setTypeParser(date, (text: string) => text);
  return types;
};

/**
 * Statements that are handed over one after the other leave in one piece: each piece is a call of the system and wakes the
 * server's process. Nothing waits for it longer than for what runs already.
 */
const sendTogether = (client: pg.PoolClient): void => {
  const socket = socketOf(client);
  const query: (...sent: unknown[]) => unknown = client.query.bind(client);
  let corked = false;
  const uncork = (): void => {
    corked = false;
    socket.uncork();
  };
  const gathering = (...sent: unknown[]): unknown => {
    if (!corked) {
      corked = true;
      socket.cork();
      // Comes after every promise that is ready now, and so after the statements that such promises send.
      process.nextTick(uncork);
    }
    return query(...sent);
  };
  Object.assign(client, { query: gathering });
};

/** Follows what the address asks of the server, since that comes before what we ask. */
const silentMsOf = (connection: SocketConnection | string): number => {
  // Not every address that pg understands is a URL: one of a Unix socket has no host.
  const asked = typeof connection === 'string' ? /[?&]statement_timeout=(\d+)/.exec(connection)?.[1] : undefined;
  const timeoutMs = asked === undefined ? statementTimeoutMs : Number(asked);
  return timeoutMs > 0 ? timeoutMs + answerGraceMs : 0;
};

/**
 * A server that hangs without closing, or a network that swallows everything, sends nothing to end a statement by: whoever
 * waits would wait for ever, and the connection with him. So the socket ends, which the statement, the pool and whoever
 * releases the client all take for a lost connection. Costs nothing per statement: the timer is that of the socket.
 */
const endWhenSilent = (client: pg.PoolClient, silentMsMax: number): void => {
  const socket = socketOf(client);
  socket.setTimeout(silentMsMax, () => {
    // Nobody waits for an answer: it listens, or its owner does something else.
    if ((client as { readyForQuery?: boolean }).readyForQuery === true) return;
    socket.destroy(Object.assign(new Error('the database does not answer'), { code: 'ETIMEDOUT' }));
  });
};

/** For a session that has lifted its statement timeout; close it afterwards. */
export const allowSilence = (client: pg.PoolClient): void => {
  socketOf(client).setTimeout(0);
};

/** pg makes it, encrypted or not; nobody gives it another kind of stream. */
const socketOf = (client: pg.PoolClient): Socket => client.connection.stream as Socket;

export const createPool = (settings: PoolSettings, log: Logger): pg.Pool => {
  const { connection } = settings;
  const pool = new pg.Pool({
    // A Unix socket never speaks TLS; without the word a PGSSLMODE of the environment would ask for it.
    ...(typeof connection === 'string'
      ? { connectionString: withStrictTls(connection) }
      : { ...connection, ssl: false }),
    max: settings.max ?? maxDefault,
    application_name: settings.applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    types: createTypes(),
    // Statements that do not wait for each other's answers are sent at once; the server takes them one after the other.
    pipeline: true,
  });
  const report = (error: Error): void => {
    // The server of a closing pool may be stopped before the last goodbye is said.
    if (!pool.ending) log.warn({ err: error }, 'a database connection was lost');
  };
  // The pool listens only while a client is idle. A connection that breaks between two statements of a transaction
  // would otherwise be an unhandled 'error' event and end the process.
  const silentMsMax = settings.silentMsMax ?? silentMsOf(connection);
  pool.on('connect', (client) => {
    client.on('error', report);
    endWhenSilent(client, silentMsMax);
  });
  pool.on('connect', nameStatements);
  pool.on('connect', sendTogether);
  pool.on('error', () => undefined);
  return pool;
};

/** `close` ends the pool, not `destroy()` of the result: kysely ends only a pool that it has used. */
export const createDatabase = (pool: pg.Pool): Kysely<unknown> =>
  new Kysely({ dialect: beginningAtOnce(new PostgresDialect({ pool })) });

/**
 * Nothing is to be learnt from the answer to `begin`: where it fails the connection is gone, and what is sent behind it
 * fails as well.
 */
export const beginningAtOnce = (dialect: Dialect): Dialect => ({
  createDriver: () => {
    const driver = dialect.createDriver();
    const begin = driver.beginTransaction.bind(driver);
    driver.beginTransaction = async (connection, settings) => {
      begin(connection, settings).catch(() => undefined);
    };
    return driver;
  },
  createAdapter: () => dialect.createAdapter(),
  createIntrospector: (db) => dialect.createIntrospector(db),
  createQueryCompiler: () => dialect.createQueryCompiler(),
});

/** The address that `DATABASE_URL`, `psql` and pg understand for a server on a Unix socket. */
export const connectionUrl = (connection: SocketConnection): string => {
  const query = new URLSearchParams({ host: connection.host, port: String(connection.port) });
  return `postgresql://${encodeURIComponent(connection.user)}@/${encodeURIComponent(connection.database)}?${query}`;
};
