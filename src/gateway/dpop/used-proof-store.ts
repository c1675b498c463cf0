/** SQL that lets each proof in once, whichever gateway gets it. */
import { type Kysely, sql } from 'kysely';

/** False: it was used before. `expires`: from when on nobody would accept it any more. */
export const markProofUsed = async (
  db: Kysely<unknown>,
  { digest, expires }: { digest: Buffer; expires: Date },
  now: Date,
): Promise<boolean> => {
  // Some ended ones go with each new one, so that the table is as long as a few minutes of traffic.
  const { rows } = await sql`
    with ended as (
      delete from gateway.used_proofs where ctid = any (array(
        select ctid from gateway.used_proofs where expires < ${now} order by expires limit 20 for update skip locked))
    )
    insert into gateway.used_proofs (digest, expires) values (${digest}, ${expires})
    on conflict (digest) do nothing returning 1`.execute(db);
  return rows.length > 0;
};
