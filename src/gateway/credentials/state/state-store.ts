/** SQL of the states of credentials: quarantine, expiry and revocation, and their history. */
import { type Kysely, type RawBuilder, sql } from 'kysely';

type Db = Kysely<unknown>;

type CredentialKind = 'client' | 'secret' | 'client_key' | 'api_key';

export type StateChange = {
  kind: CredentialKind | 'tokens';
  credential: string;
  state: 'active' | 'quarantined' | 'revoked' | 'expiring';
  reason: string;
  actor: string;
  at: Date;
};

export const insertStateChange = async (tx: Db, entry: StateChange): Promise<void> => {
  await sql`
    insert into gateway.credential_changes (kind, credential, state, reason, actor, at)
    values (${entry.kind}, ${entry.credential}, ${entry.state}, ${entry.reason}, ${entry.actor}, ${entry.at})`.execute(
    tx,
  );
};

/** The client of a secret, or the tenant of a key. */
export const findHolder = async (db: Db, kind: 'secret' | 'api_key', id: string): Promise<string | undefined> => {
  const { rows } = await (kind === 'secret'
    ? sql<{ holder: string }>`select client_id as holder from gateway.client_secrets where secret_id = ${id}`
    : sql<{ holder: string }>`select tenant as holder from gateway.api_keys where key_id = ${id}`
  ).execute(db);
  return rows[0]?.holder;
};

/**
 * For each credential the last change to each state that it ever had, the newest first. A revocation of the tokens of a client has
 * its id, but changes no state of the client. Earlier releases added a row of the kind `token` for each revoked token.
 */
export const findLastChanges = async (db: Db, credentials: readonly string[]): Promise<Map<string, StateChange[]>> => {
  const { rows } = await sql<StateChange>`
    select kind, credential, state, reason, actor, at from (
      select distinct on (credential, state) id, kind, credential, state, reason, actor, at
      from gateway.credential_changes
      where credential = any (${credentials}::text[]) and kind not in ('token', 'tokens')
      order by credential, state, id desc) as last
    order by id desc`.execute(db);
  return Map.groupBy(rows, ({ credential }) => credential);
};

const changed = async (statement: ReturnType<typeof sql>, db: Db): Promise<boolean> =>
  ((await statement.execute(db)).numAffectedRows ?? 0n) > 0n;

type Quarantined = Promise<string | undefined>;

const affectedBy = async (statement: RawBuilder<{ id: string }>, tx: Db): Quarantined =>
  (await statement.execute(tx)).rows[0]?.id;

/**
 * `reason` null ends the quarantine. Returns the id of the client or key that is affected; undefined when no row has the id.
 */
export const updateClientQuarantine = (tx: Db, clientId: string, reason: string | null): Quarantined =>
  affectedBy(
    sql`update gateway.clients set quarantined_reason = ${reason} where client_id = ${clientId} returning client_id as id`,
    tx,
  );

export const updateSecretQuarantine = (tx: Db, secretId: string, reason: string | null): Quarantined =>
  affectedBy(
    sql`update gateway.client_secrets set quarantined_reason = ${reason} where secret_id = ${secretId}
        returning client_id as id`,
    tx,
  );

export const updateKeyQuarantine = (tx: Db, keyId: string, reason: string | null): Quarantined =>
  affectedBy(
    sql`update gateway.api_keys set quarantined_reason = ${reason} where key_id = ${keyId} returning key_id as id`,
    tx,
  );

export const isClientDisabled = async (tx: Db, clientId: string): Promise<boolean> =>
  (await sql`select 1 from gateway.clients where client_id = ${clientId} and disabled_at is not null`.execute(tx)).rows
    .length > 0;

/** Only moves the time forward, so refused tokens stay refused. */
export const updateTokensNotBefore = (tx: Db, clientId: string, before: Date): Promise<boolean> =>
  changed(
    sql`update gateway.clients set tokens_not_before = greatest(tokens_not_before, ${before}) where client_id = ${clientId}`,
    tx,
  );

export const updateClientIntrospection = (tx: Db, clientId: string, mayIntrospect: boolean): Promise<boolean> =>
  changed(sql`update gateway.clients set may_introspect = ${mayIntrospect} where client_id = ${clientId}`, tx);

export const updateClientDpop = (tx: Db, clientId: string, dpopRequired: boolean): Promise<boolean> =>
  changed(sql`update gateway.clients set dpop_required = ${dpopRequired} where client_id = ${clientId}`, tx);

export const updateClientFapi2 = (tx: Db, clientId: string, fapi2Required: boolean): Promise<boolean> =>
  changed(sql`update gateway.clients set fapi2_required = ${fapi2Required} where client_id = ${clientId}`, tx);

/**
 * Keeps others from changing the client, and from adding what this lock counts, until the transaction ends: a statement does not see
 * rows that a change adds for which it waits. False: there is no such client.
 */
export const lockClient = async (tx: Db, clientId: string): Promise<boolean> =>
  (await sql`select 1 from gateway.clients where client_id = ${clientId} for no key update`.execute(tx)).rows.length >
  0;

/**
 * Lets the live secrets of the client expire at `end` unless they expire earlier. `live`: how many there were. `limited`: the ids of
 * those that got this end.
 */
export const limitSecrets = async (
  tx: Db,
  clientId: string,
  end: Date,
  now: Date,
): Promise<{ live: number; limited: string[] }> => {
  const live = sql`client_id = ${clientId} and revoked_at is null`;
  const { rows } = await sql<{ live: number; limited: string[] }>`
    with limited as (
      update gateway.client_secrets set expires = ${end}
      where ${live} and (expires is null or expires > greatest(${end}::timestamptz, ${now}::timestamptz))
      returning secret_id, created
    )
    select (select count(*)::int from gateway.client_secrets
        where ${live} and (expires is null or expires > ${now})) as live,
      array(select secret_id from limited order by created) as limited`.execute(tx);
  return rows[0] ?? { live: 0, limited: [] };
};

type LimitedKey = { tenant: string; name: string; quarantined: boolean };

/**
 * Lets the live key expire at `end` unless it expires earlier. Undefined when no live key has the id. `quarantined`: it is in
 * quarantine. `limited`: it got this end.
 */
export const limitKey = async (
  tx: Db,
  keyId: string,
  end: Date,
  now: Date,
): Promise<(LimitedKey & { limited: boolean }) | undefined> => {
  const { rows } = await sql<LimitedKey>`
    select tenant, name, quarantined_reason is not null as quarantined from gateway.api_keys
    where key_id = ${keyId} and revoked_at is null and (expires is null or expires > ${now})
    for no key update`.execute(tx);
  const [key] = rows;
  if (key === undefined) return undefined;
  const limited = await changed(
    sql`update gateway.api_keys set expires = ${end} where key_id = ${keyId} and (expires is null or expires > ${end})`,
    tx,
  );
  return { ...key, limited };
};

export const revokeTenantKeys = async (tx: Db, tenant: string, reason: string, now: Date): Promise<string[]> => {
  const { rows } = await sql<{ key_id: string }>`
    update gateway.api_keys set revoked_at = ${now}, revoked_reason = ${reason}
    where tenant = ${tenant} and revoked_at is null returning key_id`.execute(tx);
  return rows.map(({ key_id }) => key_id);
};

/** Those that work. Locks the client, so that their number stays bounded. */
export const countClientKeys = async (tx: Db, clientId: string): Promise<number> => {
  await lockClient(tx, clientId);
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from gateway.client_keys
    where client_id = ${clientId} and revoked_at is null`.execute(tx);
  return rows[0]?.count ?? 0;
};

/** False when the client already has a key with that id. */
export const insertClientKey = (
  tx: Db,
  key: { clientId: string; keyId: string; jwk: object; created: Date },
): Promise<boolean> =>
  changed(
    sql`insert into gateway.client_keys (client_id, key_id, jwk, created)
        values (${key.clientId}, ${key.keyId}, ${JSON.stringify(key.jwk)}::jsonb, ${key.created})
        on conflict (client_id, key_id) do nothing`,
    tx,
  );

export const markClientKeyRevoked = (tx: Db, clientId: string, keyId: string, now: Date): Promise<boolean> =>
  changed(
    sql`update gateway.client_keys set revoked_at = coalesce(revoked_at, ${now})
        where client_id = ${clientId} and key_id = ${keyId}`,
    tx,
  );
