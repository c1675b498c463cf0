/** SQL of pages of clients for the panel and the command line, and of the grants of one client. */
import { type Kysely, sql } from 'kysely';
import { wordsQuery } from '#src/platform/db/words-query.ts';

type Db = Kysely<unknown>;

export type ListedClientRow = {
  id: string;
  name: string;
  created: Date;
  disabled: boolean;
  quarantined: boolean;
  /** null: all. */
  scopes: string[] | null;
  tenants: number;
  lastUsed: Date | null;
};

export type ClientPlace = { created: Date; id: string };

/** The same expression as in the index of name words. */
const words = sql`to_tsvector('simple', regexp_replace(c.name, '[^[:alnum:]]+', ' ', 'g'))`;

/**
 * Newest first. `search`: a client id, the id of one of its secrets, or beginnings of words of the name; empty finds
 * all. `tenant`: only clients with a grant for it. `live`: without disabled clients.
 */
export const pageClientRows = async (
  db: Db,
  filter: { search: string; tenant?: string | undefined; live?: boolean | undefined },
  before: ClientPlace | undefined,
  limit: number,
): Promise<ListedClientRow[]> => {
  const conditions = [matching(filter.search)];
  if (filter.tenant !== undefined) {
    conditions.push(sql`exists (select 1 from gateway.client_tenants g
      where g.tenant = ${filter.tenant} and g.client_id = c.client_id and g.withdrawn_at is null)`);
  }
  if (filter.live === true) conditions.push(sql`c.disabled_at is null`);
  if (before !== undefined) conditions.push(sql`(c.created, c.client_id) < (${before.created}, ${before.id})`);
  const { rows } = await sql<ListedClientRow>`
    with page as (
      select c.client_id, c.name, c.created, c.disabled_at, c.quarantined_reason, c.scopes from gateway.clients c
      where ${sql.join(conditions, sql` and `)} order by c.created desc, c.client_id desc limit ${limit})
    select p.client_id as id, p.name, p.created, p.disabled_at is not null as disabled,
      p.quarantined_reason is not null as quarantined, p.scopes,
      (select count(*)::int from gateway.client_tenants g
       where g.client_id = p.client_id and g.withdrawn_at is null) as tenants,
      (select max(u.last_used) from gateway.credential_use u where u.credential in (
         select s.secret_id from gateway.client_secrets s where s.client_id = p.client_id and s.revoked_at is null
         union all select p.client_id
         union all select p.client_id || '/' || k.key_id from gateway.client_keys k where k.client_id = p.client_id
         union all select t.trust_id from gateway.client_trusts t where t.client_id = p.client_id)
      ) as "lastUsed"
    from page p order by p.created desc, p.client_id desc`.execute(db);
  return rows;
};

const matching = (search: string): ReturnType<typeof sql> => {
  if (search === '') return sql`true`;
  const query = wordsQuery(search);
  const ids = sql`c.client_id = ${search}
    or c.client_id = (select s.client_id from gateway.client_secrets s where s.secret_id = ${search})`;
  return query === undefined ? sql`(${ids})` : sql`(${ids} or ${words} @@ to_tsquery('simple', ${query}))`;
};

/** The client with this id, or else those with this name, ignoring case, newest first. */
export const findClientsByName = async (
  db: Db,
  { text, limit }: { text: string; limit: number },
): Promise<{ clientId: string; name: string }[]> => {
  const query = wordsQuery(text);
  // The words use the index.
  const named = query === undefined ? sql`false` : sql`${words} @@ to_tsquery('simple', ${query})`;
  const { rows } = await sql<{ clientId: string; name: string }>`
    select c.client_id as "clientId", c.name from gateway.clients c
    where c.client_id = ${text} or (${named} and lower(c.name) = lower(${text}))
    order by c.client_id = ${text} desc, c.created desc, c.client_id desc limit ${limit}`.execute(db);
  return rows[0]?.clientId === text ? rows.slice(0, 1) : rows;
};

/** Tenants of a client, sorted by id, after `after`. */
export const pageGrantRows = async (db: Db, clientId: string, after: string, limit: number): Promise<string[]> =>
  (
    await sql<{ tenant: string }>`
      select tenant from gateway.client_tenants
      where client_id = ${clientId} and withdrawn_at is null and tenant > ${after}
      order by tenant limit ${limit}`.execute(db)
  ).rows.map(({ tenant }) => tenant);

/** Scopes of a client (null: all), locked to the end of the transaction. Undefined: there is no such client. */
export const lockClientScopes = async (tx: Db, clientId: string): Promise<{ scopes: string[] | null } | undefined> =>
  (
    await sql<{ scopes: string[] | null }>`
      select scopes from gateway.clients where client_id = ${clientId} for no key update`.execute(tx)
  ).rows[0];

/** Of those clients that exist. */
export const readClientNames = async (
  db: Db,
  clientIds: readonly string[],
): Promise<{ clientId: string; name: string }[]> => {
  const { rows } = await sql<{ clientId: string; name: string }>`
    select client_id as "clientId", name from gateway.clients where client_id = any(${clientIds}::text[])
    order by name, client_id`.execute(db);
  return rows;
};
