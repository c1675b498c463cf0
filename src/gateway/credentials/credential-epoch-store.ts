/**
 * The numbers that say which state of all credentials, and of all revoked tokens, is meant. One is raised in the
 * transaction of each change, which also puts the changes in one line: whoever reads number n sees every change up to n.
 */
import { type Kysely, sql } from 'kysely';
import type { PoolClient } from 'pg';

/** `tokens`: raised by revocations of single tokens, which leave everything else as it is. */
export type Epoch = { credentials: number; tokens: number };

const channel = 'gateway_credentials';

/** Call last in the transaction: the row stays locked until it ends. The notification leaves with the commit. */
export const raiseEpoch = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`update gateway.credential_epoch set epoch = epoch + 1`.execute(tx);
  await sql`select pg_notify(${channel}, '')`.execute(tx);
};

/** Returns the new number. What is inserted with it in this transaction becomes visible in the sequence of the numbers. */
export const raiseTokenEpoch = async (tx: Kysely<unknown>): Promise<number> => {
  const { rows } = await sql<{ epoch: number }>`
    update gateway.credential_epoch set token_epoch = token_epoch + 1 returning token_epoch as epoch`.execute(tx);
  await sql`select pg_notify(${channel}, '')`.execute(tx);
  const epoch = rows[0]?.epoch;
  if (epoch === undefined) throw new Error('gateway.credential_epoch holds no row');
  return epoch;
};

const readText = 'select epoch as credentials, token_epoch as tokens from gateway.credential_epoch';

export const readEpoch = async (db: Kysely<unknown>): Promise<Epoch> =>
  epochOf(
    (await sql<Epoch>`select epoch as credentials, token_epoch as tokens from gateway.credential_epoch`.execute(db))
      .rows,
  );

/** The same over a connection that the caller holds. */
export const readEpochOn = async (client: PoolClient): Promise<Epoch> =>
  epochOf((await client.query<Epoch>(readText)).rows);

export const listenOn = async (client: PoolClient): Promise<void> => {
  await client.query(`listen ${channel}`);
};

const epochOf = (rows: readonly Epoch[]): Epoch => {
  const epoch = rows[0];
  if (epoch === undefined) throw new Error('gateway.credential_epoch holds no row');
  return epoch;
};
