/**
 * The number that says which state of all credentials is meant. It is raised in the transaction of each change, which
 * also puts the changes in one line: whoever reads number n sees every change up to n.
 */
import { type Kysely, sql } from 'kysely';
import type { PoolClient } from 'pg';

const channel = 'gateway_credentials';

/** Call last in the transaction: the row stays locked until it ends. The notification leaves with the commit. */
export const raiseEpoch = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`update gateway.credential_epoch set epoch = epoch + 1`.execute(tx);
  await sql`select pg_notify(${channel}, '')`.execute(tx);
};

const readText = 'select epoch from gateway.credential_epoch';

export const readEpoch = async (db: Kysely<unknown>): Promise<number> =>
  epochOf((await sql<{ epoch: number }>`select epoch from gateway.credential_epoch`.execute(db)).rows);

/** The same over a connection that the caller holds. */
export const readEpochOn = async (client: PoolClient): Promise<number> =>
  epochOf((await client.query<{ epoch: number }>(readText)).rows);

export const listenOn = async (client: PoolClient): Promise<void> => {
  await client.query(`listen ${channel}`);
};

const epochOf = (rows: readonly { epoch: number }[]): number => {
  const epoch = rows[0]?.epoch;
  if (epoch === undefined) throw new Error('gateway.credential_epoch holds no row');
  return epoch;
};
