/**
 * Moves the data of the embedded store to a database of a server: schema by migrations, rows by COPY, compared on both sides. The
 * program must be stopped, and commands that run meanwhile can only read. The embedded store is marked before the rows are committed
 * there, so that it is not started by mistake, also when this command is killed after that.
 */
import { resolve } from 'node:path';
import { appendChange, copyExternalHeads } from '#src/gateway/index.ts';
import {
  addressProblem,
  connectionProblem,
  isParameterRefused,
  withoutPassword,
} from '#src/platform/db/database-address.ts';
import { connectForCopy } from '#src/platform/db/driver/copy.ts';
import { isTransactionPooled } from '#src/platform/db/driver/find-pooler.ts';
import { hasCluster } from '#src/platform/db/embedded/home.ts';
import { databaseName, openStore, type Store, serverIdentity } from '#src/platform/db/index.ts';
import {
  type CopiedDatabase,
  CopyError,
  type CopySettings,
  copyDatabase,
} from '#src/platform/db/schema/copy-database.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { MigrationError } from '#src/platform/db/schema/pending.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { actorName } from '../admin/actor-name.ts';
import { type Installation, openInstallation } from '../installation/installation.ts';
import { allMigrations } from '../installation/migrations.ts';
import { markMoved, markMoving, readMoved, readMoving, unmarkMoved } from '../installation/moved-store.ts';
import type { Settings } from '../settings/config.ts';

export type MoveRequest = {
  /** `postgresql://…` of the role that owns the schema, or will. */
  to: string;
  signal: AbortSignal;
  /** 0 to 100. */
  onPercent(percent: number): void;
};

export type Moved = CopiedDatabase & { to: string };

/** CopyError, with the embedded store unchanged, when the target cannot be used. EmbeddedError DATA_DIR_IN_USE while a program runs. */
export const moveStore = async (settings: Settings, log: Logger, request: MoveRequest): Promise<Moved> => {
  refuseServer(settings);
  const problem = addressProblem(request.to);
  if (problem !== undefined) throw new CopyError(`the address of the target ${problem}`);
  const to = withoutPassword(request.to);
  const dataDir = resolve(settings.data_dir);
  return withEmbedded(settings, log, async (installation) => {
    const moved = await readMoved(installation.store.db);
    if (moved !== undefined) throw new CopyError(`this store was moved before, to ${moved}`);
    const target = await openStore(
      { dataDir, databaseUrl: request.to, applicationName: 'orderpass move', poolMax: 2 },
      log,
      { exclusive: false },
    );
    try {
      await assertTarget(installation.store, target);
      await makeSchema(target.pool, log);
      await record(installation, { to });
      const database = await databaseName(target.db);
      const copied = await copyRows(installation.store, target, request, async (commit) => {
        await copyExternalHeads(installation.box, { dataDir, database });
        await markMoving(installation.store.db, to, installation.clock.now());
        await commit();
        await markMoved(installation.store.db, to, installation.clock.now());
      });
      return { to, ...copied };
    } finally {
      await target.close();
    }
  });
};

/** Makes the embedded store usable again after a move, also one that did not reach its end. Returns where. CopyError when it was not moved. */
export const undoMove = (settings: Settings, log: Logger): Promise<string> => {
  refuseServer(settings);
  return withEmbedded(settings, log, async (installation) => {
    const { db } = installation.store;
    const moved = (await readMoved(db)) ?? (await readMoving(db));
    if (moved === undefined) throw new CopyError('this store was not moved');
    await record(installation, { undone: moved });
    await unmarkMoved(db);
    return moved;
  });
};

/** CopyError where the role of the target may not make the schema: the role of a server, by its DATABASE_URL, may not. */
const makeSchema = async (pool: Store['pool'], log: Logger): Promise<void> => {
  try {
    await migrate(pool, allMigrations, { log });
  } catch (error) {
    if (!(error instanceof MigrationError) || error.code !== 'MIGRATION_DENIED') throw error;
    throw new CopyError(
      'the role of the address may not make the schema in the database of the target: give the address with the role that owns the database',
      { cause: error },
    );
  }
};

const refuseServer = (settings: Settings): void => {
  if (settings.database_url !== undefined)
    throw new CopyError(
      'DATABASE_URL is set: a move begins at the embedded store. Unset it for this command; between servers, use pg_dump',
    );
};

const withEmbedded = async <T>(
  settings: Settings,
  log: Logger,
  run: (installation: Installation) => Promise<T>,
): Promise<T> => {
  const dataDir = resolve(settings.data_dir);
  if (!hasCluster(dataDir)) throw new CopyError(`there is no embedded store in ${dataDir} (ORDERPASS_DATA_DIR)`);
  const installation = await openInstallation({ ...settings, migrate: 'auto' }, log, {
    exclusive: true,
    soleWriter: true,
    isMoved: true,
  });
  try {
    return await run(installation);
  } finally {
    await installation.store.close();
  }
};

/** Its settings of a session would stay on connections that others get, and its transaction might run without them. */
const pooledTarget =
  'the target is behind a pooler in transaction mode: give the address of the server itself for the move, and that of the pooler to the program afterwards';

const assertTarget = async (source: Store, target: Store): Promise<void> => {
  const here = await serverIdentity(source.pool);
  const there = await serverIdentity(target.pool).catch((error: unknown) => {
    if (isParameterRefused(error)) throw new CopyError(pooledTarget);
    const reason = connectionProblem(error);
    throw reason === undefined ? error : new CopyError(`the target cannot be used: ${reason}`);
  });
  if (await isTransactionPooled(target.pool)) throw new CopyError(pooledTarget);
  if (here.system === there.system)
    throw new CopyError('the target is the embedded store itself, or a copy of it: name a database of a server');
  if (there.encoding !== 'UTF8')
    throw new CopyError(`the target has the encoding ${there.encoding}: make a database with the encoding UTF8`);
};

const record = ({ store, box, clock }: Installation, details: { to: string } | { undone: string }): Promise<void> =>
  inTransaction(store.db, (tx) =>
    appendChange(tx, box, clock.now(), {
      action: 'store.moved',
      actor: actorName(),
      details: JSON.stringify(details),
    }),
  );

const copyRows = async (
  from: Store,
  to: Store,
  { signal, onPercent }: MoveRequest,
  complete: CopySettings['complete'],
): Promise<CopiedDatabase> => {
  const source = await connectForCopy(from.connection, { applicationName: 'orderpass move' });
  try {
    const target = await connectForCopy(to.connection, { applicationName: 'orderpass move' });
    try {
      return await copyDatabase(source, target, { migrations: allMigrations, signal, onPercent, complete });
    } finally {
      await target.end().catch(() => undefined);
    }
  } finally {
    await source.end().catch(() => undefined);
  }
};
