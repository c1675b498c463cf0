/**
 * Turns the raw arrays of an import into typed elements. Every fault becomes a finding and reading continues, so that
 * one report names all faults. An element without a usable ext_id is read only to find its faults.
 */
import type { z } from 'zod';
import { text } from '#src/platform/http/values.ts';
import type { Pace } from '#src/platform/pace.ts';
import { isExpressible } from '../../../values/money.ts';
import {
  type CategoryMembers,
  categoryMembers,
  type ElementKind,
  type Members,
  type OptionMembers,
  optionMembers,
  type ProductMembers,
  productMembers,
  type ValueMembers,
  valueMembers,
} from '../elements/members.ts';
import type { FindingCode, Findings } from '../report/report.ts';
import { restrictionsMax } from './import-terms.ts';

type SentElement<T> = {
  pointer: string;
  /** Index in its array. */
  index: number;
  extId: string;
  /** Members that were sent and are valid. */
  given: Partial<T>;
  /** Members that were sent and are invalid; they are not reported as missing too. */
  faulty: ReadonlySet<keyof T>;
};

export type SentValue = SentElement<ValueMembers> & { restrictedTo: readonly string[] };
export type SentOption = SentElement<OptionMembers> & { values: SentValue[] };
export type SentCategory = SentElement<CategoryMembers> & { options: SentOption[] | undefined };
export type SentProduct = SentElement<ProductMembers> & {
  /** Undefined when it was not sent. */
  categoryExtId: string | undefined;
  categoryFaulty: boolean;
  options: SentOption[] | undefined;
};

export type SentMenu = {
  categories: SentCategory[];
  products: SentProduct[];
  /** False when a sent element could not be identified; then the import cannot know what was left out. */
  identified: boolean;
};

type Reading = { findings: Findings; pace: Pace; currency: string; unidentified: number; onElement: () => void };

const optionsMax = 100;
const valuesMax = 200;
const extIdType = text({ max: 100 });

type Shape<T> = { kind: ElementKind; members: Members<T>; keys: (keyof T)[]; fields: Set<string> };

const shapeOf = <T>(kind: ElementKind, members: Members<T>, others: string[]): Shape<T> => {
  const keys = Object.keys(members) as (keyof T)[];
  return { kind, members, keys, fields: new Set([...keys.map((key) => members[key].field), 'ext_id', ...others]) };
};

const categoryShape = shapeOf<CategoryMembers>('category', categoryMembers, ['options']);
const productShape = shapeOf<ProductMembers>('product', productMembers, ['category_ext_id', 'options']);
const optionShape = shapeOf<OptionMembers>('option', optionMembers, ['option_values']);
const valueShape = shapeOf<ValueMembers>('option_value', valueMembers, ['restrict_to_primary_value_ext_ids']);

/** The arguments are known to be arrays. The pointers of findings start at `/categories` and `/products`. */
export const readElements = async (
  raw: { categories: readonly unknown[]; products: readonly unknown[] },
  settings: { findings: Findings; pace: Pace; currency: string; onRead?: (share: number) => void },
): Promise<SentMenu> => {
  const total = raw.categories.length + raw.products.length;
  let read = 0;
  const onElement = (): void => {
    read += 1;
    settings.onRead?.(read / total);
  };
  const reading: Reading = { ...settings, unidentified: 0, onElement };
  const categories = await readAll(raw.categories, '/categories', reading, readCategory);
  const products = await readAll(raw.products, '/products', reading, readProduct);
  return { categories, products, identified: reading.unidentified === 0 };
};

type RawElement = Record<string, unknown>;
type Read<E> = (raw: RawElement, place: Place, reading: Reading) => E | Promise<E>;
type Place = { pointer: string; index: number; extId: string | undefined };

/** Reads an array of elements, whose ext_ids must differ. The result leaves out elements without an ext_id. */
const readAll = async <E extends { extId: string }>(
  raw: readonly unknown[],
  pointer: string,
  reading: Reading,
  read: Read<E>,
): Promise<E[]> => {
  const seen = new Set<string>();
  const elements: E[] = [];
  for (const [index, input] of raw.entries()) {
    const place = `${pointer}/${index}`;
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      reading.findings.error(place, undefined, 'TYPE', 'must be an object');
      reading.unidentified += 1;
      continue;
    }
    const extId = readExtId(input as RawElement, place, seen, reading);
    const element = await read(input as RawElement, { pointer: place, index, extId }, reading);
    if (extId === undefined) reading.unidentified += 1;
    else elements.push(element);
    const pause = reading.pace();
    if (pause !== undefined) await pause;
  }
  return elements;
};

const readExtId = (raw: RawElement, pointer: string, seen: Set<string>, { findings }: Reading): string | undefined => {
  const place = `${pointer}/ext_id`;
  const parsed = extIdType.safeParse(raw.ext_id);
  if (!parsed.success) {
    const fault = faultOf(parsed.error.issues[0]);
    if (fault.code === 'REQUIRED') findings.error(place, undefined, 'EXT_ID_MISSING', 'ext_id is required');
    else findings.error(place, undefined, fault.code, fault.message);
    return undefined;
  }
  if (seen.has(parsed.data)) {
    findings.error(place, parsed.data, 'EXT_ID_DUPLICATE', `${parsed.data} is sent twice`);
    return undefined;
  }
  seen.add(parsed.data);
  return parsed.data;
};

const faultOf = (issue: z.core.$ZodIssue | undefined): { code: FindingCode; message: string } => ({
  code: (issue?.code === 'custom' ? (issue.params?.code as FindingCode | undefined) : undefined) ?? 'FORMAT',
  message: issue?.message ?? 'is not valid',
});

/** JSON pointer token, RFC 6901. */
const token = (part: PropertyKey): string => String(part).replaceAll('~', '~0').replaceAll('/', '~1');

/** One shared object for all elements without a fault: 50,000 option values would create one each. */
const noFaults: ReadonlySet<never> = new Set();

const readMembers = <T>(
  shape: Shape<T>,
  raw: RawElement,
  { pointer, index, extId }: Place,
  { findings, currency }: Reading,
): SentElement<T> => {
  const given: Partial<T> = {};
  let faulty: Set<keyof T> | undefined;
  const note = (key: keyof T): void => {
    faulty ??= new Set();
    faulty.add(key);
  };
  for (const key of shape.keys) {
    const member = shape.members[key];
    const input = raw[member.field];
    if (input === undefined) continue;
    if (input === null || (member.clearable === true && typeof input === 'string' && input.trim() === '')) {
      if (member.clearable === true) given[key] = member.fallback as T[typeof key];
      continue;
    }
    const parsed = member.type.safeParse(input);
    if (!parsed.success) {
      note(key);
      for (const issue of parsed.error.issues) {
        const { code, message } = faultOf(issue);
        findings.error([`${pointer}/${member.field}`, ...issue.path.map(token)].join('/'), extId, code, message);
      }
    } else if (member.amountsOf?.(parsed.data).some((amount) => !isExpressible(amount, currency)) === true) {
      note(key);
      findings.error(`${pointer}/${member.field}`, extId, 'FORMAT', `${currency} has no decimals`);
    } else given[key] = parsed.data;
  }
  for (const field of Object.keys(raw))
    if (!shape.fields.has(field)) findings.unknownField(shape.kind, `${pointer}/${token(field)}`, extId, field);
  // readAll drops an element without an ext_id.
  return { pointer, index, extId: extId ?? '', given, faulty: faulty ?? noFaults };
};

const readCategory: Read<SentCategory> = async (raw, place, reading) => {
  reading.onElement();
  return {
    ...readMembers(categoryShape, raw, place, reading),
    options: await readOptions(raw.options, place, reading),
  };
};

const readProduct: Read<SentProduct> = async (raw, place, reading) => {
  reading.onElement();
  const element = readMembers(productShape, raw, place, reading);
  const categoryExtId = readCategoryExtId(raw.category_ext_id, place, reading);
  return {
    ...element,
    categoryExtId: categoryExtId === 'faulty' ? undefined : categoryExtId?.extId,
    categoryFaulty: categoryExtId === 'faulty',
    options: await readOptions(raw.options, place, reading),
  };
};

const readCategoryExtId = (
  input: unknown,
  { pointer, extId }: Place,
  { findings }: Reading,
): { extId: string } | 'faulty' | undefined => {
  if (input === undefined || input === null) return undefined;
  const parsed = extIdType.safeParse(input);
  if (parsed.success) return { extId: parsed.data };
  const { code, message } = faultOf(parsed.error.issues[0]);
  findings.error(`${pointer}/category_ext_id`, extId, code, message);
  return 'faulty';
};

/** Undefined when the element has no readable one. */
const readArray = (
  input: unknown,
  pointer: string,
  max: number,
  extId: string | undefined,
  { findings }: Reading,
): unknown[] | undefined => {
  if (input === undefined || input === null) return undefined;
  if (!Array.isArray(input)) findings.error(pointer, extId, 'TYPE', 'must be an array');
  else if (input.length > max) findings.error(pointer, extId, 'LENGTH', `must have at most ${max} items`);
  else return input;
  return undefined;
};

const readOptions = async (input: unknown, place: Place, reading: Reading): Promise<SentOption[] | undefined> => {
  const pointer = `${place.pointer}/options`;
  const raw = readArray(input, pointer, optionsMax, place.extId, reading);
  if (raw === undefined) return undefined;
  const options = await readAll(raw, pointer, reading, readOption);
  const count = options.reduce(
    (sum, { values }) => values.reduce((inside, { restrictedTo }) => inside + restrictedTo.length, sum),
    0,
  );
  const max = restrictionsMax.ofElement;
  if (count > max) {
    const message = `its option values have ${count} restrictions to values of the primary option, and at most ${max} are stored: leave the list out where a value is always offered`;
    reading.findings.error(pointer, place.extId, 'LENGTH', message);
  }
  return options;
};

const readOption: Read<SentOption> = async (raw, place, reading) => {
  const pointer = `${place.pointer}/option_values`;
  const values = readArray(raw.option_values, pointer, valuesMax, place.extId, reading);
  return {
    ...readMembers(optionShape, raw, place, reading),
    values: await readAll(values ?? [], pointer, reading, readValue),
  };
};

const noNames: readonly string[] = [];

const readValue: Read<SentValue> = (raw, place, reading) => {
  const pointer = `${place.pointer}/restrict_to_primary_value_ext_ids`;
  const names = readArray(raw.restrict_to_primary_value_ext_ids, pointer, valuesMax, place.extId, reading) ?? [];
  if (names.length === 0) return { ...readMembers(valueShape, raw, place, reading), restrictedTo: noNames };
  const restrictedTo = names.flatMap((name, index) => {
    const parsed = extIdType.safeParse(name);
    if (parsed.success) return [parsed.data];
    const { code, message } = faultOf(parsed.error.issues[0]);
    reading.findings.error(`${pointer}/${index}`, place.extId, code, message);
    return [];
  });
  return { ...readMembers(valueShape, raw, place, reading), restrictedTo: [...new Set(restrictedTo)] };
};
