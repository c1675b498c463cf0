/**
 * Restrictions of a product's own values, where an import leaves its options out and its primary option becomes another one:
 * that of another category, or a copy with uids of its own. Pure.
 */
import { aliveOptions } from '../../menu/applying-options.ts';
import type { Option } from '../../menu/menu.ts';
import { type Planning, primaryOf } from './plan-options.ts';

type KeptOptions = {
  /** The product's own options, including removed ones. */
  own: readonly Option[];
  /** The options that it takes from its category after the import. */
  inherited: readonly Option[];
  /** Options that the product took or takes from categories, where the ext_id of a restricted value is looked up. */
  known: readonly Option[];
  /** The import changes where the product takes options from, so a value without a successor is a fault. */
  isMoved: boolean;
  alive: boolean;
  pointer: string;
  extId: string;
};

/**
 * Restrictions follow the ext_id of the primary value. A restriction to a value that the same primary option lost stays:
 * the restricted value is not on offer until that one returns, which has its uid then.
 */
export const followPrimary = (
  kept: KeptOptions,
  planning: Planning,
): { options: readonly Option[]; changed: boolean } => {
  const { own, inherited, known } = kept;
  const primary = primaryOf([...inherited, ...own]);
  const present = aliveOptions(primary === undefined ? [] : [primary]).flatMap((option) => option.option_values);
  const uids = new Set(present.map(({ uid }) => uid));
  const isStale = (uid: string): boolean => !uids.has(uid);
  const stale = own.some(
    (option) =>
      option.removed !== true &&
      option.option_values.some(
        (value) => value.removed !== true && value.restrict_to_primary_value_uids.some(isStale),
      ),
  );
  if (!stale) return { options: own, changed: false };
  const extIds = new Map(known.flatMap((option) => option.option_values.map(({ uid, ext_id }) => [uid, ext_id])));
  const successors = new Map(present.flatMap(({ uid, ext_id }) => (ext_id === null ? [] : [[ext_id, uid] as const])));
  return replaceStale(kept, planning, (uid) => {
    if (uids.has(uid)) return { uid };
    const extId = extIds.get(uid) ?? null;
    return { extId, uid: extId === null ? undefined : successors.get(extId) };
  });
};

type Successor = { uid: string | undefined; extId?: string | null };

const replaceStale = (
  { own, isMoved, alive, pointer, extId }: KeptOptions,
  { findings, ledger }: Planning,
  successorOf: (uid: string) => Successor,
): { options: readonly Option[]; changed: boolean } => {
  let changed = false;
  const options = own.map((option) => {
    if (option.removed === true) return option;
    const option_values = option.option_values.map((value) => {
      if (value.removed === true) return value;
      const from = value.restrict_to_primary_value_uids;
      const to = from.map((uid) => {
        const successor = successorOf(uid);
        if (successor.uid === undefined && isMoved) {
          const message = `the primary option has no value ${successor.extId ?? uid}, to which ${value.name} of ${option.name} is restricted: send the options`;
          findings.error(pointer, extId, 'VALUE_UNKNOWN', message);
        }
        return successor.uid ?? uid;
      });
      if (to.every((uid, i) => uid === from[i])) return value;
      changed = true;
      const changes = [{ field: 'restrict_to_primary_value_uids', from, to }];
      const { uid, ext_id } = value;
      if (alive) ledger.note({ kind: 'option_value', ext_id, uid, action: 'updated', pointer, changes });
      return { ...value, restrict_to_primary_value_uids: to };
    });
    return { ...option, option_values };
  });
  return { options, changed };
};
