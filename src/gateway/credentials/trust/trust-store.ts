/** SQL of the issuers that clients trust. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type TrustRow = {
  trustId: string;
  clientId: string;
  issuer: string;
  subject: string;
  audience: string;
  /** Null: found by discovery. */
  jwksUri: string | null;
  /** An assertion with a `jti` may be used until it expires. */
  reusable: boolean;
};

export type ListedTrust = TrustRow & { created: Date; removed: boolean };

const columns = sql`trust_id as "trustId", client_id as "clientId", issuer, subject, audience, jwks_uri as "jwksUri", reusable`;

/** False: the client trusts exactly that already. */
export const insertTrust = async (tx: Db, trust: TrustRow, created: Date): Promise<boolean> =>
  ((
    await sql`
      insert into gateway.client_trusts (trust_id, client_id, issuer, subject, audience, jwks_uri, reusable, created)
      values (${trust.trustId}, ${trust.clientId}, ${trust.issuer}, ${trust.subject}, ${trust.audience}, ${trust.jwksUri},
        ${trust.reusable}, ${created})
      on conflict (issuer, subject, audience, client_id) where removed_at is null do nothing`.execute(tx)
  ).numAffectedRows ?? 0n) > 0n;

/** Serialises the additions to one client, so that their number stays bounded. Returns the number of live ones. */
export const countTrusts = async (tx: Db, clientId: string): Promise<number> => {
  await sql`select 1 from gateway.clients where client_id = ${clientId} for no key update`.execute(tx);
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from gateway.client_trusts
    where client_id = ${clientId} and removed_at is null`.execute(tx);
  return rows[0]?.count ?? 0;
};

/** False: the client has no such live trust. */
export const markTrustRemoved = async (tx: Db, clientId: string, trustId: string, now: Date): Promise<boolean> =>
  ((
    await sql`
      update gateway.client_trusts set removed_at = ${now}
      where client_id = ${clientId} and trust_id = ${trustId} and removed_at is null`.execute(tx)
  ).numAffectedRows ?? 0n) > 0n;

/** Oldest first, with removed ones. */
export const listTrusts = async (db: Db, clientId: string): Promise<ListedTrust[]> =>
  (
    await sql<ListedTrust>`
      select ${columns}, created, removed_at is not null as removed from gateway.client_trusts
      where client_id = ${clientId} order by created, trust_id`.execute(db)
  ).rows;

export type TrustQuery = {
  /** Undefined: of any client. */
  clientId: string | undefined;
  issuer: string;
  subject: string;
  audiences: readonly string[];
};

/** Trusts of a client that was disabled stay, and count for nothing. */
const isLive = sql`removed_at is null and exists (
  select from gateway.clients owner where owner.client_id = client_trusts.client_id and owner.disabled_at is null)`;

/** Live trusts in exactly these claims, at most two. */
export const findTrusts = async (db: Db, { clientId, issuer, subject, audiences }: TrustQuery): Promise<TrustRow[]> =>
  (
    await sql<TrustRow>`
      select ${columns} from gateway.client_trusts
      where ${isLive} and issuer = ${issuer} and subject = ${subject} and audience = any(${[...audiences]}::text[])
        and (${clientId ?? null}::text is null or client_id = ${clientId ?? null})
      limit 2`.execute(db)
  ).rows;

/** A live trust in the same issuer, if possible in the same subject: it names the keys, and what differs. */
export const findNearTrust = async (
  db: Db,
  { clientId, issuer, subject }: Omit<TrustQuery, 'audiences'>,
): Promise<TrustRow | undefined> => {
  const ofIssuer = sql`
    select ${columns} from gateway.client_trusts
    where ${isLive} and issuer = ${issuer}
      and (${clientId ?? null}::text is null or client_id = ${clientId ?? null})`;
  const { rows } = await sql<TrustRow>`
    (${ofIssuer} and subject = ${subject} limit 1) union all (${ofIssuer} limit 1) limit 1`.execute(db);
  return rows[0];
};
