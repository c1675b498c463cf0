/** Secrets and certificates of clients that end soon, for notices. */
import { type Kysely, sql } from 'kysely';

/** `id`: of a secret, or the thumbprint of a certificate. */
export type EndingCredential = {
  clientId: string;
  clientName: string;
  kind: 'secret' | 'certificate';
  id: string;
  expires: Date;
};

/**
 * Live ones whose end is after `from` and not after `to`, the next end first, without the first `skip`. While the client has another one of the kind that
 * ends later, as during a rotation, nothing needs attention.
 */
export const listEndingCredentials = async (
  db: Kysely<unknown>,
  { from, to, limit, skip }: { from: Date; to: Date; limit: number; skip: number },
): Promise<EndingCredential[]> => {
  const { rows } = await sql<EndingCredential>`
    select client.client_id as "clientId", client.name as "clientName", ending.kind, ending.id, ending.expires
    from (
      select client_id, 'certificate' as kind, thumbprint as id, expires from gateway.client_certificates one
      where revoked_at is null and expires > ${from} and expires <= ${to} and not exists (
        select from gateway.client_certificates other
        where other.client_id = one.client_id and other.revoked_at is null
          and (other.expires is null or other.expires > ${to}))
      union all
      select client_id, 'secret', secret_id, expires from gateway.client_secrets one
      where revoked_at is null and expires > ${from} and expires <= ${to} and not exists (
        select from gateway.client_secrets other
        where other.client_id = one.client_id and other.revoked_at is null and other.quarantined_reason is null
          and (other.expires is null or other.expires > ${to}))
    ) as ending join gateway.clients client on client.client_id = ending.client_id
    where client.disabled_at is null
    order by ending.expires, ending.id, ending.client_id limit ${limit} offset ${skip}`.execute(db);
  return rows;
};
