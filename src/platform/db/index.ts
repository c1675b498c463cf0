/**
 * platform/db owns the connection to PostgreSQL, the only durable store, and knows no feature (src/platform/README.md).
 *
 * The meaning of a row belongs to the stores of the features: each feature has its own PostgreSQL schema and its own SQL.
 */
import { type Kysely, sql } from 'kysely';
import type pg from 'pg';
import type { Logger } from 'pino';
import { leaveTogether } from './driver/host-pool.ts';
import { connectionUrl, type SocketConnection } from './driver/socket-connection.ts';
import { type Embedded, EmbeddedError, shareEmbedded, startEmbedded } from './embedded/embedded.ts';
import { shareHints } from './hints/hints.ts';
import { createBackground, createDatabase, createPool, endPool } from './pool.ts';
import { loadMigrations } from './schema/migrate.ts';

export { EmbeddedError } from './embedded/embedded.ts';

export const platformMigrations = loadMigrations('platform', new URL('./migrations/', import.meta.url));

export type StoreSettings = {
  dataDir: string;
  databaseUrl?: string | undefined;
  /** The server itself, when `databaseUrl` leads to a pooler in transaction mode. */
  directUrl?: string | undefined;
  /** See `PoolSettings`. */
  prepared?: boolean | undefined;
  poolMax?: number;
  applicationName: string;
};

export type Store = {
  /** For transactions and single statements: its connections may lead to a pooler. */
  pool: pg.Pool;
  /**
   * For what needs a session of the server: LISTEN, locks and settings of a session, migrations. The same pool, unless the
   * address of the server itself was given too.
   */
  sessions: pg.Pool;
  /** On `pool`. */
  db: Kysely<unknown>;
  /** The same for loops that have time: they wait for each other, so they keep one connection open. */
  background: Kysely<unknown>;
  /** The address of the database, in the form of `DATABASE_URL`. */
  url: string;
  connection: SocketConnection | string;
  embedded: boolean;
  /** This start initialised the embedded PostgreSQL: the store is empty. */
  freshlyCreated: boolean;
  close(): Promise<void>;
};

/** A process with every role holds five at most, and one more while it migrates. */
const sessionsMax = 8;
const poolEndMs = 5_000;
const handOverMs = 3_000;
/** Connections of a burst end by then; a full disk stays. */
const exhaustedMs = 3_000;
const startingMs = 60_000;
/** For sessions of other programs, such as psql: one that is left open must not keep a command from ending. */
const othersMsMax = 30_000;
const othersLoggedMs = 5_000;
const pollMs = 50;
const readOnlySetting = 'default_transaction_read_only';

export type StoreOptions = {
  exclusive: boolean;
  /** With `exclusive`: commands that share the embedded server meanwhile can only read. */
  soleWriter?: boolean;
};

/**
 * `exclusive` is for the process that owns the data folder: it runs the server, and fails if another process does. Otherwise
 * a running server is shared, and without one a server runs for the time of the call.
 */
export const openStore = async (
  settings: StoreSettings,
  log: Logger,
  { exclusive, soleWriter = false }: StoreOptions,
): Promise<Store> => {
  if (settings.databaseUrl !== undefined) return connect(settings, settings.databaseUrl, log);
  if (exclusive && soleWriter) {
    const owned = await retryWhileInUse(() => own(settings, log, { [readOnlySetting]: 'on' }), handOverMs);
    const connection = { ...owned.connection, options: `-c ${readOnlySetting}=off` };
    return connect(settings, { ...owned, connection }, log);
  }
  if (exclusive) return connect(settings, await retryWhileInUse(() => own(settings, log), handOverMs), log);
  const found = await retryWhileInUse(
    async () => (await shareEmbedded(settings.dataDir)) ?? (await own(settings, log)),
    startingMs,
  );
  // Without a session of its own, a shared server could stop while the pool has no connection, which is so between two long steps.
  const server: Server =
    'release' in found
      ? { connection: found.connection, freshlyCreated: false, stop: async () => found.release() }
      : { ...found, stop: (isIdle) => stopAfterOthers(found, log, isIdle) };
  return connect(settings, server, log);
};

/** Another process may be ending (a command that used the store) or starting. `timeoutMs`: for such a process. */
const retryWhileInUse = async <T>(open: () => Promise<T>, timeoutMs: number): Promise<T> => {
  const startedMs = performance.now();
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const code = error instanceof EmbeddedError ? error.code : undefined;
      const msMax = code === 'DATA_DIR_IN_USE' ? timeoutMs : code === 'POSTGRES_EXHAUSTED' ? exhaustedMs : 0;
      if (performance.now() - startedMs >= msMax) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
};

const own = (
  settings: StoreSettings,
  log: Logger,
  extraSettings: Readonly<Record<string, string>> = {},
): Promise<Embedded> => startEmbedded({ dataDir: settings.dataDir, log, extraSettings });

/** An embedded server. `isIdle`: all connections of the pools of this process have ended. */
type Server = Pick<Embedded, 'connection' | 'freshlyCreated'> & { stop(isIdle: boolean): Promise<void> };

const connect = (settings: StoreSettings, target: Server | string, log: Logger): Store => {
  const server = typeof target === 'string' ? undefined : target;
  const connection = typeof target === 'string' ? target : target.connection;
  const { applicationName, poolMax, directUrl, prepared } = settings;
  const isPooled = directUrl !== undefined;
  const pool = createPool(
    {
      connection,
      applicationName,
      isPooled,
      ...(prepared === undefined ? {} : { prepared }),
      ...(poolMax === undefined ? {} : { max: poolMax }),
    },
    log,
  );
  const sessions =
    directUrl === undefined ? pool : createPool({ connection: directUrl, applicationName, max: sessionsMax }, log);
  shareHints(pool, sessions);
  if (sessions !== pool) leaveTogether(pool, sessions);
  const closeOnce = async (): Promise<void> => {
    // A connection that is never released must not keep the process from ending.
    const timeout = new Promise<false>((resolve) => setTimeout(() => resolve(false), poolEndMs).unref());
    const ended = Promise.all([...new Set([pool, sessions])].map(endPool)).then(() => true);
    await server?.stop(await Promise.race([ended, timeout]));
  };
  let closing: Promise<void> | undefined;
  return {
    pool,
    sessions,
    db: createDatabase(pool, { isPooled }),
    background: createBackground(pool, { isPooled }),
    url: typeof connection === 'string' ? connection : connectionUrl(connection),
    connection,
    embedded: typeof connection !== 'string',
    freshlyCreated: server?.freshlyCreated === true,
    close: () => {
      closing ??= closeOnce();
      return closing;
    },
  };
};

/**
 * Other commands may use the server that this command runs; it stops after they have finished. A command of Orderpass is waited for
 * without a bound: it ends by itself, and a backup may take hours. A backup is a `walsender`. `isIdle`: no connection of this command is
 * left, which would be waited for like that of another.
 */
const stopAfterOthers = async (owned: Embedded, log: Logger, isIdle: boolean): Promise<void> => {
  const pool = createPool({ connection: owned.connection, max: 1, applicationName: 'orderpass shutdown' }, log);
  const since = performance.now();
  try {
    for (let isLogged = false; ; ) {
      const { rows } = await pool.query<{ others: number; own: number }>(
        `select count(*) as others, count(*) filter (where application_name like 'orderpass%') as own from pg_stat_activity
         where backend_type in ('client backend', 'walsender') and pid <> pg_backend_pid()`,
      );
      const { others = 0, own = 0 } = rows[0] ?? {};
      const waitedMs = performance.now() - since;
      if (others === 0 || ((own === 0 || !isIdle) && waitedMs > othersMsMax)) break;
      if (!isLogged && waitedMs > othersLoggedMs) {
        log.warn('another command uses the store that this one runs; it ends after that command');
        isLogged = true;
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  } catch (error) {
    log.warn({ err: error }, 'could not see whether other commands still use the store');
  } finally {
    await pool.end();
    await owned.stop();
  }
};

type Asked = Pick<pg.Pool, 'query'>;

/**
 * `started`: differs between a primary and its standby, and after a restart. `hasTimeout`: of statements. `dates`, `literals`: the
 * settings `datestyle` and `standard_conforming_strings`.
 */
type ServerFacts = {
  oid: number;
  started: string;
  role: string;
  hasTimeout: boolean;
  dates: string;
  literals: string;
};

const readServerFacts = async (asked: Asked): Promise<ServerFacts> => {
  const { rows } = await asked.query<ServerFacts>(
    `select oid, extract(epoch from pg_postmaster_start_time())::text as started, current_user as role,
       current_setting('statement_timeout') <> '0' as "hasTimeout", current_setting('datestyle') as dates,
       current_setting('standard_conforming_strings') as literals
     from pg_database where datname = current_database()`,
  );
  if (rows[0] === undefined) throw new Error('the database does not name itself');
  return rows[0];
};

/**
 * Where both pools of the store lead. `server`: to one database on different servers, such as a primary and its standby, which
 * passes where a failover is the reason. Then the connections are closed, since open ones would not follow the addresses.
 */
export const compareServers = async ({
  pool,
  sessions,
}: Pick<Store, 'pool' | 'sessions'>): Promise<
  { differs: 'database' | 'server' } | (ServerFacts & { differs: undefined })
> => {
  const clients: pg.PoolClient[] = [];
  let isOne = false;
  try {
    const pooled = await pool.connect();
    clients.push(pooled);
    const direct = await sessions.connect();
    clients.push(direct);
    const [facts, other] = [await readServerFacts(pooled), await readServerFacts(direct)];
    isOne = facts.oid === other.oid && facts.started === other.started;
    if (isOne) return { ...facts, differs: undefined };
    const systems = [await serverIdentity(pooled), await serverIdentity(direct)].map(({ system }) => system);
    return { differs: facts.oid === other.oid && systems[0] === systems[1] ? 'server' : 'database' };
  } finally {
    for (const client of clients) client.release(!isOne);
  }
};

/** The name of the connected database. */
export const databaseName = async (db: Kysely<unknown>): Promise<string> => {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db);
  return rows[0]?.name ?? '';
};

/** The size of the databases of the embedded server on its disk. */
export const storedBytes = async (pool: pg.Pool): Promise<number> => {
  const { rows } = await pool.query<{ bytes: number }>(
    'select sum(pg_database_size(oid))::bigint as bytes from pg_database',
  );
  return rows[0]?.bytes ?? 0;
};

/** The version of the server, such as `18.4`. */
export const serverVersion = async (pool: pg.Pool): Promise<string> => {
  const { rows } = await pool.query<{ version: string }>(`select current_setting('server_version') as version`);
  return rows[0]?.version ?? '';
};

/** `system`: equal for all databases of one server, and for copies of its files. */
export const serverIdentity = async (asked: Asked): Promise<{ system: string; encoding: string }> => {
  const { rows } = await asked.query<{ system: string; encoding: string }>(
    `select system_identifier::text as system, current_setting('server_encoding') as encoding from pg_control_system()`,
  );
  return rows[0] ?? { system: '', encoding: '' };
};
