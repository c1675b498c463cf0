/**
 * The epoch identifies a state of all credentials, and of all revoked tokens: a number and a random mark, both renewed
 * in the transaction of each change. The number sequences the changes: a process that reads number n sees every change
 * up to n. The mark distinguishes two changes with the same number, because a restored or failed-over store repeats
 * numbers.
 */
import { type Kysely, sql } from 'kysely';
import type { PoolClient } from 'pg';
import { hintAfterCommit } from '#src/platform/db/transaction.ts';

export type Epoch = {
  credentials: EpochPart;
  /** Raised by the revocation of a single token, which changes nothing else. */
  tokens: EpochPart;
  /** Identifies the database and the server process. It differs after a restart, a failover or a new database. */
  store: string;
};

export type EpochPart = { epoch: number; mark: string };

const channel = 'gateway_credentials';

/** Call it last in the transaction, because it locks the row. The hint is sent after the commit. */
export const raiseEpoch = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`update gateway.credential_epoch set epoch = epoch + 1, mark = gen_random_uuid()`.execute(tx);
  hintAfterCommit(tx, channel);
};

/** Keeps other transactions from raising a number until this one ends. */
export const lockEpoch = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`select 1 from gateway.credential_epoch for update`.execute(tx);
};

/** Returns the new state. Rows inserted with it in this transaction become visible in the sequence of the numbers. */
export const raiseTokenEpoch = async (tx: Kysely<unknown>): Promise<EpochPart> => {
  const { rows } = await sql<EpochPart>`
    update gateway.credential_epoch set token_epoch = token_epoch + 1, token_mark = gen_random_uuid()
    returning token_epoch as epoch, token_mark as mark`.execute(tx);
  hintAfterCommit(tx, channel);
  return onlyRow(rows);
};

const storeText = `concat_ws(' ', (select oid from pg_database where datname = current_database()),
  extract(epoch from pg_postmaster_start_time()))`;

/** The state of all credentials in one store as text, for a statement that reads `gateway.credential_epoch` as `e`. */
export const stateText = sql<string>`concat_ws(' ', e.epoch, e.mark, ${sql.raw(storeText)})`;

/** The same text for an epoch that was read. */
export const stateOf = ({ credentials, store }: Epoch): string => `${credentials.epoch} ${credentials.mark} ${store}`;

const readText = `select epoch, mark, token_epoch, token_mark, ${storeText} as store from gateway.credential_epoch`;

type Row = { epoch: number; mark: string; token_epoch: number; token_mark: string; store: string };

export const readEpoch = async (db: Kysely<unknown>): Promise<Epoch> =>
  epochOf((await sql<Row>`${sql.raw(readText)}`.execute(db)).rows);

/** Reads the epoch over a connection that the caller holds. */
export const readEpochOn = async (client: PoolClient): Promise<Epoch> =>
  epochOf((await client.query<Row>(readText)).rows);

export const listenOn = async (client: PoolClient): Promise<void> => {
  await client.query(`listen ${channel}`);
};

const epochOf = (rows: readonly Row[]): Epoch => {
  const { epoch, mark, token_epoch, token_mark, store } = onlyRow(rows);
  return { credentials: { epoch, mark }, tokens: { epoch: token_epoch, mark: token_mark }, store };
};

const onlyRow = <T>(rows: readonly T[]): T => {
  const row = rows[0];
  if (row === undefined) throw new Error('gateway.credential_epoch holds no row');
  return row;
};
