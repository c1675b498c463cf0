/** What one version of a menu changed, in PostgreSQL: the rows that were kept for reverts, and the state after them. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { documentsMax } from '#src/platform/db/bounded-list.ts';
import type { Option } from '../../menu/menu.ts';
import { historyOwner } from './undo-store.ts';

type State = {
  name: string;
  /** Hundredths; null for a category. */
  price: number | null;
  removed_at: string | null;
  options: readonly Option[];
} & Readonly<Record<string, unknown>>;

/** `before` null: the element did not exist. */
export type ChangedRow = {
  kind: 'category' | 'product';
  uid: string;
  before: State | null;
  after: State | null;
};

/** `after`: the last element of an earlier page. */
type ChangesQuery = {
  restuid: string;
  owner: string | null;
  version: number;
  after: Pick<ChangedRow, 'kind' | 'uid'> | undefined;
  limit: number;
};

/**
 * By kind, then by uid, until the documents have the weight of a page, at least one element. The state afterwards is that before
 * the next version that changed the element, or the present one. Each element costs a look at its own history only.
 */
export const listChanges = async (
  db: Kysely<unknown>,
  { restuid, owner, version, after, limit }: ChangesQuery,
): Promise<{ rows: ChangedRow[]; more: boolean }> => {
  const nextState = (column: RawBuilder<unknown>) => sql`(
    select ${column} from ordering.menu_undo n
    where n.restuid = ${restuid} and n.client_id = ${historyOwner(owner)} and n.kind = c.kind and n.uid = c.uid
      and n.version > ${version} order by n.version limit 1)`;
  const presentState = (column: RawBuilder<unknown>) => sql`
    case c.kind when 'category' then
      (select ${column} from ordering.categories e where e.restuid = ${restuid} and e.uid = c.uid)
    else (select ${column} from ordering.products e where e.restuid = ${restuid} and e.uid = c.uid) end`;
  const sizeOf = sql`pg_column_size(e.options)`;
  const { rows } = await sql<ChangedRow & { found: number }>`
    with changed as materialized (
      select kind, uid, document from ordering.menu_undo
      where restuid = ${restuid} and client_id = ${historyOwner(owner)} and version = ${version}
        and (kind, uid) > (${after?.kind ?? ''}::text, ${after?.uid ?? ''}::text collate "C")
      order by kind, uid limit ${limit + 1}),
    weighed as (
      select c.*, coalesce(pg_column_size(c.document), 0)
        + coalesce(${nextState(sql`pg_column_size(n.document)`)}, ${presentState(sizeOf)}, 0) as weight from changed c)
    select c.kind, c.uid, c.document - 'copied_options' as before, coalesce(
      ${nextState(sql`n.document`)}, ${presentState(sql`to_jsonb(e.*)`)}) - 'copied_options' as after, c.found
    from (
      select w.*, count(*) over () as found, coalesce(
        sum(weight) over (order by kind, uid rows between unbounded preceding and 1 preceding), 0) as lighter
      from weighed w
    ) c where c.lighter < ${documentsMax} order by c.kind, c.uid limit ${limit}`.execute(db);
  return { rows, more: Number(rows[0]?.found ?? 0) > rows.length };
};
