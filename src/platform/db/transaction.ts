/** Transactions that retry conflicts, and the classification of database errors. */
import type { IsolationLevel, Kysely, Transaction } from 'kysely';
import { isConnectFailure } from './driver/connect-failures.ts';
import { sendAtOnce } from './driver/kysely-dialect.ts';
import type { Hints } from './hints/hints.ts';

const attemptsMax = 4;
const pauseMsMax = 20;

/** `isolation`: read committed by default, since the stores lock the rows that must not change. */
export type TransactionSettings = { isolation?: IsolationLevel };

/**
 * Runs `fn` in a transaction. The transaction is retried up to three times after a serialization failure or a deadlock, so
 * `fn` may run more than once and must have no effect outside the transaction.
 */
export const inTransaction = async <T>(
  db: Kysely<unknown> & Hinting,
  fn: (tx: Transaction<unknown>) => Promise<T>,
  settings: TransactionSettings = {},
): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    const atEnd: AtEnd = { late: [], after: [], hinted: new Set(), isLast: attempt >= attemptsMax };
    try {
      const builder = db.transaction();
      const result = await (settings.isolation === undefined
        ? builder
        : builder.setIsolationLevel(settings.isolation)
      ).execute(async (tx: Transaction<unknown> & Ending) => {
        await sendAtOnce(tx);
        tx.atEnd = atEnd;
        return fn(tx);
      });
      for (const run of atEnd.after) run();
      for (const channel of atEnd.hinted) db.hints?.send(channel);
      return result;
    } catch (thrown) {
      // After a failed late write every later statement fails too; the first failure is the reason.
      const error = (await firstFailure(atEnd.late)) ?? thrown;
      if (atEnd.isLast || !isConflict(error)) throw error;
      // Two transactions in conflict would meet again if both were retried at the same moment.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMsMax * attempt));
    }
  }
};

/**
 * What a transaction waits for before its commit, what runs after it, and the channels that get a hint of it. `isLast`: it is not
 * repeated after a conflict.
 */
type AtEnd = { late: Promise<unknown>[]; after: (() => void)[]; hinted: Set<string>; isLast: boolean };

/** A query builder of `createDatabase` sends hints; one on a single connection sends none. */
type Hinting = { hints?: Hints };

/** A transaction of `inTransaction` carries its end; a connection pool has none. */
type Ending = { atEnd?: AtEnd };

/**
 * A write whose result is not needed: later statements do not wait for its answer. When it fails, `commit` fails, and so does
 * the transaction. Outside `inTransaction` the write is awaited.
 */
export const withCommit = async (tx: Kysely<unknown> & Ending, write: Promise<unknown>): Promise<void> => {
  if (tx.atEnd === undefined) await write;
  else {
    // `inTransaction` reports the failure when the transaction ends.
    write.catch(() => undefined);
    tx.atEnd.late.push(write);
  }
};

/** `run` must not throw. It is called once the transaction is committed, and never when it is rolled back. */
export const afterCommit = (tx: Kysely<unknown> & Ending, run: () => void): void => {
  tx.atEnd?.after.push(run);
};

/**
 * Listeners of the channel get a hint once the transaction is committed. A transaction that is rolled back or retried leaves
 * no hint. A crash right after the commit loses the hint, so listeners also poll (hints/hints.ts).
 */
export const hintAfterCommit = (tx: Kysely<unknown> & Ending, channel: string): void => {
  tx.atEnd?.hinted.add(channel);
};

const firstFailure = async (writes: readonly Promise<unknown>[]): Promise<unknown> =>
  (await Promise.allSettled(writes)).find((result) => result.status === 'rejected')?.reason;

const codeOf = (error: unknown): string => {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
};

/** Whether `inTransaction` repeats the transaction `tx` when it fails with `error`. */
export const isRepeated = async (tx: Kysely<unknown> & Ending, error: unknown): Promise<boolean> => {
  if (tx.atEnd === undefined || tx.atEnd.isLast) return false;
  return isConflict((await firstFailure(tx.atEnd.late)) ?? error);
};

/** PostgreSQL rolled the transaction back because of a concurrent one. A retry can succeed. */
const isConflict = (error: unknown): boolean => {
  const code = codeOf(error);
  // The partition of the row was created while the row was being written to the default partition. The bounds of a partition are a
  // constraint without a name; the message is in the language of the server.
  if (code === '23514') return error instanceof Error && Reflect.get(error, 'constraint') === undefined;
  return code === '40001' || code === '40P01';
};

/** The row exists already. */
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
  '25P04', // transaction timeout
]);

/** A statement waited for a lock for as long as it may. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03';

/** Messages of pg and its pool that carry no code. */
const messages =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end|timeout expired|Query read timeout)/;

/**
 * True when no connection could be made, whatever the reason, when one was lost, or when the database had no resources. The same
 * request may succeed later, so the answer is a 503 with Retry-After.
 */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof Error && isConnectFailure(error)) return true;
  return error instanceof AggregateError ? error.errors.some(isTransient) : isAway(error);
};

/**
 * True when the database could not be reached or had no resources; false when it refused the user, the database or TLS. SQLSTATE
 * classes 08 (connection) and 53 (resources: connections, disk, memory).
 */
export const isAway = (error: unknown): boolean => {
  if (error instanceof AggregateError) return error.errors.some(isAway);
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (isConflict(error) || networkCodes.has(code) || serverCodes.has(code)) return true;
  if (/^(08|53)[0-9A-Z]{3}$/.test(code)) return true;
  // The socket file is absent while the embedded server restarts. Other absent files have nothing to do with the database.
  if (code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect') return true;
  return messages.test(error.message);
};

/** The connection ended before the answer; also by a message of a server that stops, or of a pooler that lost the server. */
const isUnanswered = (error: unknown): boolean =>
  isTransient(error) && !(error instanceof Error && 'severity' in error && !/^(08|57P0[12])/.test(codeOf(error)));

/**
 * Sends one statement that must not be repeated once it is committed, such as one that adds to counts. False: its connection
 * ended before the answer, so it may have been committed. Rejects when it was not.
 */
export const sendOnce = async (
  db: Kysely<unknown>,
  statement: (connection: Kysely<unknown>) => Promise<void>,
): Promise<boolean> => {
  let isSent = false;
  try {
    await db.connection().execute((connection) => {
      isSent = true;
      return statement(connection);
    });
    return true;
  } catch (error) {
    if (isSent && isUnanswered(error)) return false;
    throw error;
  }
};
