/** The report of an import as data (interface 11.3): errors, warnings and changes. */
import type { ElementKind } from '../elements/members.ts';

export type FindingCode =
  | 'EXT_ID_MISSING'
  | 'EXT_ID_DUPLICATE'
  | 'CATEGORY_UNKNOWN'
  | 'VALUE_UNKNOWN'
  | 'OPTION_BOUNDS'
  | 'TWO_PRIMARY'
  | 'REQUIRED'
  | 'TYPE'
  | 'RANGE'
  | 'LENGTH'
  | 'FORMAT'
  | 'ENUM'
  | 'REMOVAL_GUARD'
  | 'PRICE_ZERO'
  | 'EMPTY_CATEGORY'
  | 'DUPLICATE_NAME'
  | 'OPTION_WITHOUT_VALUES'
  | 'UNKNOWN_FIELD';

/** `pointer`: JSON pointer into the request; null when the finding is about no part of the request. */
export type Finding = { pointer: string | null; ext_id: string | null; code: FindingCode; message: string };

export type Action = 'created' | 'updated' | 'unchanged' | 'removed';

export type FieldChange = { field: string; from: unknown; to: unknown };

export type ReportItem = {
  kind: ElementKind;
  ext_id: string | null;
  uid: string;
  action: Action;
  /** Null for a removed element, which was not sent. */
  pointer: string | null;
  /** For an updated element: the old and the new value of each changed member. */
  changes: FieldChange[];
};

export type ActionCounts = Record<Action, number>;

export type Counts = {
  categories: ActionCounts;
  products: ActionCounts;
  options: ActionCounts;
  option_values: ActionCounts;
};

const none = (): ActionCounts => ({ created: 0, updated: 0, unchanged: 0, removed: 0 });

export const noCounts = (): Counts => ({
  categories: none(),
  products: none(),
  options: none(),
  option_values: none(),
});

const countedAs = {
  category: 'categories',
  product: 'products',
  option: 'options',
  option_value: 'option_values',
} as const satisfies Record<ElementKind, keyof Counts>;

/** A body of 32 MiB can hold millions of faults. The report lists this many, so the answer stays bounded. */
const findingsMax = 20_000;

/** Collects what is found while an import is read and planned. */
export type Findings = {
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
  /** Number of errors, including those beyond the number that is listed. */
  readonly errorCount: number;
  error(pointer: string, extId: string | undefined, code: FindingCode, message: string): void;
  warn(pointer: string | null, extId: string | undefined, code: FindingCode, message: string): void;
  /** One warning per kind of element and name, with the first place where the name was used. */
  unknownField(kind: ElementKind | 'import', pointer: string, extId: string | undefined, field: string): void;
};

export const createFindings = (): Findings => {
  const errors: Finding[] = [];
  const warnings: Finding[] = [];
  const unknown = new Set<string>();
  let errorCount = 0;
  const warn: Findings['warn'] = (pointer, extId, code, message) => {
    // The stored plan is guarded by this warning; there are two at most.
    if (warnings.length < findingsMax || code === 'REMOVAL_GUARD')
      warnings.push({ pointer, ext_id: extId ?? null, code, message });
  };
  return {
    errors,
    warnings,
    get errorCount() {
      return errorCount;
    },
    error: (pointer, extId, code, message) => {
      errorCount += 1;
      if (errors.length < findingsMax) errors.push({ pointer, ext_id: extId ?? null, code, message });
    },
    warn,
    unknownField: (kind, pointer, extId, field) => {
      const key = `${kind} ${field}`;
      if (unknown.size >= findingsMax || unknown.has(key)) return;
      unknown.add(key);
      warn(pointer, extId, 'UNKNOWN_FIELD', `${field.slice(0, 100)} is not a member of ${kind}: ignored`);
    },
  };
};

/** Collects what a plan does to each element. */
export type Ledger = {
  readonly counts: Counts;
  readonly items: readonly ReportItem[];
  /** Returns true when the element changes. */
  note(item: ReportItem): boolean;
};

export const createLedger = (): Ledger => {
  const counts = noCounts();
  const items: ReportItem[] = [];
  return {
    counts,
    items,
    note: (item) => {
      counts[countedAs[item.kind]][item.action] += 1;
      if (item.action === 'unchanged') return false;
      items.push(item);
      return true;
    },
  };
};
