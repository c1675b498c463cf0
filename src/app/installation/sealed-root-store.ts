/** The root of the installation as it is stored: sealed once by each master key that opens it. */
import { type Kysely, sql } from 'kysely';
import type { Session } from '#src/platform/db/driver/session.ts';

const prefix = 'sealed_root/';

/** Starts and rotations pass one after the other until the transaction ends. */
export const lockRoot = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtext('platform.sealed_root'))`.execute(tx);
};

/** Holds until the connection ends. False: another connection has it. */
export const takeRotationLock = async (client: Session['client']): Promise<boolean> => {
  const { rows } = await client.query<{ taken: boolean }>(
    `select pg_try_advisory_lock(hashtext('platform.master_key_rotation')) as taken`,
  );
  return rows[0]?.taken === true;
};

/** By the id of the master key. Facts, and no table of their own, because a start may meet a schema without it. */
export const listSealed = async (db: Kysely<unknown>): Promise<ReadonlyMap<string, Buffer>> => {
  const { rows } = await sql<{ key: string; sealed: string }>`
    select substr(name, ${prefix.length + 1}) as key, value as sealed from platform.facts
    where starts_with(name, ${prefix}) order by name`.execute(db);
  return new Map(rows.map(({ key, sealed }) => [key, Buffer.from(sealed, 'base64')]));
};

/** The ids of the master keys that open the root, for a statement of another table. */
export const sealedIds = sql<string[]>`
  array(select substr(name, ${prefix.length + 1}) from platform.facts where starts_with(name, ${prefix}) order by name)`;

export const insertSealed = async (tx: Kysely<unknown>, key: string, sealed: Buffer): Promise<void> => {
  await sql`insert into platform.facts (name, value) values (${prefix + key}, ${sealed.toString('base64')})`.execute(
    tx,
  );
};

export const deleteSealed = async (tx: Kysely<unknown>, key: string): Promise<void> => {
  await sql`delete from platform.facts where name = ${prefix + key}`.execute(tx);
};
