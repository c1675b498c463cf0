/** SQL that accepts each client assertion once over all gateways. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

/** False: it was used before. `expires`: time from which on every gateway refuses it as too old. */
export const markAssertionUsed = async (
  db: Db,
  assertion: { clientId: string; jti: string; expires: Date },
  now: Date,
): Promise<boolean> => {
  const { clientId, jti, expires } = assertion;
  // Each insert deletes some expired rows, so the table holds five minutes of traffic.
  const { rows } = await sql`
    with ended as (
      delete from gateway.used_assertions where ctid = any (array(
        select ctid from gateway.used_assertions where expires < ${now} order by expires limit 20 for update skip locked))
    )
    insert into gateway.used_assertions (client_id, jti, expires) values (${clientId}, ${jti}, ${expires})
    on conflict (client_id, jti) do nothing returning 1`.execute(db);
  return rows.length > 0;
};
