/** The lists of a menu in PostgreSQL, by position. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Key, type Listed, type ListQuery, lookMax, readList, type Way } from '#src/platform/db/bounded-list.ts';
import { aliveOptions } from './applying-options.ts';
import type { ProductOnSale } from './menu.ts';
import {
  type ListedCategory,
  listedCategory,
  listedProduct,
  loadCategories,
  onSale,
  type ProductRow,
} from './menu-store.ts';

/**
 * `visibleOnly` leaves out hidden elements and the products of hidden categories. `part`: part of the name, without
 * case.
 */
export type MenuFilter = { visibleOnly: boolean; part?: string | undefined };

type Condition = RawBuilder<unknown>;

// The caller's text is searched for literally (position); as a LIKE pattern its `%` and `_` would be wildcards.
const holding = (column: Condition, part: string | undefined): Condition =>
  part === undefined ? sql`true` : sql`position(lower(${part}::text) in lower(${column})) > 0`;

const position = sql`integer`;
const uid = sql`text collate "C"`;

export const listCategories = async (
  db: Kysely<unknown>,
  restuid: string,
  filter: MenuFilter,
  query: ListQuery,
): Promise<Listed<ListedCategory>> => {
  const tenant = sql`c.restuid = ${restuid}`;
  const range = sql`${tenant} and c.removed_at is null ${filter.visibleOnly ? sql`and not c.hidden` : sql``}`;
  const source = {
    table: sql`ordering.categories`,
    alias: 'c',
    tables: sql`ordering.categories c`,
    tenant,
    columns: listedCategory.stored,
    shown: listedCategory.shown,
    weight: sql`pg_column_size(c.options)`,
    isAscending: true,
    key: [
      { column: sql`c.position`, type: position },
      { column: sql`c.uid`, type: uid },
    ],
    fits: holding(sql`c.name`, filter.part),
    ways: [{ ranges: [range], inSequence: true, isWhole: filter.part === undefined }],
  };
  const listed = await readList<ListedCategory>(db, source, query, (row) => [row.position, row.uid]);
  return { ...listed, rows: listed.rows.map((row) => ({ ...row, options: aliveOptions(row.options) })) };
};

/** Products of one page at most; a small category has no more. */
const productsLook = 500;

type ProductFilter = MenuFilter & { categoryUid?: string | undefined };

type PlacedProduct = ProductRow & { category_position: number };

/** By the position of the category, then by their own. */
export const listProducts = async (
  db: Kysely<unknown>,
  restuid: string,
  filter: ProductFilter,
  query: ListQuery,
): Promise<Listed<ProductOnSale>> => {
  const source = {
    table: sql`ordering.products`,
    alias: 'p',
    tables: sql`ordering.products p join ordering.categories c on c.restuid = p.restuid and c.uid = p.category_uid`,
    tenant: sql`p.restuid = ${restuid}`,
    columns: sql`${listedProduct.stored}, c.position as category_position`,
    shown: sql`${listedProduct.shown}, p.category_position`,
    // An answer repeats the options of the category in each product that has them.
    weight: sql`pg_column_size(p.options) + coalesce(pg_column_size(p.copied_options), 0)
      + case when p.inherits_options = 'sync' then pg_column_size(c.options) else 0 end`,
    key: [
      { column: sql`c.position`, type: position },
      { column: sql`c.uid`, type: uid },
      { column: sql`p.position`, type: position },
      { column: sql`p.uid`, type: uid },
    ],
    isAscending: true,
    fits: sql`true`,
    look: productsLook,
    ways: [productsWay(restuid, filter)],
  };
  const keyOf = (row: PlacedProduct): Key => [row.category_position, row.category_uid, row.position, row.uid];
  const total = () => countProducts(db, restuid, filter);
  const listed = await readList<PlacedProduct>(db, source, query, keyOf, filter.part === undefined ? total : undefined);
  const uids = [...new Set(listed.rows.map((row) => row.category_uid))];
  const categories = await loadCategories(db, restuid, uids);
  const rows = listed.rows.map(({ category_position: _position, ...row }) => row);
  return { ...listed, rows: [...onSale(rows, categories).values()] };
};

const categoriesOf = (restuid: string, { visibleOnly, categoryUid }: ProductFilter): Condition => sql`
  c.restuid = ${restuid} and c.removed_at is null ${visibleOnly ? sql`and not c.hidden` : sql``}
    ${categoryUid === undefined ? sql`` : sql`and c.uid = ${categoryUid}`}`;

/** The rest of the category in which the previous page ended, then category by category. */
const productsWay = (restuid: string, filter: ProductFilter): Way => {
  const fits = holding(sql`p.name`, filter.part);
  const products = (of: Condition, limit: number): Condition => sql`
    select p.position, p.uid, (${fits}) as fits from ordering.products p
    where p.restuid = ${restuid} and p.category_uid = c.uid and p.removed_at is null
      ${filter.visibleOnly ? sql`and not p.hidden` : sql``} and ${of} order by p.position, p.uid limit ${limit}`;
  // The categories are read first, not in a subquery: with many categories PostgreSQL would plan to read and sort them
  // all.
  const walk = (ofCategories: Condition, ofProducts: Condition, limit: number): Condition => sql`
    select c.position as k0, c.uid as k1, p.position as k2, p.uid as k3, p.fits
    from ordering.categories c cross join lateral (${products(ofProducts, limit)}) as p
    where ${categoriesOf(restuid, filter)} and ${ofCategories}`;
  const candidates = (after: Key | undefined, limit: number): Condition => {
    const sequence = sql`order by k0, k1, k2, k3 limit ${limit}`;
    const all = (of: Condition): Condition => sql`${walk(of, sql`true`, limit)} ${sequence}`;
    if (after === undefined) return all(sql`true`);
    const [k0, k1, k2, k3] = after;
    const here = sql`c.position = ${k0}::integer and c.uid = ${k1}::${uid}`;
    const left = sql`(p.position, p.uid) > (${k2}::integer, ${k3}::${uid})`;
    return sql`
      select * from (
        (${walk(here, left, limit)})
        union all
        (${all(sql`(c.position, c.uid) > (${k0}::integer, ${k1}::${uid})`)})
      ) as both_parts ${sequence}`;
  };
  return { ranges: [sql`true`], inSequence: true, isWhole: filter.part === undefined, candidates };
};

/** Triggers maintain a count for each category. Null when there are too many categories to add the counts up. */
const countProducts = async (db: Kysely<unknown>, restuid: string, filter: ProductFilter): Promise<number | null> => {
  const name = filter.visibleOnly ? 'products shown ' : 'products ';
  const { rows } = await sql<{ categories: number; total: number }>`
    with counted as materialized (
      select c.uid from ordering.categories c where ${categoriesOf(restuid, filter)} limit ${lookMax + 1}
    )
    select (select count(*) from counted) as categories, coalesce(sum(t.count), 0)::bigint as total
    from counted c join ordering.tallies t on t.restuid = ${restuid} and t.name = ${name} || c.uid`.execute(db);
  const [row] = rows;
  return row === undefined || row.categories > lookMax ? null : row.total;
};
