/** SQL of the revocations that end a token early, and of the longest lifetime of a token. */
import { type Kysely, sql } from 'kysely';

export type TokenEnds = {
  revoked: ReadonlySet<string>;
  clients: ReadonlyMap<string, { disabled: boolean; tokensNotBefore: Date | null }>;
  /** Registered and removed ones. */
  certificates: readonly CertificateEnd[];
  /** Longest lifetime in seconds of a token that any gateway may have signed. */
  tokenSecondsMax: number;
};

export type CertificateEnd = {
  clientId: string;
  thumbprint: string;
  revoked: boolean;
  expires: Date | null;
  /** Of one that was registered again: its removal. */
  endedBefore: Date | null;
};

export const readTokenEnds = async (
  db: Kysely<unknown>,
  { tokens, clients, thumbprints }: Record<'tokens' | 'clients' | 'thumbprints', readonly string[]>,
): Promise<TokenEnds> => {
  const revoked = await sql<{ jti: string }>`
    select jti from gateway.revoked_tokens where jti = any (${tokens}::text[])`.execute(db);
  const found = await sql<{ id: string; disabled: boolean; tokensNotBefore: Date | null }>`
    select client_id as id, disabled_at is not null or not may_use_tokens as disabled,
      tokens_not_before as "tokensNotBefore"
    from gateway.clients where client_id = any (${clients}::text[])`.execute(db);
  return {
    certificates: await readCertificates(db, clients, thumbprints),
    revoked: new Set(revoked.rows.map(({ jti }) => jti)),
    clients: new Map(found.rows.map(({ id, ...row }) => [id, row])),
    tokenSecondsMax: await longestTokenSeconds(db),
  };
};

const readCertificates = async (
  db: Kysely<unknown>,
  clients: readonly string[],
  thumbprints: readonly string[],
): Promise<readonly CertificateEnd[]> => {
  if (thumbprints.length === 0) return [];
  const { rows } = await sql<CertificateEnd>`
    select client_id as "clientId", thumbprint, revoked_at is not null as revoked, expires, ended_before as "endedBefore"
    from gateway.client_certificates
    where client_id = any (${clients}::text[]) and thumbprint = any (${thumbprints}::text[])`.execute(db);
  return rows;
};

/** Longest lifetime in seconds of a token that any gateway may have signed. */
export const longestTokenSeconds = async (db: Kysely<unknown>): Promise<number> =>
  (
    await sql<{ seconds: number | null }>`
      select max(token_seconds_max) as seconds from gateway.signing_keys`.execute(db)
  ).rows[0]?.seconds ?? 0;
