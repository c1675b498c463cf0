/** Earlier states of elements, in PostgreSQL. A revert restores them. */
import { type Kysely, sql } from 'kysely';
import type { ChangedSince, StoredCategory, StoredProduct } from '../plan/stored-menu.ts';
import { readInPages } from './rows-store.ts';

/** A client can revert to this many of its versions (interface 11.3). */
export const revertibleMax = 50;

/** Owner of an element in the history: a client id, or `panel`. */
export const historyOwner = (owner: string | null): string => owner ?? 'panel';

type Touched = { kind: 'category' | 'product'; uids: readonly string[] };

/** Copies the rows of a locked menu before `version` changes them, inside the database. */
export const keepForRevert = async (
  tx: Kysely<unknown>,
  { restuid, owner, version }: { restuid: string; owner: string | null; version: number },
  touched: readonly Touched[],
): Promise<void> => {
  for (const { kind, uids } of touched) {
    if (uids.length === 0) continue;
    const table = kind === 'category' ? sql`ordering.categories` : sql`ordering.products`;
    await sql`
      insert into ordering.menu_undo (restuid, client_id, kind, uid, version, document)
      select ${restuid}, ${historyOwner(owner)}, ${kind}, t.uid, ${version}::bigint, to_jsonb(e.*)
      from unnest(${uids}::text[]) as t (uid)
      left join ${table} e on e.restuid = ${restuid} and e.uid = t.uid`.execute(tx);
  }
};

/** The versions that an owner may revert to, newest first. */
export const listRevertible = async (db: Kysely<unknown>, restuid: string, owner: string | null): Promise<number[]> => {
  const { rows } = await sql<{ version: number }>`
    select version from ordering.menu_imports
    where restuid = ${restuid} and client_id = ${historyOwner(owner)} and version > base_version
    order by version desc limit ${revertibleMax}`.execute(db);
  return rows.map(({ version }) => version);
};

/** Deletes states that no revert can need any more. Every import that makes a version calls it. */
export const forgetOldStates = async (tx: Kysely<unknown>, restuid: string, owner: string | null): Promise<void> => {
  const oldest = (await listRevertible(tx, restuid, owner))[revertibleMax - 1];
  if (oldest === undefined) return;
  await sql`
    delete from ordering.menu_undo
    where restuid = ${restuid} and client_id = ${historyOwner(owner)} and version <= ${oldest}`.execute(tx);
};

const firstSince = (restuid: string, owner: string | null, kind: string, version: number) => sql`
  select distinct on (u.uid) u.uid, u.document from ordering.menu_undo u
  where u.restuid = ${restuid} and u.client_id = ${historyOwner(owner)} and u.kind = ${kind} and u.version > ${version}
  order by u.uid, u.version`;

/**
 * Categories and products of an owner that were changed since `version`, by uid. Not those that are removed and did not
 * exist then either: each import may have made new ones.
 */
export const loadChangedSince = async (
  tx: Kysely<unknown>,
  restuid: string,
  owner: string | null,
  version: number,
): Promise<{ categories: ChangedSince<StoredCategory>[]; products: ChangedSince<StoredProduct>[] }> => {
  const load = async <E>(kind: 'category' | 'product', toElement: (row: Document) => E): Promise<ChangedSince<E>[]> => {
    const table = kind === 'category' ? sql`ordering.categories` : sql`ordering.products`;
    const rows = await readInPages(
      tx,
      sql<{ uid: string; now: Document; was: Document | null }>`
        select f.uid, to_jsonb(e.*) as now, f.document as was
        from (${firstSince(restuid, owner, kind, version)}) f
        join ${table} e on e.restuid = ${restuid} and e.uid = f.uid
        where e.removed_at is null or (f.document is not null and f.document ->> 'removed_at' is null)
        order by f.uid`,
    );
    return rows.map((row) => ({ now: toElement(row.now), was: row.was === null ? null : toElement(row.was) }));
  };
  return { categories: await load('category', toCategory), products: await load('product', toProduct) };
};

/** A table row as JSON: the members of the element, and columns that only the table has. */
type Document = StoredCategory & StoredProduct & { removed_at: string | null };

const toCategory = (row: Document): StoredCategory => ({
  uid: row.uid,
  name: row.name,
  description: row.description,
  image: row.image,
  url: row.url,
  hidden: row.hidden,
  position: row.position,
  subrestaurant_uids: row.subrestaurant_uids,
  ext_id: row.ext_id,
  options: row.options,
  pos_uid: row.pos_uid,
  removed: row.removed_at !== null,
});

const toProduct = (row: Document): StoredProduct => ({
  uid: row.uid,
  category_uid: row.category_uid,
  name: row.name,
  ingredients: row.ingredients,
  price: row.price,
  prices_table: row.prices_table,
  image: row.image,
  allergens: row.allergens,
  symbols: row.symbols,
  suggested: row.suggested,
  price_sale_alert: row.price_sale_alert,
  price_sale_badge: row.price_sale_badge,
  checkout_selling: row.checkout_selling,
  url: row.url,
  hidden: row.hidden,
  position: row.position,
  subrestaurant_uids: row.subrestaurant_uids,
  ext_id: row.ext_id,
  inherits_options: row.inherits_options,
  options: row.options,
  copied_options: row.copied_options,
  pos_uid: row.pos_uid,
  removed: row.removed_at !== null,
});

export type UnchangedCounts = { categories: number; products: number; options: number; option_values: number };

/** The number of elements of an owner that exist and have not changed since `version`. */
export const countUnchanged = async (
  tx: Kysely<unknown>,
  restuid: string,
  owner: string | null,
  version: number,
): Promise<UnchangedCounts> => {
  const counts: UnchangedCounts = { categories: 0, products: 0, options: 0, option_values: 0 };
  for (const kind of ['category', 'product'] as const) {
    const table = kind === 'category' ? sql`ordering.categories` : sql`ordering.products`;
    const { rows } = await sql<{ elements: number; options: number; option_values: number }>`
      select count(*) as elements, coalesce(sum(o.options), 0)::bigint as options,
        coalesce(sum(o.option_values), 0)::bigint as option_values
      from ${table} e
      cross join lateral (
        select count(*) as options, coalesce(sum((
          select count(*) from jsonb_array_elements(option -> 'option_values') v where not v ? 'removed')), 0) as option_values
        from jsonb_array_elements(e.options) option where not option ? 'removed') o
      where e.restuid = ${restuid} and coalesce(e.owner_client, '') = coalesce(${owner}::text, '')
        and e.ext_id is not null and e.removed_at is null
        and not exists (select from ordering.menu_undo u where u.restuid = ${restuid}
          and u.client_id = ${historyOwner(owner)} and u.kind = ${kind} and u.uid = e.uid and u.version > ${version})`.execute(
      tx,
    );
    const row = rows[0];
    counts[kind === 'category' ? 'categories' : 'products'] += row?.elements ?? 0;
    counts.options += row?.options ?? 0;
    counts.option_values += row?.option_values ?? 0;
  }
  return counts;
};
