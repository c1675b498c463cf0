/**
 * How kysely sends statements here: `begin` is not waited for, and neither are earlier statements of a transaction.
 *
 * It leans on these parts of kysely 0.29; test/platform/parity/kysely.test.ts holds them:
 * - a transaction calls `beginTransaction` of the driver and sends its statements after that promise is settled;
 * - a transaction lets each statement wait for the one before, by the connection provider of its executor
 *   (`SingleConnectionProvider`), and takes the executor anew from `getExecutor()` for each statement;
 * - `withConnectionProvider` of an executor changes nothing but the provider;
 * - an executor runs a compiled query whose parameters were replaced.
 */
import {
  CompiledQuery,
  type Driver,
  PostgresDialect as PlainDialect,
  PostgresDriver as PlainDriver,
  type PostgresDialectConfig,
  type Transaction,
} from 'kysely';

/** `begin` and the first statement leave together: where `begin` fails, the connection is gone, and the statement fails too. */
class PipelinedDriver extends PlainDriver {
  readonly #preface: CompiledQuery | undefined;

  constructor(config: PostgresDialectConfig, preface: string | undefined) {
    super(config);
    this.#preface = preface === undefined ? undefined : CompiledQuery.raw(preface);
  }

  override beginTransaction(...begin: Parameters<PlainDriver['beginTransaction']>): Promise<void> {
    super.beginTransaction(...begin).catch(() => undefined);
    // Where it fails, the transaction is aborted, and so every later statement of it fails too.
    if (this.#preface !== undefined) begin[0].executeQuery(this.#preface).catch(() => undefined);
    return Promise.resolve();
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
