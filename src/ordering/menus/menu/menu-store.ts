/** Menus as readers see them, from PostgreSQL: elements that are not removed, with the options that apply. */

import { type Kysely, type RawBuilder, sql } from 'kysely';
import { fragment, statement } from '#src/platform/db/driver/statement.ts';
import { aliveOptions, applyingOptions } from './applying-options.ts';
import type { Category, Option, Product, ProductOnSale } from './menu.ts';

const categoryMembers = sql`
  c.uid, c.name, c.description, c.image, c.url, c.hidden, c.position, c.subrestaurant_uids, c.ext_id`;

/**
 * The options of a column without those that were removed: they wait for the import that sends them again, and there may be
 * more of them than there are others. Most columns have none, and are not written anew.
 */
export const withoutRemoved = (options: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  case when ${options} @? '$[*] ? (exists(@.removed) || exists(@.option_values[*].removed))' then (
    select coalesce(jsonb_agg(option || jsonb_build_object('option_values', (
      select coalesce(jsonb_agg(v order by place), '[]')
      from jsonb_array_elements(option -> 'option_values') with ordinality as each (v, place) where not v ? 'removed'
    )) order by number), '[]')
    from jsonb_array_elements(${options}) with ordinality as all_options (option, number) where not option ? 'removed')
  else ${options} end`;

/** Bytes of a stored document, compressed. Most are smaller, and to narrow those would cost more than to read them. */
const largeBytes = sql.lit(4096);

/**
 * The options of a column as an order needs them: `named.keys` has the uids that it names. A value that is not named matters
 * only where an option is required, and there one value of each kind stands for all: those with the same locations and the
 * same named values of the primary option. Restrictions to other values can allow nothing.
 */
const forOrder = (options: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  case when pg_column_size(${options}) > ${largeBytes} then (
    select coalesce(jsonb_agg(option || jsonb_build_object('note', null, 'option_values', (
      select coalesce(jsonb_agg(v || jsonb_build_object('restrict_to_primary_value_uids', allowing) order by place), '[]')
      from (
        select distinct on (kind) v, allowing, place
        from jsonb_array_elements(option -> 'option_values') with ordinality as each (v, place),
        lateral (select case when v -> 'restrict_to_primary_value_uids' = '[]' then '[]' else (
          select jsonb_agg(value_uid) from jsonb_array_elements_text(v -> 'restrict_to_primary_value_uids') as r (value_uid)
          where named.keys ? value_uid) end as allowing) a,
        lateral (select case when named.keys ? (v ->> 'uid') then v ->> 'uid'
          else concat(v ->> 'subrestaurant_uids', allowing) end as kind) k
        where not v ? 'removed' and v -> 'hidden' = 'false' and allowing is not null
        order by kind, place
      ) chosen
    )) order by number), '[]')
    from jsonb_array_elements(${options}) with ordinality as all_options (option, number)
    where not option ? 'removed' and option -> 'hidden' = 'false' and (named.keys ? (option ->> 'uid')
      or (option -> 'min_selectable')::integer > 0 or option -> 'primary' = 'true'))
  else ${withoutRemoved(options)} end`;

const orderedOptions = {
  ofProduct: sql`${forOrder(sql`p.copied_options`)} as copied_options, ${forOrder(sql`p.options`)} as options`,
  ofCategory: sql`${forOrder(sql`c.options`)} as options`,
};

const categoryOptions = sql`${withoutRemoved(sql`c.options`)} as options`;

const categoryColumns = sql`${categoryMembers}, ${categoryOptions}`;

const productMembers = sql`
  p.uid, p.category_uid, p.name, p.ingredients, p.price, p.prices_table, p.image, p.allergens, p.symbols, p.suggested,
  p.price_sale_alert, p.price_sale_badge, p.checkout_selling, p.url, p.hidden, p.position, p.subrestaurant_uids, p.ext_id,
  p.inherits_options, p.offline_uid`;

const productColumns = sql`${productMembers}, p.copied_options, ${withoutRemoved(sql`p.options`)} as options`;

/** Rows of a list are weighed before their options are read, so the columns of both kinds of options are parts of it. */
export const listedProduct = {
  stored: sql`${productMembers}, p.copied_options, p.options`,
  shown: productColumns,
};

export type ProductRow = Product & { copied_options: Option[] | null; offline_uid: string | null };

/** The category stands in the row of one of its products; in those of the others it is null. */
type ProductAndCategory = ProductRow & { category: Omit<Category, 'options'> | null; category_options: Option[] };

/** Each category stands in the row of the product whose place is 1: one that many products share is read once. */
const namedProducts = (restuid: string, uids: readonly string[]) => fragment`(
  select p.*, row_number() over (partition by p.category_uid order by p.uid) as place
  from ordering.products p
  where p.restuid = ${restuid} and p.uid = any(${[...new Set(uids)]}::text[]) and p.removed_at is null) p`;

const categoryOfProduct = (restuid: string) => fragment`
  (select to_json(named) from (select ${categoryMembers}) named) as category
  from ordering.categories c
  where p.place = 1 and c.restuid = ${restuid} and c.uid = p.category_uid and c.removed_at is null`;

/**
 * The named products that are not removed, by uid. Hidden products are included, unknown uids are missing. Products and
 * categories are read by one statement, because an import may commit between two, and they would be of two versions of the
 * menu. The options of a category, which may be large, stay outside its JSON.
 */
export const loadProductsOnSale = async (
  db: Kysely<unknown>,
  restuid: string,
  uids: readonly string[],
): Promise<Map<string, ProductOnSale>> => {
  const { rows } = await statement<ProductAndCategory>`
    select ${productColumns}, c.category, c.options as category_options
    from ${namedProducts(restuid, uids)}
    left join lateral (select ${categoryOptions}, ${categoryOfProduct(restuid)}) c on true`.execute(db);
  return productsOf(rows);
};

/** The products, options and values that the lines of an order name. */
export type NamedInOrder = {
  product: { uid: string };
  options: readonly { uid: string; values: readonly { uid: string }[] }[];
};

/**
 * The same for an order. Of large options only those are read that the order names or must choose from, of their values only
 * the named ones and one of each kind that decides whether a value can be chosen: the core reads the same in every menu.
 */
export const loadOrderedProducts = async (
  db: Kysely<unknown>,
  restuid: string,
  lines: readonly NamedInOrder[],
): Promise<Map<string, ProductOnSale>> => {
  const named = lines.flatMap(({ options }) =>
    options.flatMap(({ uid, values }) => [uid, ...values.map((v) => v.uid)]),
  );
  const keys = JSON.stringify(Object.fromEntries(named.map((uid) => [uid, 0])));
  const { rows } = await statement<ProductAndCategory>`
    select ${productMembers}, ${orderedOptions.ofProduct}, c.category, c.options as category_options
    from (select ${keys}::jsonb as keys) named,
    ${namedProducts(
      restuid,
      lines.map(({ product }) => product.uid),
    )}
    left join lateral (
      select ${orderedOptions.ofCategory}, ${categoryOfProduct(restuid)}
    ) c on true`.execute(db);
  return productsOf(rows);
};

const productsOf = (rows: readonly ProductAndCategory[]): Map<string, ProductOnSale> => {
  const categories = rows.flatMap(({ category, category_options: options }) =>
    category === null ? [] : [{ ...category, options }],
  );
  const products = rows.map(({ category: _category, category_options: _options, ...product }) => product);
  return onSale(products, byUid(categories));
};

export const onSale = (
  products: readonly ProductRow[],
  categories: Map<string, Category>,
): Map<string, ProductOnSale> => {
  const found = new Map<string, ProductOnSale>();
  for (const { copied_options, offline_uid, ...product } of products) {
    const category = categories.get(product.category_uid);
    // Where both are read one after the other, another transaction may have removed the category between.
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

export const loadCategories = async (
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

/** Triggers maintain these counts: counting the products of a hundred categories would read the whole menu. */
const productsCount = sql`coalesce((select sum(t.count) from ordering.tallies t
    where t.restuid = c.restuid and t.name = 'products shown ' || c.uid), 0)::integer as products_count`;

export const listedCategory = {
  stored: sql`${categoryMembers}, c.options, ${productsCount}`,
  shown: sql`${categoryColumns}, c.products_count`,
};

export const findCategory = async (
  db: Kysely<unknown>,
  restuid: string,
  uid: string,
): Promise<ListedCategory | undefined> => {
  const { rows } = await sql<ListedCategory>`
    select ${categoryColumns}, ${productsCount} from ordering.categories c
    where c.restuid = ${restuid} and c.uid = ${uid} and c.removed_at is null`.execute(db);
  return rows.map((row) => ({ ...row, options: aliveOptions(row.options) }))[0];
};

/** 0 before the first change of the menu. */
export const menuVersion = async (db: Kysely<unknown>, restuid: string): Promise<number> => {
  const { rows } = await sql<{ version: number }>`
    select version from ordering.menus where restuid = ${restuid}`.execute(db);
  return rows[0]?.version ?? 0;
};
