/** SQL that bounds how many tokens come of one by exchange, over all gateways. */
import { type Kysely, sql } from 'kysely';

/** False, and nothing is counted: `max` were counted before. `expires`: end of the token `jti`, and of all that come of it. */
export const countExchange = async (
  db: Kysely<unknown>,
  { jti, expires }: { jti: string; expires: Date },
  max: number,
  now: Date,
): Promise<boolean> => {
  // Each insert deletes some ended rows, so the table holds the tokens that live now.
  const { rows } = await sql`
    with ended as (
      delete from gateway.token_exchanges where ctid = any (array(
        select ctid from gateway.token_exchanges
        where expires < ${now}::timestamptz - interval '1 hour' and root_jti <> ${jti}
        order by expires limit 20 for update skip locked))
    )
    insert into gateway.token_exchanges (root_jti, exchanged, expires) values (${jti}, 1, ${expires})
    on conflict (root_jti) do update set exchanged = token_exchanges.exchanged + 1
    where token_exchanges.exchanged < ${max} returning 1`.execute(db);
  return rows.length > 0;
};
