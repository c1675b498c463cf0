/** Accounts in PostgreSQL, with the restaurants of owners and the API clients of contacts. */
import { type Kysely, sql } from 'kysely';
import type { Role } from './role.ts';

export type UserRow = {
  id: string;
  email: string;
  role: Role;
  language: string | undefined;
  restaurants: readonly string[];
  /** Ids of API clients. */
  clients: readonly string[];
  password: string | undefined;
  disabledAt: Date | undefined;
  createdAt: Date;
  /** Sealed. */
  totpSecret: Buffer | undefined;
  totpSince: Date | undefined;
  /** The role needs a second factor. */
  factorRequired: boolean;
  /** How many there are. */
  passkeys: number;
  oidcIssuer: string | undefined;
  oidcSubject: string | undefined;
};

type Row = {
  id: string;
  email: string;
  role: Role;
  language: string | null;
  restaurants: string[];
  clients: string[];
  password: string | null;
  disabled_at: Date | null;
  created_at: Date;
  totp_secret: Buffer | null;
  totp_since: Date | null;
  factor_required: boolean;
  passkeys: number;
  oidc_issuer: string | null;
  oidc_subject: string | null;
};

const columns = sql`
  u.id, u.email, u.role, u.language, u.password, u.disabled_at, u.created_at, u.totp_secret, u.totp_since,
  u.oidc_issuer, u.oidc_subject,
  (select count(*)::int from panel.passkeys p where p.user_id = u.id) as passkeys,
  exists(select 1 from panel.second_factor_roles f where f.role = u.role) as factor_required,
  array(select restuid from panel.user_restaurants r where r.user_id = u.id order by restuid) as restaurants,
  array(select client_id from panel.user_clients c where c.user_id = u.id order by client_id) as clients`;

const toUser = (row: Row): UserRow => ({
  id: row.id,
  email: row.email,
  role: row.role,
  language: row.language ?? undefined,
  restaurants: row.restaurants,
  clients: row.clients,
  password: row.password ?? undefined,
  disabledAt: row.disabled_at ?? undefined,
  createdAt: row.created_at,
  totpSecret: row.totp_secret ?? undefined,
  totpSince: row.totp_since ?? undefined,
  factorRequired: row.factor_required,
  passkeys: row.passkeys,
  oidcIssuer: row.oidc_issuer ?? undefined,
  oidcSubject: row.oidc_subject ?? undefined,
});

/** False: a user with this email exists. */
export const insertUser = async (
  tx: Kysely<unknown>,
  user: { id: string; email: string; role: Role; createdAt: Date },
): Promise<boolean> => {
  const { rows } = await sql`
    insert into panel.users (id, email, role, created_at) values (${user.id}, ${user.email}, ${user.role}, ${user.createdAt})
    on conflict (email) do nothing returning id`.execute(tx);
  return rows.length > 0;
};

export const findUser = async (db: Kysely<unknown>, id: string): Promise<UserRow | undefined> => {
  const { rows } = await sql<Row>`select ${columns} from panel.users u where u.id = ${id}`.execute(db);
  return rows[0] && toUser(rows[0]);
};

/** `email` in lower case. */
export const findUserByEmail = async (db: Kysely<unknown>, email: string): Promise<UserRow | undefined> => {
  const { rows } = await sql<Row>`select ${columns} from panel.users u where u.email = ${email}`.execute(db);
  return rows[0] && toUser(rows[0]);
};

/** By user id. */
export const findEmails = async (db: Kysely<unknown>, ids: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await sql<{ id: string; email: string }>`
    select id, email from panel.users where id = any (${[...ids]}::text[])`.execute(db);
  return new Map(rows.map(({ id, email }) => [id, email]));
};

/** Locks the user until the transaction ends. */
export const lockUser = async (tx: Kysely<unknown>, id: string): Promise<UserRow | undefined> => {
  await sql`select 1 from panel.users where id = ${id} for update`.execute(tx);
  return findUser(tx, id);
};

/**
 * Locks every administrator who can sign in, and returns their ids: one who was only invited may never use the link. In one
 * order, so that two callers cannot block each other.
 */
export const lockAdmins = async (tx: Kysely<unknown>): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select id from panel.users
    where role = 'admin' and disabled_at is null and (password is not null or oidc_subject is not null)
    order by id for update`.execute(tx);
  return rows.map(({ id }) => id);
};

/** Sorted by email, after the email `after`. */
export const listUsers = async (db: Kysely<unknown>, after: string, limit: number): Promise<UserRow[]> => {
  const { rows } = await sql<Row>`
    select ${columns} from panel.users u where u.email > ${after} order by u.email limit ${limit}`.execute(db);
  return rows.map(toUser);
};

/** A text that changes when an account or a session is created, removed or changes its state. */
export const markOfUsers = async (db: Kysely<unknown>): Promise<string> => {
  const { rows } = await sql<{ mark: string }>`
    select concat_ws(' ', count(*), count(disabled_at), count(password), count(oidc_subject), count(totp_since), max(created_at), max(changed_at),
      (select concat_ws(' ', count(*), max(created_at)) from panel.passkeys),
      (select concat_ws(' ', count(*), max(created_at)) from panel.sessions)) as mark
    from panel.users`.execute(db);
  return rows[0]?.mark ?? '';
};

export const setPassword = async (tx: Kysely<unknown>, id: string, password: string): Promise<void> => {
  await sql`update panel.users set password = ${password} where id = ${id}`.execute(tx);
};

export const setRole = async (tx: Kysely<unknown>, id: string, role: Role, now: Date): Promise<void> => {
  await sql`update panel.users set role = ${role}, changed_at = ${now} where id = ${id}`.execute(tx);
};

export const setLanguage = async (tx: Kysely<unknown>, id: string, language: string): Promise<void> => {
  await sql`update panel.users set language = ${language} where id = ${id}`.execute(tx);
};

export const setDisabled = async (tx: Kysely<unknown>, id: string, at: Date | undefined): Promise<void> => {
  await sql`update panel.users set disabled_at = ${at ?? null} where id = ${id}`.execute(tx);
};

export const setRestaurants = async (tx: Kysely<unknown>, id: string, restuids: readonly string[]): Promise<void> => {
  await sql`delete from panel.user_restaurants where user_id = ${id}`.execute(tx);
  await sql`
    insert into panel.user_restaurants (user_id, restuid)
    select distinct ${id}, restuid from unnest(${restuids}::text[]) as given (restuid)`.execute(tx);
};

export const setClients = async (tx: Kysely<unknown>, id: string, clientIds: readonly string[]): Promise<void> => {
  await sql`delete from panel.user_clients where user_id = ${id}`.execute(tx);
  await sql`
    insert into panel.user_clients (user_id, client_id)
    select distinct ${id}, client_id from unnest(${clientIds}::text[]) as given (client_id)`.execute(tx);
};

/** The contacts of an API client, sorted by email. */
export const listContacts = async (db: Kysely<unknown>, clientId: string, limit: number): Promise<UserRow[]> => {
  const { rows } = await sql<Row>`
    select ${columns} from panel.user_clients contact join panel.users u on u.id = contact.user_id
    where contact.client_id = ${clientId} order by u.email limit ${limit}`.execute(db);
  return rows.map(toUser);
};

/** Counts them, and lets one transaction at a time add some: another one that asks waits until this transaction ends. */
export const countContactsToAdd = async (tx: Kysely<unknown>, clientId: string): Promise<number> => {
  await sql`select pg_advisory_xact_lock(hashtext('panel.contacts'), hashtext(${clientId}))`.execute(tx);
  const { rows } = await sql<{ contacts: number }>`
    select count(*)::int as contacts from panel.user_clients where client_id = ${clientId}`.execute(tx);
  return rows[0]?.contacts ?? 0;
};
