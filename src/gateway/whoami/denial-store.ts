/** SQL of the denials. */
import { type Kysely, sql } from 'kysely';
import type { KeptDenial } from './denial.ts';

type Db = Kysely<unknown>;

export type DenialRow = { caller: string; requestId: string; at: Date; denial: KeptDenial };

/** Writes all in one statement; a newer row replaces an older one with the same id. No id may be listed twice. */
export const upsertDenials = async (db: Db, rows: readonly DenialRow[]): Promise<void> => {
  const json = JSON.stringify(
    rows.map(({ caller, requestId, at, denial }) => ({ caller, request_id: requestId, at: at.toISOString(), denial })),
  );
  await sql`
    insert into gateway.denials (caller, request_id, at, denial)
    select caller, request_id, at, denial
    from jsonb_to_recordset(${json}::jsonb) as r (caller text, request_id text, at timestamptz, denial jsonb)
    on conflict (caller, request_id) do update set at = excluded.at, denial = excluded.denial
    where excluded.at >= gateway.denials.at`.execute(db);
};

/** The newest one of these callers. */
export const findDenial = async (
  db: Db,
  callers: readonly string[],
  requestId: string,
  since: Date,
): Promise<{ at: Date; denial: KeptDenial } | undefined> =>
  (
    await sql<{ at: Date; denial: KeptDenial }>`
      select at, denial from gateway.denials
      where caller = any(${[...callers]}::text[]) and request_id = ${requestId} and at > ${since}
      order by at desc limit 1`.execute(db)
  ).rows[0];

/** Returns how many; call again while it is `rowsMax`. A bound keeps the locks short. */
export const deleteDenials = async (db: Db, before: Date, rowsMax: number): Promise<number> =>
  Number(
    (
      await sql`
        delete from gateway.denials where (caller, request_id) in (
          select caller, request_id from gateway.denials where at <= ${before} limit ${rowsMax})`.execute(db)
    ).numAffectedRows ?? 0n,
  );
