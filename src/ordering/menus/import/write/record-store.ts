/** Records of imports, plans and reverts (interface 11.3, menu/imports) in PostgreSQL. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { textSlices } from '#src/platform/text-slices.ts';
import type { ChangeNames } from '../plan/change-names.ts';
import type { Counts } from '../report/report.ts';
import type { Batch } from './import-store.ts';
import { historyOwner, revertibleMax } from './undo-store.ts';

export type ImportRecord = {
  uid: string;
  clientId: string;
  kind: 'import' | 'revert';
  state: 'planned' | 'running' | 'applied' | 'failed';
  percent: number;
  /** Null for a revert. */
  posUid: string | null;
  updateMode: 'replace' | 'merge' | null;
  /** Null when nothing was applied. */
  version: number | null;
  /** Null until it is known. */
  baseVersion: number | null;
  planId: string | null;
  planExpires: Date | null;
  created: Date;
  counts: Counts;
  removalPercent: number;
  /** Who made it, where that was not the client: `panel:` and the id of a user. */
  actor: string | null;
};

/** `plan`: uids of the elements that a plan changes which can still be applied. */
export type SavedImport = ImportRecord & { plan: ChangeNames | null };

export const importColumns = sql`
  uid, client_id as "clientId", kind, state, percent, pos_uid as "posUid", update_mode as "updateMode", version,
  base_version as "baseVersion", plan_id as "planId", plan_expires as "planExpires", created, counts,
  removal_percent as "removalPercent", actor`;

/** Inserts the record or replaces the stored one. */
export const saveImport = async (db: Kysely<unknown>, restuid: string, row: SavedImport): Promise<void> => {
  await sql`
    insert into ordering.menu_imports (restuid, uid, client_id, kind, state, percent, pos_uid, update_mode, version,
      base_version, plan_id, plan_expires, plan, created, touched, counts, removal_percent, actor)
    values (${restuid}, ${row.uid}, ${row.clientId}, ${row.kind}, ${row.state}, ${row.percent}, ${row.posUid},
      ${row.updateMode}, ${row.version}, ${row.baseVersion}, ${row.planId}, ${row.planExpires},
      ${row.plan === null ? null : JSON.stringify(row.plan)}::jsonb, ${row.created}, clock_timestamp(),
      ${JSON.stringify(row.counts)}::jsonb, ${row.removalPercent}, ${row.actor})
    on conflict (restuid, uid) do update set state = excluded.state, percent = excluded.percent,
      version = excluded.version, base_version = excluded.base_version, plan_id = excluded.plan_id,
      plan_expires = excluded.plan_expires, plan = excluded.plan, touched = excluded.touched,
      counts = excluded.counts, removal_percent = excluded.removal_percent`.execute(db);
};

/** Characters of one part: a longer parameter would block other requests while it is sent. */
const partCharacters = 128_000;

/** `report`: JSON text of items, warnings and errors. The import's record must exist. */
export const saveReport = async (db: Kysely<unknown>, restuid: string, uid: string, report: string): Promise<void> => {
  for (const [part, text] of [...textSlices(report, partCharacters)].entries())
    await sql`
      insert into ordering.menu_reports (restuid, import_uid, part, text)
      values (${restuid}, ${uid}, ${part}, ${text})
      on conflict (restuid, import_uid, part) do nothing`.execute(db);
};

/** Undefined when there is no report: the import still runs, or its process has died. */
export const readReport = async (db: Kysely<unknown>, restuid: string, uid: string): Promise<string | undefined> => {
  const texts: string[] = [];
  for (let part = 0; ; part += 1) {
    const { rows } = await sql<{ text: string }>`
      select text from ordering.menu_reports
      where restuid = ${restuid} and import_uid = ${uid} and part = ${part}`.execute(db);
    const text = rows[0]?.text;
    if (text === undefined) return texts.length === 0 ? undefined : texts.join('');
    texts.push(text);
  }
};

/** Characters of a report; 0 when there is none. */
export const reportSize = async (db: Kysely<unknown>, restuid: string, uid: string): Promise<number> => {
  // Every part but the last has the same number of characters, so the number of parts is enough.
  const { rows } = await sql<{ parts: number }>`
    select count(*) as parts from ordering.menu_reports where restuid = ${restuid} and import_uid = ${uid}`.execute(db);
  return (rows[0]?.parts ?? 0) * partCharacters;
};

export const deleteImport = async (db: Kysely<unknown>, restuid: string, uid: string): Promise<void> => {
  await sql`delete from ordering.menu_imports where restuid = ${restuid} and uid = ${uid}`.execute(db);
};

/** A plan of this client that was not applied, locked: of two concurrent applications the second finds none. */
export const lockPlan = async (
  tx: Kysely<unknown>,
  restuid: string,
  planId: string,
  clientId: string,
  now: Date,
): Promise<SavedImport | undefined> => {
  const { rows } = await sql<SavedImport>`
    select ${importColumns}, plan from ordering.menu_imports
    where restuid = ${restuid} and plan_id = ${planId} and client_id = ${clientId} and state = 'planned'
      and plan_expires > ${now} for update`.execute(tx);
  return rows[0];
};

export const savePlanPart = async (
  tx: Kysely<unknown>,
  restuid: string,
  planId: string,
  part: number,
  { kind, documents }: Batch,
): Promise<void> => {
  await sql`
    insert into ordering.menu_plan_parts (restuid, plan_id, part, kind, documents)
    values (${restuid}, ${planId}, ${part}, ${kind}, ${documents})`.execute(tx);
};

/** The parts of a plan, one at a time, because together they may have tens of megabytes. */
export async function* readPlanParts(tx: Kysely<unknown>, restuid: string, planId: string): AsyncGenerator<Batch> {
  for (let part = 0; ; part += 1) {
    const { rows } = await sql<Batch>`
      select kind, documents, json_array_length(documents::json) as count from ordering.menu_plan_parts
      where restuid = ${restuid} and plan_id = ${planId} and part = ${part}`.execute(tx);
    const batch = rows[0];
    if (batch === undefined) return;
    yield batch;
  }
}

export const deletePlanParts = async (tx: Kysely<unknown>, restuid: string, planId: string): Promise<void> => {
  await sql`
    delete from ordering.menu_plan_parts where restuid = ${restuid} and plan_id = ${planId}`.execute(tx);
};

/** The open plans of an owner fit its elements no more. Their records stay, without what would be applied. */
export const outdatePlans = async (tx: Kysely<unknown>, restuid: string, owner: string | null): Promise<void> => {
  await sql`
    with outdated as (
      update ordering.menu_imports set plan = null
      where restuid = ${restuid} and client_id = ${historyOwner(owner)} and state = 'planned' and plan is not null
      returning plan_id)
    delete from ordering.menu_plan_parts p using outdated o
    where p.restuid = ${restuid} and p.plan_id = o.plan_id`.execute(tx);
};

/**
 * Records of a client beyond this number are deleted, except for versions that it can revert to. As many plans that can
 * still be applied are kept, whatever other imports the client makes meanwhile.
 */
const recordsMax = 200;

/** Deletes old records of an owner, and the parts of the restaurant's plans that have expired. */
export const forgetOldImports = async (
  tx: Kysely<unknown>,
  restuid: string,
  owner: string | null,
  now: Date,
): Promise<void> => {
  const of = sql`restuid = ${restuid} and client_id = ${historyOwner(owner)}`;
  await sql`
    delete from ordering.menu_imports where ${of}
      and uid in (select uid from ordering.menu_imports where ${of} order by created desc, uid desc offset ${recordsMax})
      and uid not in (select uid from ordering.menu_imports where ${of} and state = 'planned' and plan_expires > ${now}
        order by created desc, uid desc limit ${recordsMax})
      and (version is null or version = base_version or version not in (select version from ordering.menu_imports
        where ${of} and version > base_version order by version desc limit ${revertibleMax}))`.execute(tx);
  await sql`
    delete from ordering.menu_plan_parts p where p.restuid = ${restuid} and not exists (
      select from ordering.menu_imports i where i.restuid = ${restuid} and i.plan_id = p.plan_id
        and i.state = 'planned' and i.plan_expires > ${now})`.execute(tx);
};

/** `clientId` null: the records of all clients. */
export const visible = (restuid: string, clientId: string | null): RawBuilder<unknown> =>
  clientId === null ? sql`restuid = ${restuid}` : sql`restuid = ${restuid} and client_id = ${clientId}`;

/** Finds a record by the version that it created (or found, if it changed nothing) or by its plan. */
export const findImport = async (
  db: Kysely<unknown>,
  restuid: string,
  clientId: string | null,
  named: { version?: number | undefined; planId?: string | undefined },
): Promise<ImportRecord | undefined> => {
  const { rows } = await sql<ImportRecord>`
    select ${importColumns} from ordering.menu_imports where ${visible(restuid, clientId)}
      and (${named.version ?? null}::bigint is null or version = ${named.version ?? null})
      and (${named.planId ?? null}::text is null or plan_id = ${named.planId ?? null})
    order by version > base_version desc, created desc, uid desc limit 1`.execute(db);
  return rows[0];
};
