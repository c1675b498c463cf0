/** Connections to PostgreSQL: a bounded pool, the types of the values it returns, and the query builder on top of it. */
import { Kysely, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { createSemaphore } from '../sharing/semaphore.ts';
import { hostListOf, oneSocket } from './driver/host-list.ts';
import { createHostPool } from './driver/host-pool.ts';
import { createHosts } from './driver/hosts.ts';
import { PipelinedDialect } from './driver/kysely-dialect.ts';
import { clientClass } from './driver/pg-client.ts';
import type { SocketConnection } from './driver/socket-connection.ts';
import { hintsOf, openHints } from './hints/hints.ts';

export type PoolSettings = {
  /** The socket of the embedded server, or a `postgresql://` address. */
  connection: SocketConnection | string;
  max?: number;
  /** Shown in pg_stat_activity, so that an operator sees whose connection it is. */
  applicationName: string;
  /** How long a statement may get no byte of answer; 0: for ever. */
  silentMsMax?: number;
  /**
   * The address leads to a pooler in transaction mode: each transaction may run on another connection to the server, so
   * nothing is set for a session. Default: it leads to the server.
   */
  isPooled?: boolean;
  /** Hot statements get a name, so that the server parses them once for each connection. Default: unless pooled. */
  prepared?: boolean;
};

const maxDefault = 10;
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 30_000;
/** A server that works has ended a statement by then, and has answered. */
const answerGraceMs = 5_000;
const idleInTransactionTimeoutMs = 30_000;
const timeouts = {
  statement_timeout: statementTimeoutMs,
  idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
};
/** Behind a pooler: the timeouts of a transaction, which end with it. */
const localTimeouts = Object.entries(timeouts)
  .map(([name, ms]) => `set local ${name} = ${ms}`)
  .join('; ');
/** The first statement of a new connection takes ten times as long, since its process must load the catalogue. */
const idleTimeoutMs = 60_000;
const keepAliveDelayMs = 10_000;
const loopsMax = 100;
/** chosen: after this wait a loop takes a second connection, since one long transaction must not stop the others. */
const turnMsMax = 1_000;

const int8 = 20;
const date = 1082;

/** `int8` as a number, `date` as `YYYY-MM-DD`; `timestamptz` stays a Date and `numeric` a string. */
const createTypes = (): pg.CustomTypesConfig => {
  const types = new pg.TypeOverrides();
  types.setTypeParser(int8, (text: string) => {
    const value = Number(text);
    // To round an amount or a sequence number silently would be worse than to fail the query.
    if (!Number.isSafeInteger(value)) throw new RangeError('an int8 value is outside the safe integers');
    return value;
  });
  types.setTypeParser(date, (text: string) => text);
  return types;
};

/** A `statement_timeout` in the address overrides that of the pool, so the silence follows it. */
const silentMsOf = (connection: SocketConnection | string): number => {
  // Not every address that pg reads is a URL: that of a Unix socket has no host.
  const asked = typeof connection === 'string' ? /[?&]statement_timeout=(\d+)/.exec(connection)?.[1] : undefined;
  const timeoutMs = asked === undefined ? statementTimeoutMs : Number(asked);
  return timeoutMs > 0 ? timeoutMs + answerGraceMs : 0;
};

export const createPool = (settings: PoolSettings, log: Logger): pg.Pool => {
  const { connection, isPooled = false, prepared = !isPooled } = settings;
  const hosts = createHosts(typeof connection === 'string' ? hostListOf(connection) : oneSocket);
  const config: pg.PoolConfig = {
    Client: clientClass(settings.silentMsMax ?? silentMsOf(connection), { isPooled, prepared, hosts }),
    // A Unix socket has no TLS; without this setting a PGSSLMODE of the environment would ask for it.
    ...(typeof connection === 'string' ? { connectionString: hosts.pick().address } : { ...connection, ssl: false }),
    max: settings.max ?? maxDefault,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    // PgBouncer refuses the timeouts as startup parameters, and would set the name of each client anew on each connection.
    ...(isPooled ? undefined : { application_name: settings.applicationName, ...timeouts }),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    types: createTypes(),
    // Statements are sent without waiting for earlier answers; the server runs them in order.
    pipeline: true,
  };
  const pool = createHostPool(config, hosts);
  hosts.onLeave(() =>
    log.warn('the database takes no writes any more, or another host took over: its connections are closed'),
  );
  const report = (error: Error): void => {
    // The server of a closing pool may stop before its connections are closed.
    if (!pool.ending) log.warn({ err: error }, 'a database connection was lost');
  };
  // The pool listens for errors only while a client is idle. A connection that breaks between two statements of a
  // transaction would otherwise emit an unhandled 'error' and end the process. The first error is the reason; later ones are
  // about answers that were on their way.
  pool.on('connect', (client) => client.once('error', report).on('error', () => undefined));
  pool.on('error', () => undefined);
  openHints(pool, log);
  return pool;
};

type DatabaseOptions = {
  /** That of the pool. */
  isPooled?: boolean;
  /** Takes a connection of the pool. Default: at once. */
  connect?: () => Promise<PostgresPoolClient>;
};

/** `close` of the store ends the pool. `destroy()` of the result would end only a pool that kysely has used. */
export const createDatabase = (
  pool: pg.Pool,
  { isPooled = false, connect = () => pool.connect() }: DatabaseOptions = {},
): Kysely<unknown> => {
  const source = { connect, end: () => pool.end(), options: pool.options };
  const dialect = new PipelinedDialect({ pool: source }, isPooled ? localTimeouts : undefined);
  return Object.assign(new Kysely<unknown>({ dialect }), { hints: hintsOf(pool) });
};

/**
 * The same for loops that have time. Those of one process use the pool one after the other, so that together they keep one
 * connection open, and a burst of them takes none from requests.
 */
export const createBackground = (pool: pg.Pool, options: { isPooled: boolean }): Kysely<unknown> => {
  const turns = createSemaphore({ atOnceMax: 1, waitingMax: loopsMax, waitMsMax: turnMsMax });
  const { signal } = new AbortController();
  const connect = async (): Promise<PostgresPoolClient> => {
    const leave = await turns.acquire(signal);
    try {
      const client = await pool.connect();
      return {
        // Without cursors kysely calls `query` with a text and its values only.
        query: client.query.bind(client) as PostgresPoolClient['query'],
        // kysely asks with `destroy` for the end of a connection whose rollback failed.
        release: (destroy) => {
          leave?.();
          client.release(destroy);
        },
      };
    } catch (error) {
      leave?.();
      throw error;
    }
  };
  return createDatabase(pool, { ...options, connect });
};

/** Ends the pool after the hints of the last commits, which a command would otherwise take with it. */
export const endPool = async (pool: pg.Pool): Promise<void> => {
  await hintsOf(pool).close();
  await pool.end();
};
