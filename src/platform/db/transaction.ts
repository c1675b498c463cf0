/** One unit of work: everything in it is committed, or nothing is. Also tells a passing trouble from a real fault. */
import type { IsolationLevel, Kysely, Transaction } from 'kysely';

const attemptsMax = 4;
const pauseMsMax = 20;

/** Read committed unless said otherwise: the stores take row locks for what must not change under them. */
export type TransactionSettings = { isolation?: IsolationLevel };

/**
 * Runs `fn` in a transaction. Serialization failures and deadlocks are repeated up to three times, so `fn` may run
 * more than once: it must have no effect outside the transaction.
 */
export const inTransaction = async <T>(
  db: Kysely<unknown>,
  fn: (tx: Transaction<unknown>) => Promise<T>,
  settings: TransactionSettings = {},
): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    const late: Promise<unknown>[] = [];
    const after: (() => void)[] = [];
    try {
      const builder = db.transaction();
      const result = await (settings.isolation === undefined
        ? builder
        : builder.setIsolationLevel(settings.isolation)
      ).execute(async (tx) => {
        await sendAtOnce(tx);
        lateOf.set(tx, late);
        afterOf.set(tx, after);
        return fn(tx);
      });
      for (const run of after) run();
      return result;
    } catch (thrown) {
      // What a late write broke, everything behind it only repeats.
      const error = (await firstFailure(late)) ?? thrown;
      if (attempt >= attemptsMax || !isConflict(error)) throw error;
      // Two transactions that met once would meet again if both came back at the same moment.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMsMax * attempt));
    }
  }
};

/**
 * The builder lets a statement of a transaction wait for the answers to those before it. Here each is handed to the driver
 * when it is executed: the order in which they are executed is the order in which the server takes them.
 */
const sendAtOnce = async (tx: Transaction<unknown>): Promise<void> => {
  const waiting = tx.getExecutor();
  const connection = await waiting.provideConnection(async (only) => only);
  const executor = waiting.withConnectionProvider({ provideConnection: (use) => use(connection) });
  tx.getExecutor = () => executor;
};

const lateOf = new WeakMap<Kysely<unknown>, Promise<unknown>[]>();

/**
 * A write whose answer tells nothing: it is sent, and what follows need not wait for it. One that fails fails the
 * transaction, since `commit` comes behind it. Outside of `inTransaction` it is waited for.
 */
export const withCommit = async (tx: Kysely<unknown>, write: Promise<unknown>): Promise<void> => {
  const late = lateOf.get(tx);
  if (late === undefined) await write;
  else {
    // Heard of by whoever commits.
    write.catch(() => undefined);
    late.push(write);
  }
};

const afterOf = new WeakMap<Kysely<unknown>, (() => void)[]>();

/** `run` must not throw. It is called once the transaction is committed, and never when it is rolled back. */
export const afterCommit = (tx: Kysely<unknown>, run: () => void): void => {
  afterOf.get(tx)?.push(run);
};

const firstFailure = async (writes: readonly Promise<unknown>[]): Promise<unknown> =>
  (await Promise.allSettled(writes)).find((result) => result.status === 'rejected')?.reason;

const codeOf = (error: unknown): string => {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
};

/** PostgreSQL rolled the transaction back because of another one; the same work can succeed now. */
const isConflict = (error: unknown): boolean => {
  const code = codeOf(error);
  // The row was on its way to the default partition when the partition that it belongs to was made.
  if (code === '23514') return error instanceof Error && error.message.endsWith('violates partition constraint');
  return code === '40001' || code === '40P01';
};

/** What was to be added is there already. */
export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === '23505';

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

const serverCodes = new Set([
  '57P01', // the server is shutting down
  '57P02', // another backend crashed
  '57P03', // the server is starting up or recovering
  '57P05', // idle session ended
  '57014', // statement timeout
  '55P03', // lock timeout
  '25006', // read-only: a standby that has not been promoted yet
  '25P03', // idle in transaction ended
]);

/** Messages of pg and its pool that carry no code. */
const messages =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end|timeout expired|Query read timeout)/;

/**
 * True when the trouble lies with reaching the database, not with the statement: the same request may succeed later,
 * which is a 503 with Retry-After. SQLSTATE classes 08 (connection) and 53 (resources: connections, disk, memory).
 */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof AggregateError) return error.errors.some(isTransient);
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (isConflict(error) || networkCodes.has(code) || serverCodes.has(code)) return true;
  if (/^(08|53)[0-9A-Z]{3}$/.test(code)) return true;
  // The socket file is absent while our own server restarts. Other files that are absent are no matter of the database.
  if (code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect') return true;
  return messages.test(error.message);
};
