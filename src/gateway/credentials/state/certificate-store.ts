/** SQL of the certificates that clients prove themselves by (RFC 8705). */
import { type Kysely, sql } from 'kysely';
import { lockClient } from './state-store.ts';

type Db = Kysely<unknown>;

export type NewCertificateRow = {
  clientId: string;
  /** SHA-256 of the DER form as base64url. */
  thumbprint: string;
  /** For people; '' when only the thumbprint is known. */
  subject: string;
  created: Date;
  expires: Date | null;
};

const changed = async (statement: ReturnType<typeof sql>, db: Db): Promise<boolean> =>
  ((await statement.execute(db)).numAffectedRows ?? 0n) > 0n;

/** False when it is registered already. One that was removed is registered again, and keeps the time of its removal. */
export const insertCertificate = (tx: Db, row: NewCertificateRow): Promise<boolean> =>
  changed(
    sql`insert into gateway.client_certificates as old (client_id, thumbprint, subject, created, expires)
        values (${row.clientId}, ${row.thumbprint}, ${row.subject}, ${row.created}, ${row.expires})
        on conflict (client_id, thumbprint) do update
        set subject = excluded.subject, created = excluded.created, expires = excluded.expires, ended_before = old.revoked_at,
          revoked_at = null
        where old.revoked_at is not null`,
    tx,
  );

export const markCertificateRevoked = (tx: Db, clientId: string, thumbprint: string, now: Date): Promise<boolean> =>
  changed(
    sql`update gateway.client_certificates set revoked_at = coalesce(revoked_at, ${now})
        where client_id = ${clientId} and thumbprint = ${thumbprint}`,
    tx,
  );

/** Remembers the `kept` certificates that were removed last. */
export const forgetOldestRemoved = async (tx: Db, clientId: string, kept: number): Promise<void> => {
  await sql`
    delete from gateway.client_certificates where client_id = ${clientId} and thumbprint in (
      select thumbprint from gateway.client_certificates where client_id = ${clientId} and revoked_at is not null
      order by revoked_at desc, thumbprint offset ${kept})`.execute(tx);
};

/** Locks the client, so that two additions at once do not exceed the bound. Undefined: there is no such client. */
export const countCertificates = async (tx: Db, clientId: string): Promise<number | undefined> => {
  if (!(await lockClient(tx, clientId))) return undefined;
  const counted = await sql<{ count: number }>`
    select count(*)::integer as count from gateway.client_certificates
    where client_id = ${clientId} and revoked_at is null`.execute(tx);
  return counted.rows[0]?.count ?? 0;
};

/** `name`: see state/certificate-name.ts; null: none. */
export const updateCertificateName = (tx: Db, clientId: string, name: string | null): Promise<boolean> =>
  changed(sql`update gateway.clients set certificate_name = ${name} where client_id = ${clientId}`, tx);

export const updateCertificateRequired = (tx: Db, clientId: string, isRequired: boolean): Promise<boolean> =>
  changed(sql`update gateway.clients set certificate_required = ${isRequired} where client_id = ${clientId}`, tx);
