/**
 * What says which state of all credentials, and of all revoked tokens, is meant: a number that is raised in the transaction
 * of each change, and a random value that comes with it. The number puts the changes in one line: a process that reads number n
 * sees every change up to n. The random value tells two changes with one number apart, as a store that was restored or
 * failed over gives a number a second time.
 */
import { type Kysely, sql } from 'kysely';
import type { PoolClient } from 'pg';

export type Epoch = {
  credentials: EpochPart;
  /** Raised by revocations of single tokens, which leave everything else as it is. */
  tokens: EpochPart;
  /** Which database of which server answered: it is another one after a restart, a failover or a database made anew. */
  store: string;
};

export type EpochPart = { epoch: number; mark: string };

const channel = 'gateway_credentials';

/** Call last in the transaction: the row stays locked until it ends. The notification leaves with the commit. */
export const raiseEpoch = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`update gateway.credential_epoch set epoch = epoch + 1, mark = gen_random_uuid()`.execute(tx);
  await sql`select pg_notify(${channel}, '')`.execute(tx);
};

/** Until the transaction ends no other one raises a number. */
export const lockEpoch = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`select 1 from gateway.credential_epoch for update`.execute(tx);
};

/** Returns the new state. What is inserted with it in this transaction becomes visible in the sequence of the numbers. */
export const raiseTokenEpoch = async (tx: Kysely<unknown>): Promise<EpochPart> => {
  const { rows } = await sql<EpochPart>`
    update gateway.credential_epoch set token_epoch = token_epoch + 1, token_mark = gen_random_uuid()
    returning token_epoch as epoch, token_mark as mark`.execute(tx);
  await sql`select pg_notify(${channel}, '')`.execute(tx);
  return onlyRow(rows);
};

const storeText = `concat_ws(' ', (select oid from pg_database where datname = current_database()),
  extract(epoch from pg_postmaster_start_time()))`;

/** One text for one state of all credentials in one store, for a statement that reads `gateway.credential_epoch` as `e`. */
export const stateText = sql<string>`concat_ws(' ', e.epoch, e.mark, ${sql.raw(storeText)})`;

/** The same, of what was read before. */
export const stateOf = ({ credentials, store }: Epoch): string => `${credentials.epoch} ${credentials.mark} ${store}`;

const readText = `select epoch, mark, token_epoch, token_mark, ${storeText} as store from gateway.credential_epoch`;

type Row = { epoch: number; mark: string; token_epoch: number; token_mark: string; store: string };

export const readEpoch = async (db: Kysely<unknown>): Promise<Epoch> =>
  epochOf((await sql<Row>`${sql.raw(readText)}`.execute(db)).rows);

/** The same over a connection that the caller holds. */
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
