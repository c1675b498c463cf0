/**
 * Plans a revert: the difference between the current elements and those of an earlier version. Pure, apart from pauses.
 */

import type { Pace } from '#src/platform/pace.ts';
import type { Option, OptionValue } from '../../menu/menu.ts';
import {
  type CategoryMembers,
  categoryMembers,
  type ElementKind,
  type OptionMembers,
  optionMembers,
  type ProductMembers,
  productMembers,
  type ValueMembers,
  valueMembers,
} from '../elements/members.ts';
import type { FieldChange, Ledger } from '../report/report.ts';
import type { ImportChanges } from './plan-import.ts';
import { noteRemovedOptions } from './plan-options.ts';
import { changesOf, isSame } from './resolve-members.ts';
import type { ChangedSince, StoredCategory, StoredProduct } from './stored-menu.ts';

export type Since = { categories: ChangedSince<StoredCategory>[]; products: ChangedSince<StoredProduct>[] };

/** `shared`: categories that contain products of other clients. They are not removed. */
export const planRevert = async (
  since: Since,
  shared: ReadonlySet<string>,
  { ledger, pace }: { ledger: Ledger; pace: Pace },
): Promise<ImportChanges> => {
  const created = new Set<string>();
  const removable = since.categories.filter(({ now, was }) => isThere(was) || !shared.has(now.uid));
  const categories = await planKind(
    removable,
    'category',
    (now, then) => changesOf<CategoryMembers>(categoryMembers, now, then),
    {
      ledger,
      pace,
      created,
    },
  );
  const ofProduct = (now: StoredProduct, then: StoredProduct): FieldChange[] => [
    ...(now.category_uid === then.category_uid
      ? []
      : [{ field: 'category_uid', from: now.category_uid, to: then.category_uid }]),
    ...changesOf<ProductMembers>(productMembers, now, then),
  ];
  const products = await planKind(since.products, 'product', ofProduct, { ledger, pace, created });
  return {
    categories: categories.changed,
    products: products.changed,
    removedCategories: categories.removed,
    removedProducts: products.removed,
    movedCategories: [],
    movedProducts: [],
    created,
  };
};

type Element = { uid: string; ext_id: string | null; pos_uid: string | null; removed: boolean; options: Option[] };
type Work = { ledger: Ledger; pace: Pace; created: Set<string> };

const isThere = <E extends { removed: boolean }>(then: E | null): then is E => then !== null && !then.removed;

const planKind = async <E extends Element & { copied_options?: Option[] | null }>(
  since: readonly ChangedSince<E>[],
  kind: 'category' | 'product',
  changesBetween: (now: E, then: E) => FieldChange[],
  { ledger, pace, created }: Work,
): Promise<{ changed: E[]; removed: E[] }> => {
  const changed: E[] = [];
  const removed: E[] = [];
  for (const { now, was: then } of since) {
    const item = { kind, ext_id: now.ext_id, uid: now.uid, pointer: null } as const;
    if (isThere(then)) {
      const changes = now.removed ? [] : changesBetween(now, then);
      const action = now.removed ? 'created' : changes.length > 0 ? 'updated' : 'unchanged';
      const own = ledger.note({ ...item, action, changes });
      const ofOptions = noteOptions(now.removed ? [] : now.options, then.options, ledger);
      // Removed options and copied options are not reported, but they are restored too.
      const differs = own || ofOptions || now.pos_uid !== then.pos_uid;
      if (differs || !isSame(now.options, then.options) || !isSame(now.copied_options, then.copied_options))
        changed.push(then);
      if (now.removed) created.add(now.uid);
    } else if (!now.removed) {
      ledger.note({ ...item, action: 'removed', changes: [] });
      noteRemovedOptions(now.options, ledger);
      removed.push(now);
    }
    const pause = pace();
    if (pause !== undefined) await pause;
  }
  return { changed, removed };
};

const noteOptions = (now: readonly Option[], then: readonly Option[], ledger: Ledger): boolean =>
  noteInner<Option>(
    'option',
    now,
    then,
    (before, after) => changesOf<OptionMembers>(optionMembers, before, after),
    ledger,
    (before, after) => noteValues(before?.option_values ?? [], after?.option_values ?? [], ledger),
  );

const noteValues = (now: readonly OptionValue[], then: readonly OptionValue[], ledger: Ledger): boolean =>
  noteInner<OptionValue>(
    'option_value',
    now,
    then,
    (before, after) => {
      const changes = changesOf<ValueMembers>(valueMembers, before, after);
      const [from, to] = [before.restrict_to_primary_value_uids, after.restrict_to_primary_value_uids];
      return isSame(from, to) ? changes : [...changes, { field: 'restrict_to_primary_value_uids', from, to }];
    },
    ledger,
    () => false,
  );

/** True when an element changes. `inside` compares the children of an element that is new, removed or still present. */
const noteInner = <E extends { uid: string; ext_id: string | null; removed?: true }>(
  kind: ElementKind,
  now: readonly E[],
  then: readonly E[],
  changesBetween: (before: E, after: E) => FieldChange[],
  ledger: Ledger,
  inside: (before: E | undefined, after: E | undefined) => boolean,
): boolean => {
  const present = new Map(now.filter((each) => each.removed !== true).map((each) => [each.uid, each]));
  let changed = false;
  const note = (element: E, action: 'created' | 'updated' | 'unchanged' | 'removed', changes: FieldChange[]): void => {
    const { ext_id, uid } = element;
    if (ledger.note({ kind, ext_id, uid, action, pointer: null, changes })) changed = true;
  };
  for (const after of then) {
    if (after.removed === true) continue;
    const before = present.get(after.uid);
    present.delete(after.uid);
    const changes = before === undefined ? [] : changesBetween(before, after);
    note(after, before === undefined ? 'created' : changes.length > 0 ? 'updated' : 'unchanged', changes);
    if (inside(before, after)) changed = true;
  }
  for (const before of present.values()) {
    note(before, 'removed', []);
    inside(before, undefined);
  }
  return changed;
};
