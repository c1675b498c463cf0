/** SQL that accepts each proof once over all gateways. */
import { type Kysely, sql } from 'kysely';

/** False: it was used before. `expires`: time from which on every gateway refuses the proof as too old. */
export const markProofUsed = async (
  db: Kysely<unknown>,
  { digest, expires }: { digest: Buffer; expires: Date },
  now: Date,
): Promise<boolean> => {
  // Each insert deletes some expired rows, so the table holds a few minutes of traffic.
  const { rows } = await sql`
    with ended as (
      delete from gateway.used_proofs where ctid = any (array(
        select ctid from gateway.used_proofs where expires < ${now} order by expires limit 20 for update skip locked))
    )
    insert into gateway.used_proofs (digest, expires) values (${digest}, ${expires})
    on conflict (digest) do nothing returning 1`.execute(db);
  return rows.length > 0;
};
