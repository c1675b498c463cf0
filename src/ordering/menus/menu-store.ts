/** Menus as readers see them, from PostgreSQL: elements that are not removed, with the options that apply. */

import { type Kysely, type RawBuilder, sql } from 'kysely';
import { fragment, statement } from '#src/platform/db/statement.ts';
import { aliveOptions, applyingOptions } from './applying-options.ts';
import type { Category, Option, Product, ProductOnSale } from './menu.ts';

const categoryColumns = sql`
  c.uid, c.name, c.description, c.image, c.url, c.hidden, c.position, c.subrestaurant_uids, c.ext_id, c.options`;

const productColumns = sql`
  p.uid, p.category_uid, p.name, p.ingredients, p.price, p.prices_table, p.image, p.allergens, p.symbols, p.suggested,
  p.price_sale_alert, p.price_sale_badge, p.checkout_selling, p.url, p.hidden, p.position, p.subrestaurant_uids, p.ext_id,
  p.inherits_options, p.options, p.copied_options, p.offline_uid`;

type ProductRow = Product & { copied_options: Option[] | null; offline_uid: string | null };

/**
 * The named products that are not removed, hidden ones too, by uid; unknown uids are simply missing. Two statements
 * whatever their number: a category that many products share is read once.
 */
export const loadProductsOnSale = async (
  db: Kysely<unknown>,
  restuid: string,
  uids: readonly string[],
): Promise<Map<string, ProductOnSale>> => {
  const asked = fragment`
    from ordering.products p
    where p.restuid = ${restuid} and p.uid = any(${[...new Set(uids)]}::text[]) and p.removed_at is null`;
  // Neither waits for the other.
  const [products, categories] = await Promise.all([
    statement<ProductRow>`select ${productColumns} ${asked}`.execute(db),
    statement<Category>`
      select ${categoryColumns} from ordering.categories c
      where c.restuid = ${restuid} and c.uid = any(select p.category_uid ${asked}) and c.removed_at is null`.execute(
      db,
    ),
  ]);
  return onSale(products.rows, byUid(categories.rows));
};

const onSale = (products: readonly ProductRow[], categories: Map<string, Category>): Map<string, ProductOnSale> => {
  const found = new Map<string, ProductOnSale>();
  for (const { copied_options, offline_uid, ...product } of products) {
    const category = categories.get(product.category_uid);
    // Between the two statements the category may have gone, and its products with it.
    if (category === undefined) continue;
    const options = applyingOptions({ ...product, copied_options }, category.options);
    found.set(product.uid, {
      product: { ...product, options: aliveOptions(product.options) },
      category,
      options,
      offlineUid: offline_uid,
    });
  }
  return found;
};

const loadCategories = async (
  db: Kysely<unknown>,
  restuid: string,
  uids: readonly string[],
): Promise<Map<string, Category>> => {
  const { rows } = await statement<Category>`
    select ${categoryColumns} from ordering.categories c
    where c.restuid = ${restuid} and c.uid = any(${uids}::text[]) and c.removed_at is null`.execute(db);
  return byUid(rows);
};

const byUid = (rows: readonly Category[]): Map<string, Category> =>
  new Map(rows.map((row) => [row.uid, { ...row, options: aliveOptions(row.options) }]));

/** A category and how many of its products are not hidden. */
export type ListedCategory = Category & { products_count: number };

const withCount = sql`
  ${categoryColumns}, (select count(*) from ordering.products p
    where p.restuid = c.restuid and p.category_uid = c.uid and p.removed_at is null and not p.hidden) as products_count`;

export const findCategory = async (
  db: Kysely<unknown>,
  restuid: string,
  uid: string,
): Promise<ListedCategory | undefined> => {
  const { rows } = await sql<ListedCategory>`
    select ${withCount} from ordering.categories c
    where c.restuid = ${restuid} and c.uid = ${uid} and c.removed_at is null`.execute(db);
  return rows.map((row) => ({ ...row, options: aliveOptions(row.options) }))[0];
};

/** `visibleOnly`: not hidden ones; for products neither those of hidden categories. `part`: of the name, without case. */
export type MenuFilter = { visibleOnly: boolean; part?: string | undefined };
export type Page = { offset: number; limit: number };
export type Listed<T> = { items: T[]; total: number };

// What a caller types is text, not a pattern, so it is looked for and not matched.
const holding = (column: RawBuilder<unknown>, part: string | undefined): RawBuilder<unknown> =>
  part === undefined ? sql`true` : sql`position(lower(${part}::text) in lower(${column})) > 0`;

export const listCategories = async (
  db: Kysely<unknown>,
  restuid: string,
  filter: MenuFilter,
  page: Page,
): Promise<Listed<ListedCategory>> => {
  const matching = sql`
    from ordering.categories c where c.restuid = ${restuid} and c.removed_at is null
      and (not c.hidden or not ${filter.visibleOnly}::boolean) and ${holding(sql`c.name`, filter.part)}`;
  const { rows } = await sql<ListedCategory>`
    select ${withCount} ${matching} order by c.position, c.uid limit ${page.limit} offset ${page.offset}`.execute(db);
  const items = rows.map((row) => ({ ...row, options: aliveOptions(row.options) }));
  return { items, total: await count(db, matching) };
};

export const listProducts = async (
  db: Kysely<unknown>,
  restuid: string,
  filter: MenuFilter & { categoryUid?: string | undefined },
  page: Page,
): Promise<Listed<ProductOnSale>> => {
  const inCategory = filter.categoryUid === undefined ? sql`true` : sql`p.category_uid = ${filter.categoryUid}`;
  const matching = sql`
    from ordering.products p join ordering.categories c on c.restuid = p.restuid and c.uid = p.category_uid
    where p.restuid = ${restuid} and p.removed_at is null and c.removed_at is null and ${inCategory}
      and (not (p.hidden or c.hidden) or not ${filter.visibleOnly}::boolean) and ${holding(sql`p.name`, filter.part)}`;
  // Sorted by key alone first: a deep page must not carry the documents of all the products before it.
  const { rows } = await sql<ProductRow>`
    with listed as (
      select p.uid, row_number() over (order by c.position, c.uid, p.position, p.uid) as place ${matching}
      order by place limit ${page.limit} offset ${page.offset}
    )
    select ${productColumns} from listed join ordering.products p on p.restuid = ${restuid} and p.uid = listed.uid
    order by listed.place`.execute(db);
  const uids = [...new Set(rows.map((row) => row.category_uid))];
  const items = onSale(rows, await loadCategories(db, restuid, uids));
  return { items: [...items.values()], total: await count(db, matching) };
};

const count = async (db: Kysely<unknown>, matching: RawBuilder<unknown>): Promise<number> => {
  const { rows } = await sql<{ total: number }>`select count(*) as total ${matching}`.execute(db);
  return rows[0]?.total ?? 0;
};
