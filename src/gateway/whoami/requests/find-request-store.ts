/** SQL that finds the callers of a request id. */
import { type Kysely, sql } from 'kysely';
import { timesOf } from '../../audit/event/request-id-times.ts';

type Db = Kysely<unknown>;

/** `tenant`: of a key; null for a client. */
export type RequestCaller = { caller: string; tenant: string | null };

/** Refusals of the minutes of an id that are looked through, and keys of a tenant. */
const refusalsMax = 5_000;
const keysMax = 200;

/**
 * Callers that were refused with this id. An id tells its time, so denials_at leads to the refusals of a few minutes; an id that a
 * caller chose tells none and is not found.
 */
export const findRefusedCallers = async (db: Db, requestId: string, limit: number): Promise<RequestCaller[]> => {
  const times = timesOf(requestId);
  if (times === undefined) return [];
  const { rows } = await sql<RequestCaller>`
    select found.caller, key.tenant from (
      select caller, request_id from gateway.denials where at >= ${times.from} and at <= ${times.to}
      order by at limit ${refusalsMax}
    ) as found left join lateral (
      select tenant from gateway.api_keys where key_id = found.caller limit 1
    ) as key on true
    where found.request_id = ${requestId} limit ${limit}`.execute(db);
  return rows;
};

/** Keys of these tenants that made the request: by requests_by_id, or by the time that the id tells and the primary key. */
export const findCallingKeys = async (
  db: Db,
  tenants: readonly string[],
  requestId: string,
  limit: number,
): Promise<RequestCaller[]> => {
  const times = timesOf(requestId);
  const timed =
    times === undefined
      ? sql``
      : sql`union all (select caller from gateway.requests where requests.caller = key.key_id and not id_indexed
          and request_id = ${requestId} and at >= ${times.from} and at <= ${times.to} limit 1)`;
  const { rows } = await sql<RequestCaller>`
    select distinct found.caller, key.tenant
    from unnest(${[...tenants]}::text[]) as asked (id) cross join lateral (
      select tenant, key_id from gateway.api_keys where tenant = asked.id
      order by created desc, key_id desc limit ${keysMax}
    ) as key
    cross join lateral (
      (select caller from gateway.requests where requests.caller = key.key_id and id_indexed
        and request_id = ${requestId} limit 1) ${timed}
    ) as found
    limit ${limit}`.execute(db);
  return rows;
};
