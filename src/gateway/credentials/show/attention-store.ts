/** SQL of what needs attention: quarantined credentials, the access to tenants, and callers that are refused, limited or elsewhere. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

/** `tenant`: of a key; null for a client. `client`: the client itself, or that of a secret; null for a key. */
type Named = { id: string; name: string; tenant: string | null; client: string | null };

/** Changes of state that are looked through for each kind. A quarantine behind more of them is found without its time. */
const changesMax = 500;
/** Callers of a day that are looked through. */
const callersMax = 5_000;
/** Callers with the most requests of the day, whose hours are summed up. */
const busiestMax = 200;
/** The newest refusals that are looked through. */
const refusalsMax = 200;
/** The newest keys of a tenant that are looked through. */
const keysMax = 200;

export type Quarantined = Named & { reason: string; since: Date | null };

/**
 * Those that have not ended, the latest first. The newest come from audit_events_action, whose condition the literal actions
 * imply; as many as are asked for come from the index of quarantined rows, so that none is reported only when there is none.
 */
export const listQuarantined = async (db: Db, now: Date, limit: number): Promise<Quarantined[]> => {
  const { rows } = await sql<Quarantined>`
    with candidates as materialized (
      (select client_id as id, at, details from gateway.audit_events where action = 'client.state_changed'
        order by at desc limit ${changesMax})
      union all
      (select credential_id, at, details from gateway.audit_events where action = 'key.state_changed'
        order by at desc limit ${changesMax})
      union all
      (select credential_id, at, details from gateway.audit_events where action = 'secret.state_changed'
        order by at desc limit ${changesMax})
      union all
      (select client_id, null, null from gateway.clients
        where quarantined_reason is not null and disabled_at is null order by client_id limit ${limit})
      union all
      (select key_id, null, null from gateway.api_keys
        where quarantined_reason is not null and revoked_at is null and (expires is null or expires > ${now})
        order by key_id limit ${limit})
      union all
      (select secret_id, null, null from gateway.client_secrets join gateway.clients using (client_id)
        where client_secrets.quarantined_reason is not null and revoked_at is null
          and (expires is null or expires > ${now}) and disabled_at is null
        order by secret_id limit ${limit})
    ), latest as (
      -- Of the details as text: a writer of the tables may have stored one that is no JSON. A rotation is a change of state too. A quarantine behind the newest changes has the time of a later one.
      select id, coalesce(max(at) filter (where details like '%"state":"quarantined"%'), max(at)) as since
      from candidates where id is not null group by id
    )
    select latest.id, latest.since, found.name, found.tenant, found.client, found.reason
    from latest cross join lateral (
      select name, null::text as tenant, client_id as client, quarantined_reason as reason
      from gateway.clients where client_id = latest.id and disabled_at is null
      union all
      select name, tenant, null, quarantined_reason
      from gateway.api_keys
      where key_id = latest.id and revoked_at is null and (expires is null or expires > ${now})
      union all
      select client.name, null, client.client_id, secret.quarantined_reason
      from gateway.client_secrets secret join gateway.clients client using (client_id)
      where secret.secret_id = latest.id and secret.revoked_at is null
        and (secret.expires is null or secret.expires > ${now}) and client.disabled_at is null
    ) as found
    where found.reason is not null order by latest.since desc nulls last, latest.id limit ${limit}`.execute(db);
  return rows;
};

export type TenantAccess = { tenant: string; hasCredential: boolean; isCalled: boolean };

/** Whether a key or client may reach the tenant, and whether one of them was ever used. Along api_keys_by_age and primary keys. */
export const readTenantAccess = async (db: Db, tenants: readonly string[]): Promise<TenantAccess[]> => {
  const { rows } = await sql<TenantAccess>`
    select asked.id as tenant, count(holder.id) > 0 as "hasCredential", count(used.credential) > 0 as "isCalled"
    from unnest(${[...tenants]}::text[]) as asked (id) left join lateral (
      (select key_id as id from gateway.api_keys where tenant = asked.id
        order by created desc, key_id desc limit ${keysMax})
      union all
      (select client_id from gateway.client_tenants where tenant = asked.id and withdrawn_at is null limit ${keysMax})
    ) as holder on true
    left join lateral (
      select credential from gateway.credential_use where credential = holder.id limit 1
    ) as used on true
    group by asked.id`.execute(db);
  return rows;
};

export type LimitedCaller = Named & {
  period: 'day' | 'month';
  units: number;
  /** Null: the caller has no limit of this period, and others refused its requests. */
  limit: number | null;
  /** Requests of today that a limit refused. */
  limited: number;
};

/**
 * The names of the callers in `caller.caller`, by primary key and by the unique key id. With a limit in each look the planner
 * cannot join by reading the whole table.
 */
const named = sql`
  left join lateral (
    select client_id, name, limits from gateway.clients where client_id = caller.caller limit 1
  ) as client on true
  left join lateral (
    select tenant, name, limits from gateway.api_keys where key_id = caller.caller limit 1
  ) as key on true`;
const names = sql`
  caller.caller as id, coalesce(client.name, key.name) as name, key.tenant, client.client_id as client`;

/** Callers of a day, found by caller_usage_day. */
const callersOf = (day: Date) => sql`
  select caller, requests, units, limited, elsewhere, elsewhere_last, elsewhere_address
  from gateway.caller_usage where day = ${day} limit ${callersMax}`;

/**
 * Callers of today that a limit refused, or that used `share` of the limit of a day or month. The days of a month are read by
 * primary key, only for callers with such a limit.
 */
export const listNearLimits = async (
  db: Db,
  { day, month, share }: { day: Date; month: Date; share: number },
  limit: number,
): Promise<LimitedCaller[]> => {
  const { rows } = await sql<LimitedCaller>`
    select ${names}, use.period, use.units, use.most as limit, caller.limited
    from (${callersOf(day)}) as caller ${named}
    cross join lateral (
      select coalesce(client.limits, key.limits) as own
    ) as held
    cross join lateral (
      select 'day' as period, caller.units, (held.own ->> 'day')::bigint as most
      union all
      select 'month', (
        select sum(units)::bigint from gateway.caller_usage past
        where past.caller = caller.caller and past.day >= ${month}
      ), (held.own ->> 'month')::bigint where held.own ? 'month'
    ) as use
    where coalesce(client.name, key.name) is not null
      and ((use.period = 'day' and caller.limited > 0) or use.units >= use.most * ${share}::float8)
    order by caller.limited desc, use.units desc, id limit ${limit}`.execute(db);
  return rows;
};

export type ElsewhereCaller = Named & { calls: number; last: Date | null; address: string | null };

/** Callers that were used from an address outside their networks on a day, the latest first. */
export const listElsewhere = async (db: Db, day: Date, limit: number): Promise<ElsewhereCaller[]> => {
  const { rows } = await sql<ElsewhereCaller>`
    select ${names}, caller.elsewhere as calls, caller.elsewhere_last as last, caller.elsewhere_address as address
    from (${callersOf(day)}) as caller ${named}
    where caller.elsewhere > 0 and coalesce(client.name, key.name) is not null
    order by caller.elsewhere_last desc nulls last, id limit ${limit}`.execute(db);
  return rows;
};

export type FailingCaller = Named & { calls: number; refused: number; failed: number };

/**
 * Callers of which a fifth of many requests was refused or failed since `since`: hours are read by primary key, for the callers
 * with the most requests of today and those of the newest refusals, which need not be busy.
 */
export const listFailingCallers = async (
  db: Db,
  { day, since }: { day: Date; since: Date },
  limit: number,
): Promise<FailingCaller[]> => {
  const { rows } = await sql<FailingCaller>`
    select ${names}, hours.calls, hours.refused, hours.failed
    from (
      (select caller from (${callersOf(day)}) as today order by requests desc limit ${busiestMax})
      union
      select caller from (select caller from gateway.denials order by at desc limit ${refusalsMax}) as denied
    ) as caller
    ${named}
    cross join lateral (
      select sum(reads + writes + refused + failed)::bigint as calls, sum(refused)::bigint as refused,
        sum(failed)::bigint as failed
      from gateway.request_hours where request_hours.caller = caller.caller and hour >= ${since}
    ) as hours
    where coalesce(client.name, key.name) is not null
      and hours.refused + hours.failed >= 5 and (hours.refused + hours.failed) * 5 >= hours.calls
    order by hours.refused + hours.failed desc, id limit ${limit}`.execute(db);
  return rows;
};

/** `count`: among the newest refusals. `requestId`: the newest one. */
export type RefusedCaller = Named & { reason: string; code: string; count: number; last: Date; requestId: string };

/** The newest refusals by caller and reason, along denials_at. */
export const listNewestRefusals = async (db: Db, limit: number): Promise<RefusedCaller[]> => {
  const { rows } = await sql<RefusedCaller>`
    with newest as (
      select caller, request_id, at, denial ->> 'reason' as reason, denial ->> 'code' as code
      from gateway.denials order by at desc limit ${refusalsMax}
    ), caller as (
      select caller, reason, code, count(*)::int as count, max(at) as last,
        (array_agg(request_id order by at desc))[1] as request_id
      from newest group by caller, reason, code
    )
    select ${names}, caller.reason, caller.code, caller.count, caller.last, caller.request_id as "requestId"
    from caller ${named}
    where coalesce(client.name, key.name) is not null
    order by caller.last desc, id limit ${limit}`.execute(db);
  return rows;
};
