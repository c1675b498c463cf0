/** SQL that finds in the audit who added public keys and certificates. */
import { type Kysely, sql } from 'kysely';

/** chosen: the newest additions of all clients that are looked through, of each kind. */
const additionsMax = 5_000;

/** Names (clientKeyName) of the public keys and certificates of a client that `actor` added, also of those that have ended. */
export const findAddedBy = async (
  db: Kysely<unknown>,
  clientId: string,
  actor: string,
): Promise<ReadonlySet<string>> => {
  // Along audit_events_action, since a client has many events of requests and few of these.
  const { rows } = await sql<{ name: string }>`
    with added as materialized (
      (select credential_id, client_id, actor from gateway.audit_events where action = 'client_key.added'
        order by at desc limit ${additionsMax})
      union all
      (select credential_id, client_id, actor from gateway.audit_events where action = 'client_certificate.added'
        order by at desc limit ${additionsMax})
    )
    select credential_id as name from added
    where client_id = ${clientId} and actor = ${actor} and credential_id is not null`.execute(db);
  return new Set(rows.map(({ name }) => name));
};
