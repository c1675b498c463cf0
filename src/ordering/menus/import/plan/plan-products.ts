/** Plans the sent products, and checks that their options fit the options of their category. Pure. */
import { aliveOptions, inheritedOptions } from '../../menu/applying-options.ts';
import type { Option } from '../../menu/menu.ts';
import { type ProductMembers, productMembers } from '../elements/members.ts';
import { type Drafted, type ImportTerms, posUidOf, restrictionsMax, type StoredElement } from '../read/import-terms.ts';
import type { SentCategory, SentMenu, SentProduct } from '../read/read-elements.ts';
import type { FieldChange } from '../report/report.ts';
import { followPrimary } from './kept-restrictions.ts';
import { isVisiblePrimary, type Planning, planOptions } from './plan-options.ts';
import { changesOf, resolveMembers } from './resolve-members.ts';
import type { CurrentMenu, StoredCategory, StoredProduct } from './stored-menu.ts';

type CategoryDrafts = readonly Drafted<SentCategory, StoredCategory>[];
type CategoryIndex = {
  byExtId: ReadonlyMap<string | null, StoredCategory>;
  byUid: ReadonlyMap<string, StoredCategory>;
  /** As they were before the import. */
  before: ReadonlyMap<string, StoredCategory>;
  /** Includes removed categories, so that the report can name the category that a product leaves. */
  extIds: ReadonlyMap<string, string | null>;
};
/** How many option values, and restrictions of them, this import has copied from categories to products. */
type PlanningProducts = Planning & { copiedValues: number; copiedRestrictions: number };

export const planProducts = async (
  current: CurrentMenu,
  sent: SentMenu,
  categories: CategoryDrafts,
  terms: ImportTerms,
  planning: Planning,
): Promise<Drafted<SentProduct, StoredProduct>[]> => {
  const known = new Map(current.products.map((product) => [product.ext_id, product]));
  const index = indexCategories(current, categories, terms);
  const drafts: Drafted<SentProduct, StoredProduct>[] = [];
  const counting: PlanningProducts = { ...planning, copiedValues: 0, copiedRestrictions: 0 };
  for (const each of sent.products) {
    drafts.push(await planProduct(each, known.get(each.extId), index, terms, counting));
    const pause = planning.pace();
    if (pause !== undefined) await pause;
  }
  checkPrimaries(
    current.products.filter((product) => stays(product, terms)),
    drafts,
    categories,
    planning,
  );
  return drafts;
};

/** Whether a stored element that is not sent is still there after the import. */
const stays = ({ removed, pos_uid }: StoredElement, { mode, posUid }: ImportTerms): boolean =>
  !removed && (mode === 'merge' || pos_uid !== posUid);

/**
 * Categories that a product may name: the sent ones, and the stored ones out of reach of a replace. One within its reach
 * that stays for products of others must be sent too: else they would decide whether the replace is valid.
 */
const indexCategories = (current: CurrentMenu, drafts: CategoryDrafts, terms: ImportTerms): CategoryIndex => {
  const sentIds = new Set(drafts.map(({ sent: { extId } }) => extId));
  const staying = current.categories.filter(
    (category) => stays(category, terms) && !sentIds.has(category.ext_id ?? ''),
  );
  const all = [...drafts.map(({ after }) => after), ...staying];
  return {
    byExtId: new Map(all.map((category) => [category.ext_id, category])),
    byUid: new Map(all.map((category) => [category.uid, category])),
    before: new Map(current.categories.map((category) => [category.uid, category])),
    extIds: new Map([...current.categories, ...all].map((category) => [category.uid, category.ext_id])),
  };
};

const planProduct = async (
  sent: SentProduct,
  before: StoredProduct | undefined,
  index: CategoryIndex,
  terms: ImportTerms,
  planning: PlanningProducts,
): Promise<Drafted<SentProduct, StoredProduct>> => {
  const base = terms.mode === 'merge' ? before : undefined;
  const members = resolveMembers<ProductMembers>(productMembers, sent, base, planning.findings);
  const category = findCategory(sent, base, index, planning);
  const categoryUid = category?.uid ?? before?.category_uid ?? '';
  const copied = await copiedOptions(sent, members, before, category?.options ?? [], planning);
  const alive = before !== undefined && !before.removed;
  const changes: FieldChange[] = alive ? changesOf<ProductMembers>(productMembers, before, members) : [];
  if (alive && before.category_uid !== categoryUid)
    changes.unshift({
      field: 'category_ext_id',
      from: index.extIds.get(before.category_uid) ?? null,
      to: index.extIds.get(categoryUid) ?? null,
    });
  const uid = before?.uid ?? planning.newUid('prd');
  const own = planning.ledger.note({
    kind: 'product',
    ext_id: sent.extId,
    uid,
    action: alive ? (changes.length > 0 ? 'updated' : 'unchanged') : 'created',
    pointer: sent.pointer,
    changes,
  });
  const sources = { inherits_options: members.inherits_options, copied_options: copied };
  const inherited = aliveOptions(inheritedOptions(sources, category?.options ?? []));
  const kept = base && category && keptOptions(sent, base, { category, members, inherited }, index, planning);
  const options = await planOptions(
    {
      current: kept?.options ?? before?.options ?? [],
      alive,
      sent: sent.options ?? (base ? undefined : []),
      inherited,
    },
    planning,
  );
  const after: StoredProduct = {
    uid,
    category_uid: categoryUid,
    url: before?.url ?? null,
    ext_id: sent.extId,
    ...members,
    options: options.options,
    copied_options: copied,
    pos_uid: posUidOf(before, terms),
    removed: false,
  };
  checkOwnPrimaries(sent, after, inherited, planning);
  return { sent, before, after, changed: own || options.changed || kept?.changed === true };
};

/** Undefined when the import sends the options. */
const keptOptions = (
  { options, pointer, extId }: SentProduct,
  base: StoredProduct,
  after: { category: StoredCategory; members: ProductMembers; inherited: readonly Option[] },
  index: CategoryIndex,
  planning: PlanningProducts,
): ReturnType<typeof followPrimary> | undefined => {
  if (options !== undefined) return undefined;
  const { category, members, inherited } = after;
  const sources = [index.before.get(base.category_uid)?.options, category.options, base.copied_options];
  const isMoved = base.category_uid !== category.uid || base.inherits_options !== members.inherits_options;
  const known = sources.flatMap((each) => each ?? []);
  return followPrimary(
    { own: base.options, inherited, known, isMoved, alive: !base.removed, pointer, extId },
    planning,
  );
};

const findCategory = (
  sent: SentProduct,
  base: StoredProduct | undefined,
  { byExtId, byUid }: CategoryIndex,
  { findings }: Planning,
): StoredCategory | undefined => {
  if (sent.categoryFaulty) return undefined;
  const pointer = `${sent.pointer}/category_ext_id`;
  if (sent.categoryExtId === undefined) {
    if (base === undefined) {
      findings.error(pointer, sent.extId, 'REQUIRED', 'is required');
      return undefined;
    }
    const present = byUid.get(base.category_uid);
    // Readers would not find a restored product whose category was removed or moved in the panel.
    if (present === undefined) findings.error(pointer, sent.extId, 'CATEGORY_UNKNOWN', 'its category is gone');
    return present;
  }
  const found = byExtId.get(sent.categoryExtId);
  if (found === undefined) findings.error(pointer, sent.extId, 'CATEGORY_UNKNOWN', `no category ${sent.categoryExtId}`);
  return found;
};

/**
 * Options are copied once, when a product is created or starts to copy. Later changes of the category do not affect
 * them. A few small products can copy millions of values, which no memory holds: beyond the bound nothing is copied.
 */
const copiedOptions = async (
  { pointer, extId }: SentProduct,
  members: ProductMembers,
  before: StoredProduct | undefined,
  ofCategory: readonly Option[],
  planning: PlanningProducts,
): Promise<Option[] | null> => {
  if (members.inherits_options !== 'copy') return null;
  if (before?.inherits_options === 'copy' && before.copied_options !== null) return before.copied_options;
  const { copiesMax } = planning;
  if (planning.copiedValues > copiesMax || planning.copiedRestrictions > restrictionsMax.sent) return [];
  const options = aliveOptions(ofCategory);
  for (const { option_values } of options) {
    // An option without values needs room too.
    planning.copiedValues += Math.max(option_values.length, 1);
    for (const value of option_values) planning.copiedRestrictions += value.restrict_to_primary_value_uids.length;
  }
  const hasRoom = planning.copiedValues <= copiesMax;
  if (hasRoom && planning.copiedRestrictions <= restrictionsMax.sent) return copyOptions(options, planning);
  const what = hasRoom ? `${restrictionsMax.sent} restrictions of option values` : `${copiesMax} option values`;
  const message = `with it the import copies more than ${what} from categories: send fewer products`;
  planning.findings.error(pointer, extId, 'LENGTH', message);
  return [];
};

/** A uid names exactly one element, so every copied element gets a new uid. */
const copyOptions = async (options: readonly Option[], { newUid, pace }: Planning): Promise<Option[]> => {
  const uids = new Map<string, string>();
  const copies: Option[] = [];
  for (const option of options) {
    const option_values = option.option_values.map((value) => {
      const uid = newUid('opv');
      uids.set(value.uid, uid);
      return { ...value, uid };
    });
    copies.push({ ...option, uid: newUid('opt'), option_values });
    const pause = pace();
    if (pause !== undefined) await pause;
  }
  for (const { option_values } of copies)
    for (const value of option_values)
      value.restrict_to_primary_value_uids = value.restrict_to_primary_value_uids.map((uid) => uids.get(uid) ?? uid);
  return copies;
};

/** At most one visible option of a product is primary (interface 10.3). */
const checkOwnPrimaries = (
  sent: SentProduct,
  after: StoredProduct,
  inherited: readonly Option[],
  { findings }: Planning,
): void => {
  const own = after.options.filter(isVisiblePrimary);
  if (own.length === 0 || own.length + inherited.filter(isVisiblePrimary).length < 2) return;
  const places = new Map(sent.options?.map((option) => [option.extId, option.pointer]));
  const last = places.get(own.at(-1)?.ext_id ?? '');
  const pointer = last === undefined ? sent.pointer : `${last}/primary`;
  findings.error(pointer, sent.extId, 'TWO_PRIMARY', 'more than one visible option of the product is primary');
};

/** Categories with two primary options, and categories that give a second one to a product that stays without being sent. */
const checkPrimaries = (
  staying: readonly StoredProduct[],
  products: readonly Drafted<SentProduct, StoredProduct>[],
  categories: CategoryDrafts,
  { findings }: Planning,
): void => {
  const planned = new Set(products.map(({ after }) => after.uid));
  const withPrimary = new Map<string, StoredProduct>();
  for (const product of staying)
    if (!planned.has(product.uid) && product.inherits_options === 'sync')
      if (product.options.some(isVisiblePrimary)) withPrimary.set(product.category_uid, product);
  for (const { sent, after } of categories) {
    const primaries = after.options.filter(isVisiblePrimary).length;
    const clashing = primaries === 1 && sent.options !== undefined ? withPrimary.get(after.uid) : undefined;
    if (primaries < 2 && clashing === undefined) continue;
    const whose = clashing === undefined ? 'the category' : `product ${clashing.ext_id}`;
    const place = sent.options?.findLast((option) => option.given.primary === true)?.pointer;
    findings.error(
      place === undefined ? sent.pointer : `${place}/primary`,
      sent.extId,
      'TWO_PRIMARY',
      `more than one visible option of ${whose} is primary`,
    );
  }
};
