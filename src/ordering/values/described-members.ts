/**
 * Members of requests and answers whose description ends with a unit, a form or the meaning of null, so that each of
 * these is worded once. A description has no period at its end.
 */
import { z } from 'zod';
import { date, optional } from '#src/platform/http/values.ts';

const inMoney = 'In the currency of the restaurant';
const inPoints = 'In points';

/** `nullWhen` continues "null …". */
export const textOrNull = (meaning: string, nullWhen = 'when there is none') =>
  z.string().nullable().describe(`${meaning}; null ${nullWhen}`);

export const amount = (meaning: string) => z.number().describe(`${meaning}. ${inMoney}`);

export const amountOrNull = (meaning: string, nullWhen: string) =>
  z.number().nullable().describe(`${meaning}; null ${nullWhen}. ${inMoney}`);

export const points = (meaning: string) => z.number().meta({ description: `${meaning}. ${inPoints}`, minimum: 0 });

/** The bound is for readers: an answer is not refused for it. */
export const count = (meaning: string, minimum: 0 | 1 = 0) => z.int().meta({ description: meaning, minimum });

export const instant = (meaning: string) => z.string().meta({ description: meaning, format: 'date-time' });

export const instantOrNull = (meaning: string, nullWhen: string) =>
  z
    .string()
    .nullable()
    .meta({ description: `${meaning}; null ${nullWhen}`, format: 'date-time' });

/** The introduction of the document says what that form is. */
const legacyOf = (name: string): string => `\`${name}_iso\` as a legacy date`;

type Pair<Name extends string, Type> = Record<Name | `${Name}_iso`, Type>;

/** A legacy date and its twin (interface 2). */
export const datePair = <Name extends string>(name: Name, meaning: string): Pair<Name, z.ZodString> =>
  ({
    [name]: z.string().describe(legacyOf(name)),
    [`${name}_iso`]: instant(meaning),
  }) as Pair<Name, z.ZodString>;

export const datePairOrNull = <Name extends string>(
  name: Name,
  meaning: string,
  nullWhen: string,
): Pair<Name, z.ZodNullable<z.ZodString>> =>
  ({
    [name]: z.string().nullable().describe(legacyOf(name)),
    [`${name}_iso`]: instantOrNull(meaning, nullWhen),
  }) as Pair<Name, z.ZodNullable<z.ZodString>>;

type Period<Name extends string> = Record<`${Name}_from` | `${Name}_to`, z.ZodType<string | undefined>>;

/** The filters `…_from` and `…_to`. `items` has a verb at its end, such as "Only orders received". */
export const dayPeriod = <Name extends string>(name: Name, items: string): Period<Name> => {
  const day = (side: string) => optional(date()).describe(`${items} on this day of the API time zone or ${side}`);
  return { [`${name}_from`]: day('later'), [`${name}_to`]: day('earlier') } as Period<Name>;
};
