/** Coupons and their generators in PostgreSQL. */
import { type Kysely, sql } from 'kysely';
import type { Coupon, FoundCoupon, Generator } from './coupon.ts';

const termColumns = sql`
  discount_perc as "discountPerc", quantity, order_min as "orderMin", valid_from as "validFrom", valid_to as "validTo",
  valid_weekdays as "validWeekdays"`;

const couponColumns = sql`code, ${termColumns}, valid_email as "validEmail"`;

/** Codes are read aloud and typed, so case is ignored. */
const canonical = (code: string): string => code.toUpperCase();

/** The store compares the emails, because it finds the customer who pays for a coupon, and JavaScript lowers some letters otherwise. */
const isForEmail = (email: string | null) =>
  sql`coalesce(valid_email is null or lower(valid_email) = lower(${email}::text), false) as "isForEmail"`;

type Asked = { code: string; email: string | null };

export const findCoupon = async (
  db: Kysely<unknown>,
  restuid: string,
  { code, email }: Asked,
): Promise<FoundCoupon | undefined> => {
  const { rows } = await sql<FoundCoupon>`
    select ${couponColumns}, ${isForEmail(email)} from ordering.coupons
    where restuid = ${restuid} and code = ${canonical(code)}`.execute(db);
  return rows[0];
};

/** Locks the coupon until the transaction ends. */
export const lockCoupon = async (
  tx: Kysely<unknown>,
  restuid: string,
  { code, email }: Asked,
): Promise<FoundCoupon | undefined> => {
  const { rows } = await sql<FoundCoupon>`
    select ${couponColumns}, ${isForEmail(email)} from ordering.coupons
    where restuid = ${restuid} and code = ${canonical(code)} for update`.execute(tx);
  return rows[0];
};

/** Takes one use. Undefined when none is left, even if another transaction just took the last one. */
export const takeUse = async (
  tx: Kysely<unknown>,
  restuid: string,
  { code, email }: Asked,
): Promise<FoundCoupon | undefined> => {
  const { rows } = await sql<FoundCoupon>`
    update ordering.coupons set quantity = quantity - 1
    where restuid = ${restuid} and code = ${canonical(code)} and quantity > 0
    returning ${couponColumns}, ${isForEmail(email)}`.execute(tx);
  return rows[0];
};

export const giveUseBack = async (tx: Kysely<unknown>, restuid: string, code: string): Promise<void> => {
  await sql`
    update ordering.coupons set quantity = quantity + 1
    where restuid = ${restuid} and code = ${canonical(code)}`.execute(tx);
};

/**
 * Erases an email from the coupons that only its customer may use. They have no use left, and one that a cancelled order gives
 * back is for no email: a later owner of the address must not inherit them.
 */
export const eraseCouponEmail = async (tx: Kysely<unknown>, restuid: string, email: string): Promise<void> => {
  await sql`
    update ordering.coupons set valid_email = '', quantity = 0
    where restuid = ${restuid} and lower(valid_email) = lower(${email})`.execute(tx);
};

/** Coupons follow their customer to a new email: a later owner of the old address must not inherit them. */
export const moveCouponEmail = async (
  tx: Kysely<unknown>,
  restuid: string,
  from: string,
  to: string,
): Promise<void> => {
  await sql`
    update ordering.coupons set valid_email = ${to}
    where restuid = ${restuid} and lower(valid_email) = lower(${from})`.execute(tx);
};

/** False when the restaurant already has a coupon with this code. */
export const insertCoupon = async (
  tx: Kysely<unknown>,
  restuid: string,
  coupon: Coupon & { gencode: string },
  now: Date,
): Promise<boolean> => {
  const { rows } = await sql`
    insert into ordering.coupons (restuid, code, gencode, discount_perc, quantity, order_min, valid_from, valid_to,
      valid_weekdays, valid_email, created)
    values (${restuid}, ${canonical(coupon.code)}, ${coupon.gencode}, ${coupon.discountPerc}, ${coupon.quantity},
      ${coupon.orderMin}, ${coupon.validFrom}::date, ${coupon.validTo}::date, ${coupon.validWeekdays}::integer[],
      ${coupon.validEmail}, ${now})
    on conflict (restuid, code) do nothing returning code`.execute(tx);
  return rows.length > 0;
};

export const findGenerator = async (
  db: Kysely<unknown>,
  restuid: string,
  gencode: string,
): Promise<Generator | undefined> => {
  const { rows } = await sql<Generator>`
    select gencode, ${termColumns}, valid_days as "validDays", points from ordering.coupon_generators
    where restuid = ${restuid} and gencode = ${gencode}`.execute(db);
  return rows[0];
};

/** False when the restaurant already has a generator with this gencode. */
export const insertGenerator = async (
  tx: Kysely<unknown>,
  restuid: string,
  generator: Generator,
  now: Date,
): Promise<boolean> => {
  const { rows } = await sql`
    insert into ordering.coupon_generators (restuid, gencode, discount_perc, quantity, order_min, valid_from, valid_to,
      valid_days, valid_weekdays, points, created)
    values (${restuid}, ${generator.gencode}, ${generator.discountPerc}, ${generator.quantity}, ${generator.orderMin},
      ${generator.validFrom}::date, ${generator.validTo}::date, ${generator.validDays},
      ${generator.validWeekdays}::integer[], ${generator.points}, ${now})
    on conflict (restuid, gencode) do nothing returning gencode`.execute(tx);
  return rows.length > 0;
};
