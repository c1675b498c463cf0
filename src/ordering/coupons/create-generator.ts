/** Creates a generator of coupons. For the command line. */

import type { Kysely } from 'kysely';
import { isDay } from '#src/platform/clock.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { isExpressible, toWire } from '../values/money.ts';
import { hasValidDay } from './check-coupon.ts';
import type { Generator } from './coupon.ts';
import { insertGenerator } from './coupon-store.ts';

/** In the units of the interface: percent, money and points with at most 2 decimals. */
export type NewGenerator = {
  gencode: string;
  discountPerc: number;
  quantity?: number;
  orderMin?: number;
  validFrom?: string;
  validTo?: string;
  validDays?: number;
  validWeekdays?: readonly number[];
  points?: number;
};

/** The generator is invalid; the message names all problems. */
class GeneratorRefused extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'GeneratorRefused';
  }
}

export const createGenerator = async (
  tx: Kysely<unknown>,
  restuid: string,
  wanted: NewGenerator,
  now: Date,
): Promise<Generator> => {
  const restaurant = await requireRestaurant(tx, restuid);
  const problems = problemsOf(wanted, restaurant.currency);
  if (problems.length > 0) throw new GeneratorRefused(problems);
  const generator: Generator = {
    gencode: wanted.gencode,
    discountPerc: hundredths(wanted.discountPerc),
    quantity: wanted.quantity ?? 1,
    orderMin: hundredths(wanted.orderMin ?? 0),
    validFrom: wanted.validFrom ?? null,
    validTo: wanted.validTo ?? null,
    validDays: wanted.validDays ?? null,
    validWeekdays: [...new Set(wanted.validWeekdays ?? [])].sort(),
    points: hundredths(wanted.points ?? 0),
  };
  if (!(await insertGenerator(tx, restuid, generator, now)))
    throw new GeneratorRefused([`there is a generator ${wanted.gencode} already`]);
  return generator;
};

/** The generator in the units of NewGenerator. */
export const generatorView = (generator: Generator): Record<string, unknown> => ({
  gencode: generator.gencode,
  discount_perc: toWire(generator.discountPerc),
  quantity: generator.quantity,
  order_min: toWire(generator.orderMin),
  valid_from: generator.validFrom,
  valid_to: generator.validTo,
  valid_days: generator.validDays,
  valid_weekdays: generator.validWeekdays,
  points: toWire(generator.points),
});

const hundredths = (value: number): number => Math.round(value * 100);

const problemsOf = (wanted: NewGenerator, currency: string): string[] => {
  const { quantity = 1, orderMin = 0, validFrom, validTo, validDays = 1, validWeekdays = [], points = 0 } = wanted;
  const holds: [boolean, string][] = [
    [/^[A-Za-z0-9._-]{1,64}$/.test(wanted.gencode), 'gencode must have 1 to 64 of A-Z a-z 0-9 . _ -'],
    [isDecimal(wanted.discountPerc, 100), 'discount-perc must be 0 to 100 with at most 2 decimals'],
    [isWhole(quantity, 1, 1_000_000), 'quantity must be 1 to 1000000'],
    [isDecimal(orderMin, 1_000_000), 'order-min must be 0 to 1000000 with at most 2 decimals'],
    [isExpressible(hundredths(orderMin), currency), `order-min must have no decimals in ${currency}`],
    [validFrom === undefined || isDay(validFrom), 'valid-from must be a day, YYYY-MM-DD'],
    [validTo === undefined || isDay(validTo), 'valid-to must be a day, YYYY-MM-DD'],
    [(validFrom ?? '') <= (validTo ?? '9999-99-99'), 'valid-to must not be before valid-from'],
    [isWhole(validDays, 1, 3650), 'valid-days must be 1 to 3650'],
    [validWeekdays.every((day) => isWhole(day, 0, 6)), 'valid-weekdays must be 0 (Sunday) to 6'],
    [hasSomeDay(validFrom, validTo, validWeekdays), 'valid-from to valid-to must have one of the valid-weekdays'],
    [points === 0 || wanted.discountPerc !== 0, 'discount-perc must be above 0 where coupons cost points'],
    [isDecimal(points, 10_000_000), 'points must be 0 to 10000000 with at most 2 decimals'],
  ];
  return holds.filter(([right]) => !right).map(([, problem]) => problem);
};

/** True for an open or invalid period too; the latter is another problem. */
const hasSomeDay = (from: string | undefined, to: string | undefined, weekdays: readonly number[]): boolean =>
  from === undefined || to === undefined || !isDay(from) || !isDay(to) || to < from || hasValidDay(weekdays, from, to);

const isWhole = (value: number, min: number, max: number): boolean =>
  Number.isInteger(value) && value >= min && value <= max;

const isDecimal = (value: number, max: number): boolean =>
  value >= 0 && value <= max && Number(value.toFixed(2)) === value;
