/** SQL that finds the tenant of an event, a delivery or an endpoint by its id, and endpoints that fail. */
import { type Kysely, sql } from 'kysely';
import { minuteMs } from '#src/platform/clock.ts';
import { idFloor, timeOfId } from '#src/platform/ids.ts';

type Db = Kysely<unknown>;

const tenantOf = (rows: readonly { tenant: string }[]): string | undefined => rows[0]?.tenant;

/** By the primary key of the events, while they are kept. */
export const tenantOfEvent = async (db: Db, id: string): Promise<string | undefined> =>
  tenantOf((await sql<{ tenant: string }>`select tenant from outbox.events where id = ${id}`.execute(db)).rows);

/** By the unique uid; removed endpoints are left out. */
export const tenantOfEndpoint = async (db: Db, uid: string): Promise<string | undefined> =>
  tenantOf(
    (
      await sql<{ tenant: string }>`
        select tenant from webhooks.endpoints where uid = ${uid} and removed is null`.execute(db)
    ).rows,
  );

/** A delivery without an attempt is made this soon after its event, or it waits for the dispatcher. */
const dispatchMsMax = 10 * minuteMs;
const deliveriesMax = 5_000;

/**
 * Deliveries have no index by uid. One that was attempted is found by attempts_of_delivery; a new one by its event, whose id has
 * a time shortly before that of the delivery (deliveries_of_event).
 */
export const tenantOfDelivery = async (db: Db, uid: string): Promise<string | undefined> => {
  const made = timeOfId('dlv', uid)?.getTime();
  if (made === undefined) return undefined;
  const attempted = await sql<{ tenant: string }>`
    select tenant from webhooks.attempts where delivery_uid = ${uid} limit 1`.execute(db);
  if (attempted.rows.length > 0) return tenantOf(attempted.rows);
  const { rows } = await sql<{ tenant: string }>`
    select tenant from (
      select tenant, uid from webhooks.deliveries
      where event_id >= ${idFloor('evt', made - dispatchMsMax)} and event_id < ${idFloor('evt', made + minuteMs)}
      order by event_id desc limit ${deliveriesMax}
    ) as made where uid = ${uid} limit 1`.execute(db);
  return tenantOf(rows);
};

export type FailingEndpoint = {
  tenant: string;
  uid: string;
  url: string;
  failingSince: Date | null;
  disabledReason: 'gone' | 'failing' | null;
};

/** Endpoints of a tenant that are looked through. */
const endpointsMax = 100;

const listed = (tenants: readonly string[]) => sql`
  unnest(${[...tenants]}::text[]) as asked (id) cross join lateral (
    select * from webhooks.endpoints where tenant = asked.id and removed is null
    order by created desc, uid desc limit ${endpointsMax}
  ) as endpoint left join lateral (
    select failing_since, last_success from webhooks.endpoint_health where endpoint_uid = endpoint.uid limit 1
  ) as health on true`;

/** Endpoints whose last attempts failed, or that were disabled for it, along endpoints_listed. */
export const listFailingEndpoints = async (
  db: Db,
  tenants: readonly string[],
  limit: number,
): Promise<FailingEndpoint[]> => {
  const { rows } = await sql<FailingEndpoint>`
    select endpoint.tenant, endpoint.uid, endpoint.url, health.failing_since as "failingSince",
      endpoint.disabled_reason as "disabledReason"
    from ${listed(tenants)}
    where endpoint.disabled_reason in ('gone', 'failing') or (endpoint.enabled and health.failing_since is not null)
    order by health.failing_since nulls last, endpoint.uid limit ${limit}`.execute(db);
  return rows;
};

export type EndpointProgress = { tenant: string; hasEndpoint: boolean; isConfirmed: boolean };

/** Whether a tenant has an endpoint, and whether one of them ever confirmed an event. */
export const readEndpointProgress = async (db: Db, tenants: readonly string[]): Promise<EndpointProgress[]> => {
  const { rows } = await sql<EndpointProgress>`
    select endpoint.tenant, true as "hasEndpoint", bool_or(health.last_success is not null) as "isConfirmed"
    from ${listed(tenants)} group by endpoint.tenant`.execute(db);
  return rows;
};

/** Endpoints of the tenants whose URL contains the text, ignoring case, along endpoints_listed. */
export const findEndpointsByUrl = async (
  db: Db,
  tenants: readonly string[],
  text: string,
  limit: number,
): Promise<{ tenant: string; uid: string; url: string }[]> => {
  const { rows } = await sql<{ tenant: string; uid: string; url: string }>`
    select endpoint.tenant, endpoint.uid, endpoint.url from ${listed(tenants)}
    where strpos(lower(endpoint.url), lower(${text}::text)) > 0 limit ${limit}`.execute(db);
  return rows;
};

const addressLengthMax = 200;

/** As in the index endpoints_addresses. */
const address = sql`(left(regexp_replace(lower(url), '^https?://', ''), ${sql.lit(addressLengthMax)})) collate "C"`;

/** Behind every character of a text. */
const lastCharacter = '\u{10ffff}';

/** Endpoints of all tenants whose URL, with or without its scheme, begins with the text, ignoring case, along endpoints_addresses. */
export const findEndpointsByAddress = async (
  db: Db,
  text: string,
  limit: number,
): Promise<{ tenant: string; uid: string; url: string }[]> => {
  const start = text
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .slice(0, addressLengthMax);
  const { rows } = await sql<{ tenant: string; uid: string; url: string }>`
    select tenant, uid, url from webhooks.endpoints
    where removed is null and ${address} >= ${start} and ${address} < ${start + lastCharacter}
    order by ${address} limit ${limit}`.execute(db);
  return rows;
};
