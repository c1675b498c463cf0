/**
 * Merges a sent `options` array into the options of a category or product (interface 11.3). The array replaces the old
 * one: an option that is missing from it is marked as removed, and gets its uid back when it is sent again. Pure.
 */

import type { Pace } from '#src/platform/pace.ts';
import type { Option, OptionValue } from '../../menu/menu.ts';
import { type OptionMembers, optionMembers, type ValueMembers, valueMembers } from '../elements/members.ts';
import type { SentOption, SentValue } from '../read/read-elements.ts';
import type { Action, FieldChange, Findings, Ledger } from '../report/report.ts';
import { asRemoved, dropRemoved } from './removed-options.ts';
import { changesOf, isSame, resolveMembers } from './resolve-members.ts';

export type Planning = {
  findings: Findings;
  ledger: Ledger;
  pace: Pace;
  newUid: (prefix: 'cat' | 'prd' | 'opt' | 'opv') => string;
  /** How many option values products may copy from their categories. */
  copiesMax: number;
};

export type OptionsOwner = {
  /** The stored options, including removed ones. */
  current: readonly Option[];
  /** False when the owner is new or restored; its options then count as created. */
  alive: boolean;
  /** Undefined: the request has no options, and the stored ones stay as they are. */
  sent: readonly SentOption[] | undefined;
  /** Options of the category that apply to a product; the primary option may be one of them. */
  inherited: readonly Option[];
};

/** The new options, and whether any of them changed. */
export const planOptions = async (
  owner: OptionsOwner,
  planning: Planning,
): Promise<{ options: Option[]; changed: boolean }> => {
  if (owner.sent === undefined) return keepOptions(owner, planning);
  const known = new Map(owner.current.map((option) => [option.ext_id, option]));
  const merged: { sent: SentOption; before: Option | undefined; after: Option }[] = [];
  for (const sent of owner.sent) {
    const before = known.get(sent.extId);
    merged.push({ sent, before, after: mergeOption(sent, before, planning) });
    const pause = planning.pace();
    if (pause !== undefined) await pause;
  }
  const after = merged.map((each) => each.after);
  const taken = new Set(after.map((option) => option.uid));
  // An option that was created in the panel is out of reach of every import.
  const foreign = owner.current.filter((option) => option.ext_id === null && option.removed !== true);
  const left = owner.current.filter((option) => !taken.has(option.uid) && !foreign.includes(option));
  restrictValues(merged, [...owner.inherited, ...after, ...foreign], planning.findings);
  let changed = false;
  for (const each of merged) changed = noteOption(each, owner.alive, planning.ledger) || changed;
  for (const option of left) changed = noteRemoved(option, owner.alive, planning.ledger) || changed;
  return { options: dropRemoved([...after, ...foreign, ...asRemoved(left)], owner.current), changed };
};

/** Options that were not sent are not counted, unless they are restored together with their parent. */
const keepOptions = (
  { current, alive }: OptionsOwner,
  { ledger }: Planning,
): { options: Option[]; changed: boolean } => {
  const back = { action: 'created', pointer: null } as const;
  for (const option of alive ? [] : current.filter((each) => each.removed !== true)) {
    ledger.note({ ...back, kind: 'option', ext_id: option.ext_id, uid: option.uid, changes: [] });
    for (const value of option.option_values.filter((each) => each.removed !== true))
      ledger.note({ ...back, kind: 'option_value', ext_id: value.ext_id, uid: value.uid, changes: [] });
  }
  return { options: dropRemoved(current, current), changed: false };
};

/** Notes the options of a removed parent as removed; their document stays as it is. */
export const noteRemovedOptions = (options: readonly Option[], ledger: Ledger): void => {
  for (const option of options) noteRemoved(option, true, ledger);
};

const mergeOption = (sent: SentOption, before: Option | undefined, planning: Planning): Option => {
  const { findings, newUid } = planning;
  const members = boundSelection(
    sent,
    resolveMembers<OptionMembers>(optionMembers, sent, undefined, findings),
    findings,
  );
  const known = new Map(before?.option_values.map((value) => [value.ext_id, value]));
  const values = sent.values.map((value): OptionValue => {
    const base = known.get(value.extId);
    return {
      uid: base?.uid ?? newUid('opv'),
      ext_id: value.extId,
      ...resolveMembers<ValueMembers>(valueMembers, value, undefined, findings),
      subrestaurant_uids: base?.subrestaurant_uids ?? [],
      restrict_to_primary_value_uids: [],
    };
  });
  const taken = new Set(values.map((value) => value.uid));
  const others = before?.option_values.filter((value) => !taken.has(value.uid)) ?? [];
  const foreign = others.filter((value) => value.ext_id === null && value.removed !== true);
  if (sent.values.length === 0 && foreign.length === 0)
    findings.warn(sent.pointer, sent.extId, 'OPTION_WITHOUT_VALUES', `${members.name ?? sent.extId} has no values`);
  return {
    uid: before?.uid ?? newUid('opt'),
    ext_id: sent.extId,
    ...members,
    subrestaurant_uids: before?.subrestaurant_uids ?? [],
    option_values: [...values, ...foreign, ...asRemoved(others.filter((value) => !foreign.includes(value)))],
  };
};

/** A single option accepts at most one value, once. There 0 (no limit) means the same. */
const boundSelection = (sent: SentOption, members: OptionMembers, findings: Findings): OptionMembers => {
  const refuse = (field: string, message: string): void =>
    findings.error(`${sent.pointer}/${field}`, sent.extId, 'OPTION_BOUNDS', message);
  const single = members.type === 'single';
  if (single && members.max_selectable > 1) refuse('max_selectable', 'a single option takes at most one value');
  if (single && members.max_quantity > 1) refuse('max_quantity', 'a single option takes its value once');
  const bounded = single ? { ...members, max_selectable: 1, max_quantity: 1 } : members;
  if (bounded.max_selectable > 0 && bounded.min_selectable > bounded.max_selectable)
    refuse('min_selectable', `is above max_selectable, ${bounded.max_selectable}`);
  return bounded;
};

export const isVisiblePrimary = (option: Option): boolean =>
  option.primary && !option.hidden && option.removed !== true;

/** The option whose values others are restricted to. */
export const primaryOf = (all: readonly Option[]): Option | undefined =>
  all.find(isVisiblePrimary) ?? all.find((option) => option.primary && option.removed !== true);

/**
 * Replaces ext_ids of values of the primary option by their uids. Changes `after` in place, which has no other user
 * yet.
 */
const restrictValues = (
  merged: readonly { sent: SentOption; after: Option }[],
  all: readonly Option[],
  findings: Findings,
): void => {
  const primary = primaryOf(all);
  const uids = new Map(
    primary?.option_values.filter((value) => value.removed !== true).map((value) => [value.ext_id, value.uid]),
  );
  for (const { sent, after } of merged)
    for (const [index, value] of sent.values.entries()) {
      if (value.restrictedTo.length === 0) continue;
      const target = after.option_values[index];
      if (target !== undefined) target.restrict_to_primary_value_uids = resolveValues(value, uids, findings);
    }
};

const resolveValues = (sent: SentValue, uids: ReadonlyMap<string | null, string>, findings: Findings): string[] =>
  sent.restrictedTo.flatMap((extId) => {
    const uid = uids.get(extId);
    if (uid !== undefined) return [uid];
    const pointer = `${sent.pointer}/restrict_to_primary_value_ext_ids`;
    findings.error(pointer, sent.extId, 'VALUE_UNKNOWN', `the primary option has no value ${extId}`);
    return [];
  });

const actionOf = (alive: boolean, changes: readonly FieldChange[]): Action => {
  if (!alive) return 'created';
  return changes.length > 0 ? 'updated' : 'unchanged';
};

/** True when the option or one of its values changes. */
const noteOption = (
  { sent, before, after }: { sent: SentOption; before: Option | undefined; after: Option },
  parentAlive: boolean,
  ledger: Ledger,
): boolean => {
  const alive = parentAlive && before !== undefined && before.removed !== true;
  const changes = alive ? changesOf<OptionMembers>(optionMembers, before, after) : [];
  const item = { kind: 'option', ext_id: after.ext_id, uid: after.uid, pointer: sent.pointer } as const;
  let changed = ledger.note({ ...item, action: actionOf(alive, changes), changes });
  const known = new Map(before?.option_values.map((value) => [value.uid, value]));
  for (const [index, { pointer }] of sent.values.entries()) {
    const value = after.option_values[index];
    if (value === undefined) continue;
    const noted = noteValue(known.get(value.uid), value, { pointer, parentAlive: alive }, ledger);
    changed = noted || changed;
  }
  const gone = after.option_values.filter((value) => value.removed === true && known.get(value.uid)?.removed !== true);
  for (const value of alive ? gone : []) changed = noteRemovedValue(value, ledger) || changed;
  return changed;
};

const noteValue = (
  before: OptionValue | undefined,
  after: OptionValue,
  { pointer, parentAlive }: { pointer: string; parentAlive: boolean },
  ledger: Ledger,
): boolean => {
  const alive = parentAlive && before !== undefined && before.removed !== true;
  const changes = alive ? changesOf<ValueMembers>(valueMembers, before, after) : [];
  if (alive && !isSame(before.restrict_to_primary_value_uids, after.restrict_to_primary_value_uids))
    changes.push({
      field: 'restrict_to_primary_value_uids',
      from: before.restrict_to_primary_value_uids,
      to: after.restrict_to_primary_value_uids,
    });
  return ledger.note({
    kind: 'option_value',
    ext_id: after.ext_id,
    uid: after.uid,
    action: actionOf(alive, changes),
    pointer,
    changes,
  });
};

const noteRemoved = (option: Option, parentAlive: boolean, ledger: Ledger): boolean => {
  if (!parentAlive || option.removed === true) return false;
  ledger.note({
    kind: 'option',
    ext_id: option.ext_id,
    uid: option.uid,
    action: 'removed',
    pointer: null,
    changes: [],
  });
  for (const value of option.option_values) if (value.removed !== true) noteRemovedValue(value, ledger);
  return true;
};

const noteRemovedValue = (value: OptionValue, ledger: Ledger): boolean =>
  ledger.note({
    kind: 'option_value',
    ext_id: value.ext_id,
    uid: value.uid,
    action: 'removed',
    pointer: null,
    changes: [],
  });
