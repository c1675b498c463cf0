/** Operations on coupons (interface 11.4). */
import { z } from 'zod';
import { Fault, validationFault } from '#src/contract/fault.ts';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { boolean, decimalsRule, email, money, optional, text, withDefault } from '#src/platform/http/values.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { amount, count } from '../values/described-members.ts';
import { isExpressible, toWire } from '../values/money.ts';
import { applyCoupon } from './apply-coupon.ts';
import type { Coupon } from './coupon.ts';
import { type GenerateResult, generateCoupon } from './generate-coupon.ts';

const dayOrNull = (meaning: string) =>
  z
    .string()
    .nullable()
    .meta({ description: `${meaning} in the time zone of the venue; null: no bound`, format: 'date' });

const couponAnswer = z
  .object({
    code: z.string().describe('Code to enter; case is ignored'),
    discount_perc: z
      .number()
      .meta({ description: 'Discount in percent, at most 2 decimals', minimum: 0, maximum: 100 }),
    quantity: count('Uses that are left'),
    order_min: amount('Smallest order that may use the coupon, by the sum of its lines'),
    valid_from: dayOrNull('First day on which it is valid'),
    valid_to: dayOrNull('Last day on which it is valid'),
    valid_weekdays: z
      .array(z.int().meta({ minimum: 0, maximum: 6 }))
      .describe('Days of the week on which it is valid, from 0 (Sunday) to 6; empty: every day'),
    valid_email: z
      .string()
      .nullable()
      .describe('Email address of the only customer who may use it; null: every customer may'),
  })
  .meta({ id: 'Coupon', description: 'A coupon for a discount in percent' });

const couponView = (coupon: Coupon): z.infer<typeof couponAnswer> => ({
  code: coupon.code,
  discount_perc: toWire(coupon.discountPerc),
  quantity: coupon.quantity,
  order_min: toWire(coupon.orderMin),
  valid_from: coupon.validFrom,
  valid_to: coupon.validTo,
  valid_weekdays: coupon.validWeekdays,
  valid_email: coupon.validEmail,
});

const generateOperation = operation({
  method: 'POST',
  path: '/coupon/generate',
  summary: 'Make a coupon of a generator, for points where it has a price',
  errors: ['NOT_FOUND', 'INSUFFICIENT_POINTS'],
  emits: ['loyaltylog.created'],
  params: z
    .object({
      gencode: text({ max: 64 }).describe('Code of a generator of the restaurant, which sets the terms of the coupon'),
      valid_email: optional(email()).describe(
        'Email address of the only customer who may use the coupon; required, and of a known customer, when the generator ' +
          'costs points. Absent: every customer may',
      ),
    })
    .meta({ id: 'NewCoupon', description: 'The coupon to make' }),
  answer: z.object({ coupon: couponAnswer }),
  handle: async ({ db, restuid, params, now, readNow }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const { gencode, valid_email: validEmail = null } = params;
    const result = await generateCoupon(db, restaurant, { gencode, validEmail, now, readNow });
    if (result.kind !== 'generated') throw refusalOf(result);
    return { body: { coupon: couponView(result.coupon) } };
  },
});

const refusalOf = (result: Exclude<GenerateResult, { kind: 'generated' }>): Fault => {
  const pointer = 'valid_email';
  switch (result.kind) {
    case 'no_generator':
      return new Fault('NOT_FOUND', 'No such generator of coupons');
    case 'email_needed':
      return validationFault([{ pointer, code: 'REQUIRED', message: 'is required: the coupon costs points' }]);
    case 'worthless':
      return validationFault([{ pointer: 'gencode', code: 'RANGE', message: result.reason }]);
    case 'no_customer': {
      const message = 'No customer has this email';
      return new Fault('NOT_FOUND', message, { errors: [{ pointer, code: 'NOT_FOUND', message }] });
    }
    case 'insufficient': {
      const message = `at most ${toWire(result.balance)}`;
      return new Fault('INSUFFICIENT_POINTS', `The balance is ${toWire(result.balance)} points`, {
        errors: [{ pointer, code: 'INSUFFICIENT_POINTS', message }],
      });
    }
  }
};

const applyOperation = operation({
  method: 'POST',
  path: '/coupon/apply',
  summary: 'Take a use of a coupon, or look what it would take off',
  errors: ['NOT_FOUND', 'CANNOT_APPLY'],
  params: z
    .object({
      code: text({ max: 64 }).describe('Code of the coupon; case is ignored'),
      total: money().describe(
        `Amount on which the discount is computed, in the currency of the restaurant. ${decimalsRule(2)}`,
      ),
      email: optional(email()).describe(
        'Email address of the customer, compared without case; required for a coupon of one customer',
      ),
      preview: withDefault(boolean(), false).describe('True: the discount is computed, and no use is taken'),
    })
    .meta({ id: 'CouponUse', description: 'The coupon to use, and the amount of the order' }),
  answer: z.object({
    coupon: couponAnswer,
    order: z
      .object({ discount: amount('What the coupon takes off'), total: amount('What is left: `total` minus discount') })
      .describe('The amounts of the order with the coupon'),
  }),
  handle: async ({ db, restuid, params, now }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const { code, total, email: givenEmail = null, preview } = params;
    if (!isExpressible(total, restaurant.currency))
      throw validationFault([{ pointer: 'total', code: 'FORMAT', message: `${restaurant.currency} has no decimals` }]);
    const result = await applyCoupon(db, restaurant, { code, total, email: givenEmail, preview, now });
    if (result.kind === 'not_found') throw new Fault('NOT_FOUND', 'No such coupon');
    if (result.kind === 'refused')
      throw new Fault('CANNOT_APPLY', result.reason, {
        errors: [{ pointer: 'code', code: 'CANNOT_APPLY', message: result.reason }],
      });
    const { coupon, discount } = result;
    return {
      body: { coupon: couponView(coupon), order: { discount: toWire(discount), total: toWire(total - discount) } },
    };
  },
});

export const couponOperations: Operation[] = [generateOperation, applyOperation];
