/**
 * How kysely sends statements here: `begin` is not waited for, and neither are earlier statements of a transaction.
 *
 * It leans on these parts of kysely 0.29; test/platform/parity/kysely.test.ts holds them:
 * - a transaction calls `beginTransaction` of the driver and sends its statements after that promise is settled;
 * - a transaction lets each statement wait for the one before, by the connection provider of its executor
 *   (`SingleConnectionProvider`), and takes the executor anew from `getExecutor()` for each statement;
 * - a transaction whose commit fails sends `rollback`, and a connection whose rollback fails is closed when it is released;
 * - `withConnectionProvider` of an executor changes nothing but the provider;
 * - an executor runs a compiled query whose parameters were replaced.
 */
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect as PlainDialect,
  PostgresDriver as PlainDriver,
  type PostgresDialectConfig,
  type Transaction,
} from 'kysely';

/**
 * `begin` and the statements of the same turn leave in one write. PostgreSQL may refuse `begin` and keep the connection, for
 * instance when `pg_cancel_backend` or a timeout hits it. Each statement after it would then be committed alone, so from the
 * answer to `begin` on the connection sends nothing more: the rest of the transaction fails with the same error, and kysely
 * closes the connection, because `rollback` fails too.
 *
 * What remains: statements that left before this answer are carried out, each alone. The answer to `begin` comes before the
 * answer to the first statement, so these are the first statement and those that are sent without waiting for it. To exclude
 * them too, each transaction would have to wait for one more round trip.
 */
class PipelinedDriver extends PlainDriver {
  readonly #preface: CompiledQuery | undefined;
  readonly #begun = new WeakMap<DatabaseConnection, Promise<void>>();

  constructor(config: PostgresDialectConfig, preface: string | undefined) {
    super(config);
    this.#preface = preface === undefined ? undefined : CompiledQuery.raw(preface);
  }

  override beginTransaction(...begin: Parameters<PlainDriver['beginTransaction']>): Promise<void> {
    const [connection, settings] = begin;
    // Not that of the server or the role: the stores are written for it.
    const isolationLevel = settings.isolationLevel ?? 'read committed';
    const begun = super.beginTransaction(connection, { ...settings, isolationLevel }).catch((error: unknown) => {
      connection.executeQuery = () => Promise.reject(error);
      throw error;
    });
    // The commit or the rollback reports it.
    begun.catch(() => undefined);
    this.#begun.set(connection, begun);
    // Where it fails, the transaction is aborted, and so every later statement of it fails too.
    if (this.#preface !== undefined) connection.executeQuery(this.#preface).catch(() => undefined);
    return Promise.resolve();
  }

  /** `commit` does not wait for `begin`: where there is no transaction, it changes nothing. */
  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await super.commitTransaction(connection);
    await this.#begun.get(connection);
  }

  /** A `rollback` that left before `begin` was refused would succeed, and the pool would keep a connection that sends nothing. */
  override async rollbackTransaction(connection: Parameters<PlainDriver['rollbackTransaction']>[0]): Promise<void> {
    await this.#begun.get(connection)?.catch(() => undefined);
    await super.rollbackTransaction(connection);
  }
}

/**
 * The PostgreSQL dialect with the pipelined driver. `preface`: statements without parameters that follow `begin` in each
 * transaction, in the same write.
 */
export class PipelinedDialect extends PlainDialect {
  readonly #config: PostgresDialectConfig;
  readonly #preface: string | undefined;

  constructor(config: PostgresDialectConfig, preface?: string) {
    super(config);
    this.#config = config;
    this.#preface = preface;
  }

  override createDriver(): Driver {
    return new PipelinedDriver(this.#config, this.#preface);
  }
}

/** Lets each statement of a transaction go to the driver when it is executed, so the server gets them in that order. */
export const sendAtOnce = async (tx: Transaction<unknown>): Promise<void> => {
  const waiting = tx.getExecutor();
  const connection = await waiting.provideConnection(async (only) => only);
  const executor = waiting.withConnectionProvider({ provideConnection: (use) => use(connection) });
  tx.getExecutor = () => executor;
};
