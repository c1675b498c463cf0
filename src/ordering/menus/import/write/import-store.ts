/** Reads and writes the menu of an import in PostgreSQL, in bulk: one statement for hundreds of elements. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Pace } from '#src/platform/pace.ts';
import { withoutRemoved } from '../../menu/menu-store.ts';
import type { ChangeNames } from '../plan/change-names.ts';
import type { ImportChanges } from '../plan/plan-import.ts';
import type { CurrentMenu, StoredCategory, StoredProduct } from '../plan/stored-menu.ts';
import type { ImportTerms } from '../read/import-terms.ts';
import { readInPages } from './rows-store.ts';

/**
 * Locks the menu of the restaurant until the transaction ends, so that its imports run one after the other. Returns the
 * version of the menu, 0 before its first change.
 */
export const lockMenu = async (tx: Kysely<unknown>, restuid: string): Promise<number> => {
  await sql`
    insert into ordering.menus (restuid, version) values (${restuid}, 0) on conflict (restuid) do nothing`.execute(tx);
  const { rows } = await sql<{ version: number }>`
    select version from ordering.menus where restuid = ${restuid} for update`.execute(tx);
  const version = rows[0]?.version;
  if (version === undefined) throw new Error('the row of the menu is gone');
  return version;
};

/** Raises the version of a locked menu. Returns the new version. */
export const raiseVersion = async (tx: Kysely<unknown>, restuid: string): Promise<number> => {
  const { rows } = await sql<{ version: number }>`
    update ordering.menus set version = version + 1 where restuid = ${restuid} returning version`.execute(tx);
  const version = rows[0]?.version;
  if (version === undefined) throw new Error('the row of the menu is gone');
  return version;
};

/** The ext_ids in an import. `referred`: the categories that its products name. */
export type NamedElements = {
  categories: readonly string[];
  products: readonly string[];
  referred: readonly string[];
};

type Loading = Pick<ImportTerms, 'mode' | 'posUid'> & {
  restuid: string;
  owner: string | null;
  /** Without the options and values that were removed inside the named elements: together they are too many. */
  isWithoutRemoved: boolean;
};

/**
 * The elements of an owner (null: the panel) in a locked menu. Of the removed elements only those that are `named`: the
 * others may be a long history. Elements that are not named come without options, unless the plan needs these: what a
 * replace removes, what a category gives to its products, and primary options that a named category may double.
 */
export const loadCurrentMenu = async (
  tx: Kysely<unknown>,
  { restuid, owner, mode, posUid, isWithoutRemoved }: Loading,
  named: NamedElements,
): Promise<Omit<CurrentMenu, 'version'>> => {
  const among = (extIds: readonly string[]) => sql`ext_id = any(${extIds}::text[])`;
  const own = sql`restuid = ${restuid} and coalesce(owner_client, '') = coalesce(${owner}::text, '') and ext_id is not null`;
  const inReach = sql`(${mode} = 'replace' and pos_uid = ${posUid})`;
  const optionsOf = (extIds: readonly string[], needed: RawBuilder<unknown>) => sql`
    case when ${among(extIds)} then ${isWithoutRemoved ? notRemoved : sql`options`}
      when ${inReach} or ${needed} then ${notRemoved} else '[]' end as options`;
  const referred = sql`(${among(named.referred)} or uid in (
    select category_uid from ordering.products where ${own} and ${among(named.products)}))`;
  const categories = await readInPages(
    tx,
    sql<StoredCategory>`
      select uid, name, description, image, url, hidden, position, subrestaurant_uids, ext_id, pos_uid,
        ${optionsOf(named.categories, referred)}, removed_at is not null as removed
      from ordering.categories where ${own} and (removed_at is null or ${among(named.categories)}) order by ext_id`,
  );
  const doubled = sql`(options @> '[{"primary": true}]' and category_uid in (
    select uid from ordering.categories where ${own} and ${among(named.categories)}))`;
  const products = await readInPages(
    tx,
    sql<StoredProduct>`
      select uid, category_uid, name, ingredients, price, prices_table, image, allergens, symbols, suggested,
        price_sale_alert, price_sale_badge, checkout_selling, url, hidden, position, subrestaurant_uids, ext_id,
        inherits_options, ${optionsOf(named.products, doubled)},
        case when ${among(named.products)} then copied_options end as copied_options, pos_uid,
        removed_at is not null as removed
      from ordering.products where ${own} and (removed_at is null or ${among(named.products)}) order by ext_id`,
  );
  return { categories, products, sharedCategories: await loadSharedCategories(tx, restuid, owner) };
};

const notRemoved = withoutRemoved(sql`options`);

/** Categories of `owner` that contain products of other owners. */
export const loadSharedCategories = async (
  tx: Kysely<unknown>,
  restuid: string,
  owner: string | null,
): Promise<ReadonlySet<string>> => {
  const { rows } = await sql<{ uid: string }>`
    select distinct p.category_uid as uid
    from ordering.products p join ordering.categories c on c.restuid = p.restuid and c.uid = p.category_uid
    where p.restuid = ${restuid} and p.removed_at is null
      and coalesce(c.owner_client, '') = coalesce(${owner}::text, '')
      and (coalesce(p.owner_client, '') <> coalesce(${owner}::text, '') or p.ext_id is null)`.execute(tx);
  return new Set(rows.map(({ uid }) => uid));
};

type Target = { restuid: string; owner: string | null };

/** Elements of one kind in their new form, as the JSON text of an array. */
export type Batch = { kind: 'category' | 'product'; documents: string; count: number };

/** Characters of the documents in one statement: serialising more at once would block other requests. */
const batchCharactersMax = 64_000;

/** The changed elements in batches. Categories come first, because products refer to them. */
export async function* batchesOf(
  { categories, products }: Pick<ImportChanges, 'categories' | 'products'>,
  pace: Pace,
): AsyncGenerator<Batch> {
  yield* batchesOfKind('category', categories, pace);
  yield* batchesOfKind('product', products, pace);
}

async function* batchesOfKind(kind: Batch['kind'], elements: readonly object[], pace: Pace): AsyncGenerator<Batch> {
  let texts: string[] = [];
  let characters = 0;
  const take = (): Batch => {
    const batch = { kind, documents: `[${texts.join(',')}]`, count: texts.length };
    texts = [];
    characters = 0;
    return batch;
  };
  for (const element of elements) {
    const text = JSON.stringify(element);
    texts.push(text);
    characters += text.length;
    if (characters > batchCharactersMax) yield take();
    const pause = pace();
    if (pause !== undefined) await pause;
  }
  if (texts.length > 0) yield take();
}

/** Writes a batch to a locked menu; the caller raises the version. */
export const writeBatch = async (tx: Kysely<unknown>, target: Target, { kind, documents }: Batch): Promise<void> => {
  await (kind === 'category' ? upsertCategories : upsertProducts)(target, documents).execute(tx);
};

export const removeElements = async (
  tx: Kysely<unknown>,
  restuid: string,
  { categories, products }: Pick<ChangeNames, 'categories' | 'products'>,
  now: Date,
): Promise<void> => {
  await sql`
    update ordering.products set removed_at = ${now}
    where restuid = ${restuid} and uid = any(${products.removed.map(({ uid }) => uid)}::text[])`.execute(tx);
  await sql`
    update ordering.categories set removed_at = ${now}
    where restuid = ${restuid} and uid = any(${categories.removed.map(({ uid }) => uid)}::text[])`.execute(tx);
};

/** Assigns elements that a replace sent unchanged to its point of sale. */
export const moveElements = async (
  tx: Kysely<unknown>,
  restuid: string,
  posUid: string,
  { movedCategories, movedProducts }: Pick<ChangeNames, 'movedCategories' | 'movedProducts'>,
): Promise<void> => {
  await sql`
    update ordering.categories set pos_uid = ${posUid}
    where restuid = ${restuid} and uid = any(${movedCategories}::text[])`.execute(tx);
  await sql`
    update ordering.products set pos_uid = ${posUid}
    where restuid = ${restuid} and uid = any(${movedProducts}::text[])`.execute(tx);
};

type Upsert = (target: Target, documents: string) => RawBuilder<unknown>;

/** Inserts new elements and replaces known ones; a removed one is restored. */
const upsertCategories: Upsert = ({ restuid, owner }, documents) => sql`
  insert into ordering.categories (restuid, uid, owner_client, ext_id, pos_uid, name, description, image, url, hidden,
    position, subrestaurant_uids, options)
  select ${restuid}, e.uid, ${owner}::text, e.ext_id, e.pos_uid, e.name, e.description, e.image, e.url, e.hidden,
    e.position, e.subrestaurant_uids, e.options
  from jsonb_to_recordset(${documents}::jsonb) as e (uid text, ext_id text, pos_uid text, name text, description text,
    image text, url text, hidden boolean, position integer, subrestaurant_uids text[], options jsonb)
  on conflict (restuid, uid) do update set pos_uid = excluded.pos_uid, name = excluded.name,
    description = excluded.description, image = excluded.image, hidden = excluded.hidden, position = excluded.position,
    subrestaurant_uids = excluded.subrestaurant_uids, options = excluded.options, removed_at = null`;

const upsertProducts: Upsert = ({ restuid, owner }, documents) => sql`
  insert into ordering.products (restuid, uid, owner_client, ext_id, pos_uid, category_uid, name, ingredients, price,
    prices_table, image, allergens, symbols, suggested, price_sale_alert, price_sale_badge, checkout_selling, url, hidden,
    position, subrestaurant_uids, inherits_options, copied_options, options)
  select ${restuid}, e.uid, ${owner}::text, e.ext_id, e.pos_uid, e.category_uid, e.name, e.ingredients, e.price,
    e.prices_table, e.image, e.allergens, e.symbols, e.suggested, e.price_sale_alert, e.price_sale_badge,
    e.checkout_selling, e.url, e.hidden, e.position, e.subrestaurant_uids, e.inherits_options,
    nullif(e.copied_options, 'null'::jsonb), e.options
  from jsonb_to_recordset(${documents}::jsonb) as e (uid text, ext_id text, pos_uid text, category_uid text, name text,
    ingredients text, price bigint, prices_table jsonb, image text, allergens text[], symbols text[], suggested boolean,
    price_sale_alert boolean, price_sale_badge integer, checkout_selling boolean, url text, hidden boolean,
    position integer, subrestaurant_uids text[], inherits_options text, copied_options jsonb, options jsonb)
  on conflict (restuid, uid) do update set pos_uid = excluded.pos_uid, category_uid = excluded.category_uid,
    name = excluded.name, ingredients = excluded.ingredients, price = excluded.price,
    prices_table = excluded.prices_table, image = excluded.image, allergens = excluded.allergens,
    symbols = excluded.symbols, suggested = excluded.suggested, price_sale_alert = excluded.price_sale_alert,
    price_sale_badge = excluded.price_sale_badge, checkout_selling = excluded.checkout_selling,
    hidden = excluded.hidden, position = excluded.position, subrestaurant_uids = excluded.subrestaurant_uids,
    inherits_options = excluded.inherits_options, copied_options = excluded.copied_options, options = excluded.options,
    removed_at = null`;
