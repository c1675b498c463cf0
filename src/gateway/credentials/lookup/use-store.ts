/** SQL of the use of credentials: last use, and calls by the minute of the last minutes. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type UseRow = { credential: string; calls: number; firstUsed: Date; lastUsed: Date; address: string };

/** Adds the counts of one process in one statement. Rows are sorted, so that two processes cannot deadlock. */
export const addUses = async (db: Db, uses: readonly UseRow[]): Promise<void> => {
  const rows = [...uses].sort((a, b) => (a.credential < b.credential ? -1 : 1));
  await sql`
    with used as (
      select * from unnest(${rows.map((row) => row.credential)}::text[], ${rows.map((row) => row.calls)}::bigint[],
        ${rows.map((row) => row.firstUsed)}::timestamptz[], ${rows.map((row) => row.lastUsed)}::timestamptz[],
        ${rows.map((row) => row.address)}::text[])
        as u (credential, calls, first_used, last_used, address)
    ), last as (
      insert into gateway.credential_use as held (credential, last_used, last_address)
      select credential, last_used, address from used
      on conflict (credential) do update set last_used = excluded.last_used, last_address = excluded.last_address,
        longest_gap_seconds = greatest(held.longest_gap_seconds, (
          select ceil(extract(epoch from used.first_used - held.last_used)) from used
          where used.credential = excluded.credential))
      where held.last_used <= excluded.last_used
    )
    insert into gateway.credential_calls as held (credential, minute, calls)
    select credential, date_trunc('minute', last_used), calls from used
    on conflict (credential, minute) do update set calls = held.calls + excluded.calls`.execute(db);
};

/** Deletes old minutes, a batch at a time. */
export const deleteOldCalls = async (db: Db, before: Date): Promise<void> => {
  await sql`
    delete from gateway.credential_calls where ctid = any (array(
      select ctid from gateway.credential_calls where minute < ${before} limit 10000 for update skip locked))`.execute(
    db,
  );
};

export type Use = {
  calls5m: number;
  lastUsed: Date | null;
  lastAddress: string | null;
  /** Longest time between two uses; 0 after a single use. */
  longestGapSeconds: number;
};

/** Credentials without any use are missing in the result. */
export const findUses = async (db: Db, credentials: readonly string[], now: Date): Promise<Map<string, Use>> => {
  const { rows } = await sql<{ credential: string; last_used: Date; last_address: string; gap: number; calls: number }>`
    select u.credential, u.last_used, u.last_address, u.longest_gap_seconds as gap,
      (select coalesce(sum(c.calls), 0)::bigint from gateway.credential_calls c
       where c.credential = u.credential and c.minute > ${now}::timestamptz - interval '5 minutes') as calls
    from gateway.credential_use u where u.credential = any (${credentials}::text[])`.execute(db);
  return new Map(
    rows.map((row) => [
      row.credential,
      {
        calls5m: Number(row.calls),
        lastUsed: row.last_used,
        lastAddress: row.last_address,
        longestGapSeconds: row.gap,
      },
    ]),
  );
};

/** Time of the last written use of a credential that is not an API key. */
export const newestClientUse = async (db: Db): Promise<Date | undefined> => {
  const { rows } = await sql<{ last: Date }>`
    select u.last_used as last from gateway.credential_use u
    where not exists (select 1 from gateway.api_keys k where k.key_id = u.credential)
    order by u.last_used desc limit 1`.execute(db);
  return rows[0]?.last;
};
