/** The store that the settings name: opened, its connections checked, and its errors named by their setting. */
import { resolve } from 'node:path';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import { awaitServer, waitForServer } from '#src/platform/db/await-server.ts';
import { connectionProblem, isParameterRefused, sessionsMissing } from '#src/platform/db/database-address.ts';
import { isTransactionPooled } from '#src/platform/db/driver/find-pooler.ts';
import { compareServers, openStore, type Store, type StoreOptions } from '#src/platform/db/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { nameOf, type SettingProblem, type Settings, SettingsError } from '../settings/config.ts';

/** Options as those of `openInstallation`. */
export const openOwnStore = (settings: Settings, log: Logger, options: StoreOptions): Promise<Store> =>
  openStore(
    {
      dataDir: resolve(settings.data_dir),
      databaseUrl: settings.database_url,
      directUrl: settings.database_direct_url,
      prepared: areStatementsPrepared(settings),
      poolMax: settings.database_connections_max,
      applicationName: `orderpass-${settings.role}`,
    },
    log,
    options,
  );

/** A pooler in transaction mode may not know statements by their names. */
export const areStatementsPrepared = (settings: Settings): boolean =>
  (settings.database_prepared ?? (settings.database_direct_url === undefined ? 'on' : 'off')) === 'on';

type Addresses = Pick<Settings, 'database_url' | 'database_direct_url'>;

/** The variable with the address of the sessions. */
const sessionsVariable = (settings: Addresses): string =>
  settings.database_direct_url === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';

/** The error, or one line that names the variable when the database of its address cannot be reached. */
export const nameConnection = (settings: Addresses, error: unknown, variable = 'DATABASE_URL'): unknown => {
  const problem = settings.database_url === undefined ? undefined : connectionProblem(error);
  return problem === undefined ? error : new Error(`${variable}: ${problem}`, { cause: error });
};

/** Throws where the connections for sessions would lose them: LISTEN and locks would be left on connections of others. */
export const assertSessions = async (settings: Addresses, { sessions, embedded }: Store): Promise<void> => {
  if (embedded) return;
  let isPooled: boolean;
  try {
    isPooled = await isTransactionPooled(sessions);
  } catch (error) {
    throw nameConnection(settings, error, sessionsVariable(settings));
  }
  if (!isPooled) return;
  const [path, message] =
    settings.database_direct_url === undefined
      ? ['database_url', sessionsMissing]
      : ['database_direct_url', 'leads to a pooler in transaction mode; it must be the address of the server itself'];
  throw new SettingsError([{ path: nameOf(path), message }]);
};

/**
 * Checks that sessions last and, behind a pooler, that both addresses lead to one database. `stopping`, of a start: wait for
 * the server, until this is aborted.
 */
export const checkConnections = async (
  settings: Addresses,
  store: Store,
  log: Logger,
  stopping: AbortSignal | undefined,
): Promise<void> => {
  const { pool, sessions } = store;
  if (stopping !== undefined) await awaitServer(pool, log, stopping);
  if (sessions === pool) return assertSessions(settings, store);
  try {
    if (stopping !== undefined) await awaitServer(sessions, log, stopping);
  } catch (error) {
    throw nameConnection(settings, error, sessionsVariable(settings));
  }
  await assertSessions(settings, store);
  const pooled = stopping === undefined ? await assertOneDatabase(store) : await awaitOneDatabase(store, log, stopping);
  assertUsualForm(pooled);
  if (stopping !== undefined && !pooled.hasTimeout)
    log.warn(
      { role: pooled.role },
      "the role has no statement_timeout, so statements outside of transactions may run for ever: alter role … set statement_timeout = '30s'",
    );
};

type PooledFacts = { role: string; hasTimeout: boolean; dates: string; literals: string };

/** Other connections name these settings when they start, which those through a pooler must not: others use its sessions too. */
const assertUsualForm = ({ role, dates, literals }: PooledFacts): void => {
  const needed = [
    ...(dates.startsWith('ISO') ? [] : [`datestyle = 'ISO, MDY' (found ${dates})`]),
    ...(literals === 'on' ? [] : [`standard_conforming_strings = on (found ${literals})`]),
  ];
  const problems = needed.map((setting) => ({
    path: nameOf('database_url'),
    message: `connections through a pooler keep the settings of their role: alter role ${role} set ${setting}`,
  }));
  if (problems.length > 0) throw new SettingsError(problems);
};

const differences = {
  database: 'leads to another database than DATABASE_URL',
  server: 'leads to another server than DATABASE_URL with the same database, such as a standby',
};

/** May pass, where a failover or a restart is the reason. */
class OtherServer extends SettingsError {}

/** Both addresses lead to the same one. Returns what the pooled connections say of it. */
const assertOneDatabase = async (store: Store): Promise<PooledFacts> => {
  const compared = await compareServers(store);
  const { differs } = compared;
  if (differs === undefined) return compared;
  const problems = [{ path: nameOf('database_direct_url'), message: differences[differs] }];
  throw differs === 'server' ? new OtherServer(problems) : new SettingsError(problems);
};

/** During a failover, or a restart of the server, one address may already lead to the new primary and the other one not yet. */
const awaitOneDatabase = (store: Store, log: Logger, stopping: AbortSignal): Promise<PooledFacts> =>
  waitForServer(() => assertOneDatabase(store), {
    log,
    signal: stopping,
    passes: (error) => error instanceof OtherServer,
    waiting: 'DATABASE_URL and DATABASE_DIRECT_URL lead to different servers now; waiting for a minute at most',
  });

/** A look of `config check`, which must not wait for a database that is down. */
const lookMsMax = 5_000;

/** Empty when sessions last, and when the database cannot be asked: a start waits for it, so that is no wrong setting. */
export const sessionProblems = async (settings: Settings, log: Logger): Promise<SettingProblem[]> => {
  if (settings.database_url === undefined) return [];
  const store = await openOwnStore(settings, log, { exclusive: false });
  try {
    await answerInTime(assertSessions(settings, store), lookMsMax);
    if (store.sessions !== store.pool) await answerInTime(assertOneDatabase(store), lookMsMax);
  } catch (error) {
    if (error instanceof SettingsError) return [...error.problems];
    const cause = error instanceof Error ? error.cause : undefined;
    if (isParameterRefused(cause)) return [{ path: nameOf('database_url'), message: connectionProblem(cause) ?? '' }];
  } finally {
    await store.close();
  }
  return [];
};
