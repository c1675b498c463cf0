/** What one version of a menu changed, in PostgreSQL: the rows that were kept for reverts, and the state after them. */
import { type Kysely, sql } from 'kysely';
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
 * By kind, then by uid. The state afterwards is that before the next version that changed the element, or the present one. Each
 * element costs a look at its own history only.
 */
export const listChanges = async (
  db: Kysely<unknown>,
  { restuid, owner, version, after, limit }: ChangesQuery,
): Promise<ChangedRow[]> => {
  const { rows } = await sql<ChangedRow>`
    with changed as materialized (
      select kind, uid, document from ordering.menu_undo
      where restuid = ${restuid} and client_id = ${historyOwner(owner)} and version = ${version}
        and (kind, uid) > (${after?.kind ?? ''}::text, ${after?.uid ?? ''}::text collate "C")
      order by kind, uid limit ${limit})
    select c.kind, c.uid, c.document as before, coalesce(
      (select n.document from ordering.menu_undo n
       where n.restuid = ${restuid} and n.client_id = ${historyOwner(owner)} and n.kind = c.kind and n.uid = c.uid
         and n.version > ${version} order by n.version limit 1),
      case c.kind when 'category' then
        (select to_jsonb(e.*) from ordering.categories e where e.restuid = ${restuid} and e.uid = c.uid)
      else (select to_jsonb(e.*) from ordering.products e where e.restuid = ${restuid} and e.uid = c.uid) end) as after
    from changed c order by c.kind, c.uid`.execute(db);
  return rows;
};
