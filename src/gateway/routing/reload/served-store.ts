/** Requests to reload the route table, which reach every gateway, and what each gateway serves. */
import { type Kysely, sql } from 'kysely';
import type { Reloaded } from './reload-table.ts';

export type ReloadRequest = { number: number; actor: string };

/** `request`: number of the last request that the gateway has carried out, or that was there when it started. */
export type ServedTable = {
  gateway: string;
  version: string;
  request: number;
  result: Reloaded['result'];
  problems: readonly string[];
};

/** `seenSecondsAgo`: since the gateway last renewed its row. */
export type SeenTable = ServedTable & { seenSecondsAgo: number };

/** For a statement that reads other things too: the number of the last request. */
export const requestNumber = '(select number from gateway.reload_request)';

export const readRequest = async (db: Kysely<unknown>): Promise<ReloadRequest> => {
  const { rows } = await sql<{ number: string; actor: string }>`
    select number, actor from gateway.reload_request`.execute(db);
  return { number: Number(rows[0]?.number ?? 0), actor: rows[0]?.actor ?? '' };
};

/** Reads the last request, and renews the row of this process. `isRenewed`: false when it has none. */
export const renewServed = async (
  db: Kysely<unknown>,
  process: string,
): Promise<ReloadRequest & { isRenewed: boolean }> => {
  const { rows } = await sql<{ number: string; actor: string; isRenewed: boolean }>`
    with renewed as (update gateway.served_tables set seen = now() where process = ${process} returning process)
    select number, actor, exists (select from renewed) as "isRenewed" from gateway.reload_request`.execute(db);
  const { number = '0', actor = '', isRenewed = false } = rows[0] ?? {};
  return { number: Number(number), actor, isRenewed };
};

/** Returns the number of the new request. */
export const insertRequest = async (db: Kysely<unknown>, actor: string): Promise<number> => {
  const { rows } = await sql<{ number: string }>`
    update gateway.reload_request set number = number + 1, actor = ${actor}, at = now() returning number`.execute(db);
  return Number(rows[0]?.number);
};

export const writeServed = async (db: Kysely<unknown>, process: string, served: ServedTable): Promise<void> => {
  const problems = JSON.stringify(served.problems);
  await sql`
    insert into gateway.served_tables (process, gateway, version, request, result, problems, seen)
    values (${process}, ${served.gateway}, ${served.version}, ${served.request}, ${served.result}, ${problems}, now())
    on conflict (process) do update set version = excluded.version, request = excluded.request,
      result = excluded.result, problems = excluded.problems, seen = excluded.seen`.execute(db);
};

export const deleteServed = async (db: Kysely<unknown>, process: string): Promise<void> => {
  await sql`
    delete from gateway.served_tables where process = ${process} or seen < now() - interval '1 hour'`.execute(db);
};

/** Of the gateways that were seen within `seconds`. */
export const listServed = async (db: Kysely<unknown>, seconds: number): Promise<SeenTable[]> => {
  const { rows } = await sql<Omit<SeenTable, 'request'> & { request: string }>`
    select gateway, version, request, result, problems,
      floor(extract(epoch from now() - seen))::int as "seenSecondsAgo" from gateway.served_tables
    where seen > now() - make_interval(secs => ${seconds}) order by gateway, process`.execute(db);
  return rows.map((row) => ({ ...row, request: Number(row.request) }));
};
