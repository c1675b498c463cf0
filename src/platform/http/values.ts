/**
 * The value types of interface 2 as zod schemas. Every parameter may come from a query (always a string) or from JSON, so
 * each type accepts both forms and returns one. Issues carry the detail code of interface 6.1 in `params.code`.
 *
 * Values are stored as they were sent. A number where the type is text is refused with TYPE, since a double may have changed
 * its digits. A number with too many decimals is refused with FORMAT, one beyond its bounds with RANGE.
 */

import { z } from 'zod';
import type { DetailCode } from '#src/contract/fault.ts';
import { isDay } from '../clock.ts';
import { type Decimal, readDecimal } from './decimal.ts';
import { inexactTextOf } from './exact-json.ts';

type Verdict<T> = { value: T } | { code: DetailCode; message: string };

/** The description of a value for the documentation: JSON Schema keywords of the JSON form. */
type Described = Readonly<Record<string, unknown>>;

const convert = <T>(described: Described, read: (input: unknown) => Verdict<T>): z.ZodType<T> =>
  z
    .unknown()
    .transform((input, ctx): T => {
      // A missing required member: zod passes undefined through `unknown`, so the refusal is made here.
      if (input === undefined || input === null) {
        ctx.addIssue({ code: 'custom', message: 'is required', params: { code: 'REQUIRED' } });
        return z.NEVER;
      }
      const verdict = read(input);
      if ('value' in verdict) return verdict.value;
      ctx.addIssue({ code: 'custom', message: verdict.message, params: { code: verdict.code } });
      return z.NEVER;
    })
    .meta(described) as unknown as z.ZodType<T>;

type Optional<T> = z.ZodType<T | undefined>;

/**
 * Absent, null and the empty query value all mean "not given", and so does text that is empty after trimming (interface 2:
 * it is null), unless the type itself knows empty text. In other types an empty string of JSON is a wrong value.
 */
export const optional = <T>(type: z.ZodType<T>): Optional<T> => {
  const minLength = type.meta()?.minLength;
  const needsText = typeof minLength === 'number' && minLength > 0;
  const isAbsent = (input: unknown): boolean =>
    input === null || (needsText && typeof input === 'string' && input.trim() === '');
  return z.preprocess((input) => (isAbsent(input) ? undefined : input), type.optional()) as unknown as Optional<T>;
};

export const withDefault = <T>(type: z.ZodType<T>, value: T): z.ZodType<T> =>
  optional(type)
    .transform((given) => given ?? value)
    .meta({ 'x-default': value });

/** Distinguishes "not named" (undefined) from "clear it" (null or an empty string). */
export const clearable = <T>(type: z.ZodType<T>): z.ZodType<T | null | undefined> =>
  z.preprocess(
    (input) => (typeof input === 'string' && input.trim() === '' ? null : input),
    type.nullable().optional(),
  ) as unknown as z.ZodType<T | null | undefined>;

/** Trimmed text of `min` (default 1) to `max` (default 255) characters; an empty one counts as missing. */
export const text = (
  bounds: { min?: number; max?: number; pattern?: RegExp; format?: string } = {},
): z.ZodType<string> => {
  const { min = 1, max = 255, pattern } = bounds;
  const described = { type: 'string', minLength: min, maxLength: max };
  return convert(pattern === undefined ? described : { ...described, pattern: pattern.source }, (input) => {
    if (typeof input !== 'string') return notText(input);
    const value = input.trim();
    if (value === '' && min > 0) return { code: 'REQUIRED', message: 'is required' };
    const length = [...value].length;
    if (length < min || length > max) return { code: 'LENGTH', message: `must have ${span(min, max)} characters` };
    if (value.includes('\0')) return { code: 'FORMAT', message: 'must not hold U+0000' };
    // Half of a surrogate pair is no character: PostgreSQL refuses it in JSON, and elsewhere it would become another
    // character.
    if (!value.isWellFormed()) return { code: 'FORMAT', message: 'must be valid Unicode' };
    if (bounds.pattern !== undefined && !bounds.pattern.test(value)) {
      return { code: 'FORMAT', message: `must be ${bounds.format ?? 'of the documented form'}` };
    }
    return { value };
  });
};

const notText = (input: unknown): { code: DetailCode; message: string } => {
  const isNumber = typeof input === 'number' || inexactTextOf(input) !== undefined;
  return { code: 'TYPE', message: isNumber ? 'must be a string: put the number in quotes' : 'must be a string' };
};

/** Free text that may be empty: trimmed, and null when nothing is left (interface 2, "string"). */
export const looseText = (max: number): z.ZodType<string | null | undefined> =>
  optional(text({ min: 0, max })).transform((value) => (value === undefined ? undefined : value === '' ? null : value));

export const uid = (): z.ZodType<string> => text({ max: 64, pattern: /^[A-Za-z0-9._-]+$/, format: 'an id' });

/** At most 254 characters, one `@` with text on both sides; kept as sent, compared without case. */
export const email = (): z.ZodType<string> =>
  text({ max: 254, pattern: /^[^@\s]+@[^@\s]+$/, format: 'an email address' });

const span = (min: number, max: number): string => (min === max ? String(min) : `${min} to ${max}`);

type Numeric = {
  /** Exact once decimals and bounds are checked: at most 15 digits are left. */
  value: number;
  /** As written, without trailing zeros: 12.50 has one decimal. */
  decimals: number;
};

const numeric = (input: unknown): Numeric | undefined => {
  // Before any conversion to text, which throws for an object such as {"toString":0}.
  if (typeof input !== 'string' && typeof input !== 'number' && typeof input !== 'symbol') return undefined;
  const text = typeof input === 'string' ? input.trim() : (inexactTextOf(input) ?? String(input));
  const read: Decimal | undefined = readDecimal(text, { exponent: typeof input !== 'string' });
  return read && { value: read.digits === '' ? 0 : Number(text), decimals: Math.max(0, read.scale) };
};

const between = (min: number, max: number): string => `must be between ${min} and ${max}`;

export const integer = (bounds: { min: number; max: number }): z.ZodType<number> =>
  convert({ type: 'integer', minimum: bounds.min, maximum: bounds.max }, (input) => {
    const read = numeric(input);
    if (read === undefined) return { code: 'TYPE', message: 'must be an integer' };
    const { value, decimals } = read;
    if (decimals > 0) return { code: 'FORMAT', message: 'must be an integer' };
    if (value < bounds.min || value > bounds.max) return { code: 'RANGE', message: between(bounds.min, bounds.max) };
    return { value };
  });

/** The part of a description that says how many decimals a number may have. */
export const decimalsRule = (decimals: number): string =>
  `At most ${decimals} decimals; more are refused, never rounded`;

/** `decimals` (default 2): more are refused with FORMAT, never rounded. `above`: exclusive lower bound. */
export const decimal = (bounds: {
  min: number;
  max: number;
  decimals?: number;
  above?: boolean;
}): z.ZodType<number> => {
  const { decimals = 2, min, max } = bounds;
  const lowest = bounds.above === true ? { exclusiveMinimum: min } : { minimum: min };
  const described = {
    type: 'number',
    ...lowest,
    maximum: max,
    description: decimalsRule(decimals),
  };
  return convert(described, (input) => {
    const read = numeric(input);
    if (read === undefined) return { code: 'TYPE', message: 'must be a number' };
    const { value } = read;
    if (read.decimals > decimals) return { code: 'FORMAT', message: `must have at most ${decimals} decimals` };
    if (bounds.above === true && value <= bounds.min)
      return { code: 'RANGE', message: `must be above ${bounds.min} and at most ${bounds.max}` };
    if (value < bounds.min || value > bounds.max) return { code: 'RANGE', message: between(bounds.min, bounds.max) };
    return { value };
  });
};

/** An amount in major units (12.5) as integer minor units of a two-decimal scale (1250). */
export const money = (bounds: { min?: number; max?: number; above?: boolean } = {}): z.ZodType<number> =>
  decimal({
    min: bounds.min ?? 0,
    max: bounds.max ?? 1_000_000,
    ...(bounds.above === true ? { above: true } : undefined),
  }).transform((value) => Math.round(value * 100));

export const boolean = (): z.ZodType<boolean> =>
  convert({ type: 'boolean' }, (input) => {
    if (input === true || input === 1 || input === '1' || input === 'true') return { value: true };
    if (input === false || input === 0 || input === '0' || input === 'false') return { value: false };
    return { code: 'TYPE', message: 'must be true or false' };
  });

export const flag = (): z.ZodType<boolean> =>
  convert({ type: 'integer', enum: [0, 1] }, (input) => {
    if (input === 1 || input === '1') return { value: true };
    if (input === 0 || input === '0') return { value: false };
    return { code: 'ENUM', message: 'must be 0 or 1' };
  });

export const oneOf = <const T extends string>(values: readonly T[]): z.ZodType<T> =>
  convert({ type: 'string', enum: [...values] }, (input) => {
    if (typeof input !== 'string') return notText(input);
    const found = values.find((value) => value === input);
    return found === undefined ? { code: 'ENUM', message: `must be one of ${values.join(', ')}` } : { value: found };
  });

/** A day, `YYYY-MM-DD`. */
export const date = (): z.ZodType<string> =>
  convert({ type: 'string', format: 'date' }, (input) =>
    typeof input === 'string' && isDay(input.trim())
      ? { value: input.trim() }
      : { code: typeof input === 'string' ? 'FORMAT' : 'TYPE', message: 'must be a date, YYYY-MM-DD' },
  );

const dateTimePattern =
  /^(\d{4}-\d{2}-\d{2})[Tt ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d{1,9}))?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** RFC 3339 with offset; milliseconds are kept, more decimals are refused. */
export const dateTime = (): z.ZodType<Date> =>
  convert({ type: 'string', format: 'date-time', description: 'At most 3 decimals in the seconds' }, (input) => {
    if (typeof input !== 'string') return { code: 'TYPE', message: 'must be a date-time' };
    const match = dateTimePattern.exec(input.trim());
    const parsed = new Date(input.trim().replace(' ', 'T').toUpperCase());
    if (match === null || !isDay(match[1] ?? '') || Number.isNaN(parsed.getTime())) {
      return { code: 'FORMAT', message: 'must be a date-time with offset, such as 2026-03-01T19:30:00+01:00' };
    }
    if (/[1-9]/.test(match[3]?.slice(3) ?? '')) {
      return { code: 'FORMAT', message: 'must have at most 3 decimals in its seconds' };
    }
    return { value: parsed };
  });

/** A JSON array, or the comma-separated form of a query. */
export const list = <T>(item: z.ZodType<T>, bounds: { min?: number; max: number }): z.ZodType<T[]> => {
  const { min = 0, max } = bounds;
  return z
    .transform((input, ctx): unknown => {
      const items = typeof input === 'string' ? input.split(',').filter((part) => part !== '') : input;
      if (input === undefined || input === null) {
        ctx.addIssue({ code: 'custom', message: 'is required', params: { code: 'REQUIRED' } });
        return z.NEVER;
      }
      if (!Array.isArray(items)) {
        ctx.addIssue({ code: 'custom', message: 'must be an array', params: { code: 'TYPE' } });
        return z.NEVER;
      }
      if (items.length < min || items.length > max) {
        ctx.addIssue({ code: 'custom', message: `must have ${span(min, max)} items`, params: { code: 'LENGTH' } });
        return z.NEVER;
      }
      return items;
    })
    .pipe(z.array(item).meta({ minItems: min, maxItems: max })) as unknown as z.ZodType<T[]>;
};

/** A member that only the system sets; a caller that sends it gets a fault. */
export const readOnly = (): z.ZodType<undefined> =>
  z
    .unknown()
    .optional()
    .transform((input, ctx): undefined => {
      if (input !== undefined)
        ctx.addIssue({ code: 'custom', message: 'is set by the system', params: { code: 'READ_ONLY' } });
      return undefined;
    })
    .meta({ readOnly: true });

/**
 * At least one of the members must be given; the refusal names them all. The check runs even when other values have faults,
 * so one answer names all faults.
 */
export const requireOneOf = <T extends z.ZodObject>(object: T, names: readonly (keyof z.infer<T> & string)[]): T =>
  object
    .superRefine(
      (value, ctx) => {
        if (names.some((name) => value[name] !== undefined && value[name] !== null)) return;
        const message = `${names.join(' or ')} is required`;
        for (const name of names) ctx.addIssue({ code: 'custom', path: [name], message, params: { code: 'REQUIRED' } });
      },
      { when: () => true },
    )
    .meta({ anyOf: names.map((name) => ({ required: [name] })) });

/** In each pair `…_from` and `…_to` the first must not be after the second: nothing could lie between them. */
export const requirePeriods = <T extends z.ZodObject>(object: T): T => {
  const starts = Object.keys(object.shape).filter((name) => name.endsWith('_from'));
  return object.superRefine(
    (value, ctx) => {
      const given = value as Readonly<Record<string, unknown>>;
      for (const start of starts) {
        const end = start.replace(/_from$/, '_to');
        const [from, to] = [given[start], given[end]];
        if (!isMoment(from) || !isMoment(to) || from <= to) continue;
        ctx.addIssue({ code: 'custom', path: [start], message: `must not be after ${end}`, params: { code: 'RANGE' } });
      }
    },
    { when: () => true },
  );
};

/** The value of `date` and `dateTime`. */
const isMoment = (value: unknown): value is string | Date => typeof value === 'string' || value instanceof Date;
