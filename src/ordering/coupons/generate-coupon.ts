/**
 * coupon/generate (interface 11.4): creates a coupon from a generator, paid with points if the generator has a price.
 */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { lockCustomer } from '../customers/customer-store.ts';
import { postEntry } from '../loyalty/ledger.ts';
import type { Restaurant } from '../restaurants/restaurant.ts';
import { dayOf, hasValidDay, laterDay } from './check-coupon.ts';
import type { Coupon, Generator } from './coupon.ts';
import { findGenerator, insertCoupon } from './coupon-store.ts';

export type GenerateResult =
  | { kind: 'generated'; coupon: Coupon }
  | { kind: 'no_generator' }
  /** The generator has a price, and the request names no customer who pays. */
  | { kind: 'email_needed' }
  | { kind: 'no_customer' }
  /** The generator has a price, but its coupons would have no effect. */
  | { kind: 'worthless'; reason: string }
  /** `balance` in hundredths of a point. */
  | { kind: 'insufficient'; balance: number };

type Wish = { gencode: string; validEmail: string | null; now: Date; readNow: () => Date };

export const generateCoupon = async (
  tx: Kysely<unknown>,
  restaurant: Restaurant,
  { gencode, validEmail, now, readNow }: Wish,
): Promise<GenerateResult> => {
  const generator = await findGenerator(tx, restaurant.uid, gencode);
  if (generator === undefined) return { kind: 'no_generator' };
  if (generator.points === 0)
    return { kind: 'generated', coupon: await makeCoupon(tx, restaurant, generator, validEmail, now) };
  const reason = worthlessness(generator, now, restaurant.timeZone);
  if (reason !== undefined) return { kind: 'worthless', reason };
  if (validEmail === null) return { kind: 'email_needed' };
  // The customer is locked before the coupon, as everywhere, so that requests cannot deadlock.
  const customer = await lockCustomer(tx, restaurant.uid, { email: validEmail });
  if (customer === undefined) return { kind: 'no_customer' };
  const coupon = await makeCoupon(tx, restaurant, generator, validEmail, now);
  const paid = await postEntry(tx, {
    restuid: restaurant.uid,
    restaurant,
    customerUid: customer.uid,
    type: 'coupon',
    inputType: 'points',
    diffOp: 'subtract',
    diffPoints: generator.points,
    couponCode: coupon.code,
    now: readNow(),
  });
  if (paid.kind === 'insufficient') return paid;
  if (paid.kind !== 'posted') throw new Error(`paying a new coupon with points failed: ${paid.kind}`);
  return { kind: 'generated', coupon };
};

/** The reason why coupons of the generator would have no effect, so that points would buy nothing. */
const worthlessness = (generator: Generator, now: Date, timeZone: string): string | undefined => {
  const { discountPerc, validFrom, validTo } = generator;
  if (discountPerc === 0) return 'gives no discount, and costs points';
  const today = dayOf(now, timeZone);
  if (validTo !== null && validTo < today) return `gives coupons until ${validTo} only, and costs points`;
  const ends = lastDayOf(generator, now, timeZone);
  if (validFrom !== null && ends !== null && ends < validFrom)
    return `gives coupons from ${validFrom} that would end on ${ends}, and costs points`;
  const begins = validFrom === null || validFrom < today ? today : validFrom;
  return hasValidDay(generator.validWeekdays, begins, ends)
    ? undefined
    : `gives coupons from ${begins} to ${ends} that no day of the week in this time fits, and costs points`;
};

/** Last day of a coupon that is made now; null: it has no end. */
const lastDayOf = ({ validTo, validDays }: Generator, now: Date, timeZone: string): string | null =>
  earlier(validTo, validDays === null ? null : lastDay(now, timeZone, validDays));

const triesMax = 5;

const makeCoupon = async (
  tx: Kysely<unknown>,
  restaurant: Restaurant,
  generator: Generator,
  validEmail: string | null,
  now: Date,
): Promise<Coupon> => {
  const { gencode, validDays: _validDays, points: _points, ...terms } = generator;
  const validTo = lastDayOf(generator, now, restaurant.timeZone);
  for (let attempt = 1; attempt <= triesMax; attempt += 1) {
    const coupon: Coupon = { code: newCode(), ...terms, validTo, validEmail };
    if (await insertCoupon(tx, restaurant.uid, { ...coupon, gencode }, now)) return coupon;
  }
  throw new Error('every generated coupon code was taken');
};

/** Without letters that look like others (I L O U). 50 bits cannot be guessed at the rate limits of callers. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const codeLength = 10;

const newCode = (): string =>
  Array.from(randomBytes(codeLength), (byte) => alphabet[byte % alphabet.length] ?? '').join('');

const lastDay = (now: Date, timeZone: string, days: number): string => laterDay(dayOf(now, timeZone), days - 1);

const earlier = (left: string | null, right: string | null): string | null =>
  left === null || right === null ? (left ?? right) : left < right ? left : right;
