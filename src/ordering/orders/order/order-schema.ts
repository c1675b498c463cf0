/** The schemas of orders in answers and events (interface 10.1), of the receipt and of the state after a move (11.1). */
import { z } from 'zod';
import { dmethodMeaning } from '../../restaurants/dmethod.ts';
import {
  amount,
  count,
  datePair,
  datePairOrNull,
  instant,
  instantOrNull,
  points,
  textOrNull,
} from '../../values/described-members.ts';
import { statuses } from './order.ts';

const menuName = z.string().describe('Name in the menu when the order was received');
const tillId = textOrNull('Id in a till that was linked in the panel');
const extId = textOrNull('Id that the importing client gave it', 'when it was made in the panel');

const valueAnswer = z
  .object({
    uid: z.string().describe('Value of the option in the menu'),
    name: menuName,
    price_operator: z
      .enum(['+', '-', '='])
      .describe('`+` adds `price_operand` to the price of one product, `-` subtracts it, `=` replaces the price by it'),
    price_operand: amount('What `price_operator` adds, subtracts or sets; added and subtracted once per `quantity`'),
    quantity: count('How many times the value was chosen for one product', 1),
    offline_uid: tillId,
    ext_id: extId,
  })
  .meta({ id: 'OrderOptionValue', description: 'A chosen value of an option, as it was when the order was received' });

const optionAnswer = z
  .object({
    uid: z.string().describe('Option in the menu'),
    name: menuName,
    type: z.enum(['single', 'multiple']).describe('`single`: one value can be chosen, once; `multiple`: several'),
    ext_id: extId,
    values: z.array(valueAnswer).describe('The values that were chosen'),
  })
  .meta({ id: 'OrderOption', description: 'An option of an ordered product, with the chosen values' });

const productAnswer = z
  .object({
    uid: z.string().describe('Product in the menu'),
    name: menuName,
    price: amount('The same as `price` of the line'),
    category: z.string().describe('Name of its category when the order was received'),
    category_uid: z.string().describe('Its category in the menu'),
    offline_uid: tillId,
    ext_id: extId,
  })
  .meta({ id: 'OrderProduct', description: 'An ordered product, as it was when the order was received' });

const noneOrErased = 'when there is none, and once the customer was removed';

const lineAnswer = z
  .object({
    product: productAnswer,
    options: z.array(optionAnswer).describe('The options of which a value was chosen'),
    price: amount('Price of one product with this delivery method, without options'),
    price_options: amount('What the chosen values add to the price of one product; negative when they lower it'),
    quantity: count('Number of products of this line', 1),
    free_quantity: count('How many of `quantity` are free; 0 for orders of order/create'),
    total: amount('(`price` + `price_options`) × (`quantity` − `free_quantity`)'),
    notes: textOrNull('Note on this line', noneOrErased),
  })
  .meta({ id: 'OrderLine', description: 'A line of an order: one product with its options' });

const notKnown = 'when it is not known';

const degrees = (meaning: string, max: 90 | 180) =>
  z
    .number()
    .nullable()
    .meta({
      description: `${meaning} in degrees, at most 6 decimals; null ${notKnown}`,
      minimum: -max,
      maximum: max,
    });

const addressAnswer = z
  .object({
    street: textOrNull('Street', notKnown),
    number: textOrNull('Number of the house', notKnown),
    city: textOrNull('City', notKnown),
    province: textOrNull('Province, as sent or as the geocoder names it', notKnown),
    zip: textOrNull('Postal code', notKnown),
    country: textOrNull('Country in two letters', notKnown),
    place_id: textOrNull('Place at the geocoder of the operator', 'when none was sent'),
    lat: degrees('Latitude', 90),
    lng: degrees('Longitude', 180),
    kms: z
      .number()
      .nullable()
      .describe(
        'Distance from the location in kilometres, in a straight line, at most 2 decimals; null when coordinates are missing',
      ),
    doorbell: textOrNull('Name at the doorbell', 'when none was sent'),
    floor: textOrNull('Floor, as text', 'when none was sent'),
    quarter: textOrNull('Part of the city', notKnown),
  })
  .meta({
    id: 'DeliveryAddress',
    description: 'Where an order is delivered: the sent members, completed by `place_id`',
  });

const clientAnswer = z
  .object({
    uid: textOrNull('Record of the customer', 'when the order has none'),
    first_name: textOrNull('First name, as given with the order', 'once the customer was removed'),
    last_name: textOrNull('Last name, as given with the order'),
    phone: textOrNull('Phone number, as given with the order'),
    email: textOrNull('Email address, as given with the order'),
  })
  .meta({
    id: 'OrderCustomer',
    description: 'The customer as given with the order. When the customer is removed, only `uid` remains',
  });

const pickupAnswer = z
  .object(datePair('date', 'When the order is to be picked up'))
  .meta({ id: 'Pickup', description: 'The pickup of an order' });

const deliveryPointAnswer = z
  .object({
    name: z.string().describe('Name of the pickup point when the order was received'),
    full_address: z.string().describe('Address of the pickup point in one text'),
    fee: amount('Fee of the pickup point, which is also the `fee` of the order'),
  })
  .meta({ id: 'OrderDeliveryPoint', description: 'The pickup point to which an order is delivered' });

const deliveryAnswer = z
  .object({
    ...datePair('date', 'When the order is to be delivered'),
    address: addressAnswer
      .nullable()
      .describe('Where a home delivery goes; null with a pickup point, and once the customer was removed'),
    deliverypoint: deliveryPointAnswer.nullable().describe('The pickup point of dmethod `20`; null with other methods'),
  })
  .meta({ id: 'OrderDelivery', description: 'The delivery of an order to an address or a pickup point' });

const couponAnswer = z
  .object({
    code: z.string().describe('Code of the coupon'),
    discount: amount('What the coupon takes off the sum of the lines'),
  })
  .meta({ id: 'OrderCoupon', description: 'The coupon that an order used' });

const redemptionAnswer = z
  .object({
    redeemed_points: points('What the customer spent on this order'),
    discount: amount('What these points take off the sum of the lines'),
  })
  .meta({ id: 'OrderLoyalty', description: 'The loyalty points that an order used' });

const withoutCountdown = 'without a countdown';

export const confirmationAnswer = z
  .object({
    confirmed: z.boolean().describe('True once the order was confirmed, even if it was cancelled later'),
    countdown_time: z
      .int()
      .nullable()
      .describe(`Minutes in which the order must be confirmed; null ${withoutCountdown}`),
    ...datePairOrNull('countdown_started', 'When the countdown began', withoutCountdown),
    ...datePairOrNull('countdown_end', 'From this moment on the order cannot be confirmed', withoutCountdown),
    timeout: z.boolean().describe('True when `status` is `timed_out`'),
    closed: z.boolean().describe('True once the order was confirmed, timed out or was cancelled'),
    ...datePairOrNull('date', 'When `closed` became true', 'while it is false'),
    text: textOrNull('Note that was given with the confirmation', noneOrErased),
  })
  .meta({ id: 'Confirmation', description: 'Whether and when the order was confirmed, and its countdown' });

const cancellationAnswer = z
  .object({
    ...datePair('date', 'When the order was cancelled'),
    reason: textOrNull('Reason that was given', noneOrErased),
    by: z.enum(['api', 'panel']).describe('`api`: by order/cancel; `panel`: by a user of the panel'),
  })
  .meta({ id: 'Cancellation', description: 'The cancellation of an order' });

/** Members that several objects about an order have. */
export const identity = {
  uid: z.string().describe('Identifies the order; unique in the installation'),
  token: z.string().describe('Is needed beside `uid` to confirm, close or cancel the order. Secret; it never changes'),
};
const seq = count('Rises with each change of the order that can have an event; `seq` of that event', 1);
const status = z
  .enum(statuses)
  .describe('State of the order. `timed_out`: its countdown ended before it was confirmed; `closed`: it is completed');
const numbers = {
  number: count('Running number of the order in the restaurant, from 1', 1),
  order_number: z
    .string()
    .describe('Number to show: `<location code>-<number>`, or the number alone if the location has no code'),
};
const total = amount('Sum of the line totals, minus the discounts of coupon and points, plus the fee');
const fee = amount('Delivery fee: of the zone with dmethod `1`, of the pickup point with `20`, otherwise 0');
const currency = z.string().describe('Currency of all amounts of the order (ISO 4217)');
const externalId = textOrNull('Id that the sender gave, unique for this client and restaurant');

/** The values are listed for readers only, so that an answer with a value of a later version is not refused. */
const payment = {
  payment_method: z.string().meta({
    description:
      'How the order is paid: `cash` and `card` on receipt, `online` in a shop, `invoice` by invoice, `external` elsewhere',
    enum: ['cash', 'card', 'online', 'invoice', 'external'],
  }),
  payment_method_sub: z
    .string()
    .nullable()
    .meta({
      description:
        'Means of payment. With `cash`: `cash`, `pos`, `voucher` or `other`; with `card` and `online`: `card`, `wallet`, ' +
        '`transfer` or `other`; null with other methods',
      enum: ['cash', 'pos', 'voucher', 'card', 'wallet', 'transfer', 'other', null],
    }),
  paid: z
    .boolean()
    .describe(
      'True from the start with `online` and `external`, once the order is closed with `cash` and `card`; false with `invoice`',
    ),
};

export const orderAnswer = z
  .object({
    ...identity,
    seq,
    status,
    ...datePair('date', 'When the order was received'),
    updated_iso: instant('When `status` changed last; at first when the order was received'),
    ...numbers,
    client: clientAnswer,
    details: z.array(lineAnswer).describe('The lines of the order'),
    dmethod: z.string().describe(dmethodMeaning),
    fee,
    ...payment,
    total,
    currency,
    closed: z.boolean().describe('True when `status` is `closed`'),
    subrestaurant_uid: z.string().describe('Location that the order is for'),
    subrestaurant_code: textOrNull('Code of the location when the order was received', 'when it had none'),
    notes: textOrNull('Note on the whole order', noneOrErased),
    language: textOrNull('Language in two letters: the one that was sent, otherwise that of the restaurant', notKnown),
    creator: z
      .enum(['customer', 'restaurant'])
      .describe('Side that made the order. An order of the restaurant is confirmed at once'),
    table: textOrNull('Table, with dmethod `0t`', 'with other methods'),
    external_id: externalId,
    pickup: pickupAnswer.nullable().describe('Null when the order is delivered, is at the table or has no pickup date'),
    delivery: deliveryAnswer.nullable().describe('Null when the order is not delivered'),
    coupon: couponAnswer.nullable().describe('The coupon that the order used; null without one'),
    loyalty: redemptionAnswer.nullable().describe('The points that the order used; null without any'),
    confirmation: confirmationAnswer,
    cancellation: cancellationAnswer.nullable().describe('Null unless the order was cancelled'),
  })
  .meta({ id: 'Order', description: 'An order, with names and prices as they were when it was received' });

export const stateAnswer = z
  .object({ uid: identity.uid, status, seq, confirmation: confirmationAnswer })
  .meta({ id: 'OrderState', description: 'The state of an order after order/confirm, order/close or order/cancel' });

export const receiptAnswer = z
  .object({
    ...identity,
    order_number: numbers.order_number,
    total,
    date: instant('When the order was received'),
    confirmed: z.boolean().describe('True when the order was confirmed at once'),
    delivery_fee: fee,
    pickup_date: instantOrNull('When the order is to be picked up', 'without a pickup date'),
    delivery_date: instantOrNull('When the order is to be delivered', 'when it is not delivered'),
    status: z.enum(statuses).describe('State at the end of order/create: `new`, or `confirmed` if `confirmed` is true'),
    number: numbers.number,
    external_id: externalId,
    currency,
    countdown_end: instantOrNull('From this moment on the order cannot be confirmed', withoutCountdown),
  })
  .meta({ id: 'OrderReceipt', description: 'What order/create answers. A repeated request gets the first receipt' });
