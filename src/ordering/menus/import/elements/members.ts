/**
 * The members of an imported element (interface 11.3): the name of each in an import, the values it accepts, its
 * default when a replace leaves it out, and its form in a report.
 */
import { z } from 'zod';
import { boolean, integer, money, oneOf, text } from '#src/platform/http/values.ts';
import { toWire } from '../../../values/money.ts';
import type { Category, Option, OptionValue, Product } from '../../menu/menu.ts';

export type ElementKind = 'category' | 'product' | 'option' | 'option_value';

export type CategoryMembers = Pick<
  Category,
  'name' | 'description' | 'image' | 'hidden' | 'position' | 'subrestaurant_uids'
>;
export type ProductMembers = Omit<Product, 'uid' | 'category_uid' | 'url' | 'ext_id' | 'options'>;
export type OptionMembers = Omit<Option, 'uid' | 'ext_id' | 'subrestaurant_uids' | 'option_values' | 'removed'>;
export type ValueMembers = Omit<
  OptionValue,
  'uid' | 'ext_id' | 'subrestaurant_uids' | 'restrict_to_primary_value_uids' | 'removed'
>;

export type Member<T> = {
  /** Name in an import and in its report. */
  field: string;
  /** Has the description of the member. */
  type: z.ZodType<T>;
  /**
   * Undefined: the member is required for a new element and in a replace. `position` defaults to the index in the
   * array.
   */
  fallback: T | undefined;
  /** Null and an empty string clear the member. For the other members both mean "not given". */
  clearable?: true;
  show?: (value: T) => unknown;
  /** The amounts in the value; each must be expressible in the currency. */
  amountsOf?: (value: T) => number[];
};

export type Members<T> = { readonly [K in keyof T]-?: Member<T[K]> };

const positionMax = 2_147_483_647;
const selectableMax = 10_000;
const addressMax = 2048;

const required = <T>(field: string, type: z.ZodType<T>): Member<T> => ({ field, type, fallback: undefined });
const withFallback = <T>(field: string, type: z.ZodType<T>, fallback: T): Member<T> => ({ field, type, fallback });
const clearable = (field: string, type: z.ZodType<string>): Member<string | null> => ({
  field,
  type,
  fallback: null,
  clearable: true,
});
const off = (field: string, about: string): Member<boolean> => withFallback(field, boolean().describe(about), false);

const issue = (ctx: z.RefinementCtx, code: string, message: string, path: PropertyKey[] = []): void =>
  ctx.addIssue({ code: 'custom', message, params: { code }, path });

/** A JSON array of `type`, at most `max` long; a value given twice counts once. */
const listOf = (type: z.ZodType<string>, max: number): z.ZodType<string[]> =>
  z
    .unknown()
    .transform((input, ctx): string[] => {
      if (!Array.isArray(input)) issue(ctx, 'TYPE', 'must be an array');
      else if (input.length > max) issue(ctx, 'LENGTH', `must have at most ${max} items`);
      else {
        const read = input.map((item: unknown, index) => ({ index, parsed: type.safeParse(item) }));
        for (const { index, parsed } of read)
          for (const fault of parsed.error?.issues ?? [])
            issue(ctx, String(fault.code === 'custom' ? fault.params?.code : 'FORMAT'), fault.message, [index]);
        return [...new Set(read.flatMap(({ parsed }) => (parsed.success ? [parsed.data] : [])))];
      }
      return z.NEVER;
    })
    .meta({
      type: 'array',
      maxItems: max,
      items: z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }),
    }) as unknown as z.ZodType<string[]>;

const dmethodPattern = /^(0|1|0t|20|(0e|dcf)-[A-Za-z0-9._-]{1,60})$/;
const dmethodsMax = 100;
const price = money();

/** {dmethod: money}. The names are sorted, so that equal tables have equal JSON texts. */
const pricesTable: z.ZodType<Record<string, number>> = z
  .unknown()
  .transform((input, ctx): Record<string, number> => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      issue(ctx, 'TYPE', 'must be an object of dmethod and price');
      return z.NEVER;
    }
    const entries = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1));
    if (entries.length > dmethodsMax) issue(ctx, 'LENGTH', `must have at most ${dmethodsMax} members`);
    const table: [string, number][] = [];
    for (const [dmethod, amount] of entries.slice(0, dmethodsMax)) {
      const parsed = price.safeParse(amount);
      if (!dmethodPattern.test(dmethod)) issue(ctx, 'FORMAT', 'is not a dmethod', [dmethod]);
      else if (parsed.success) table.push([dmethod, parsed.data]);
      else
        for (const fault of parsed.error.issues)
          issue(ctx, String(fault.code === 'custom' ? fault.params?.code : 'FORMAT'), fault.message, [dmethod]);
    }
    return Object.fromEntries(table);
  })
  .meta({
    'x-name': 'ImportedPriceTable',
    description: 'Prices by dmethod that take precedence over `price`, in the currency of the restaurant',
    type: 'object',
    additionalProperties: z.toJSONSchema(price, { io: 'input', unrepresentable: 'any' }),
  }) as unknown as z.ZodType<Record<string, number>>;

const webAddress = text({ max: addressMax }).refine(
  (value) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    return (url?.protocol === 'https:' || url?.protocol === 'http:') && /^https?:\/\//i.test(value);
  },
  { message: 'must be an absolute http or https address', params: { code: 'FORMAT' } },
);

const name = required('name', text({ max: 200 }).describe('Name that customers see'));
const description = clearable('description', text({ max: 2000 }).describe('Text for customers; null clears it'));
const shortName = clearable('short_name', text({ max: 200 }).describe('Shorter form of the name; null clears it'));
const image = clearable('image', webAddress.describe('Absolute http or https address of a picture; null clears it'));
const hidden = off('hidden', 'True: it is not shown to customers and cannot be ordered');
const position = withFallback(
  'position',
  integer({ min: 0, max: positionMax }).describe(
    'Place among its kind, ascending. When it is new or the import replaces: by default its index in the array',
  ),
  0,
);
const locations = withFallback(
  'subrestaurant_uids',
  listOf(text({ max: 64, pattern: /^[A-Za-z0-9._-]+$/, format: 'an id' }), 1000).describe(
    'Locations where it is offered; empty means all of them',
  ),
  [],
);

const allergens = [
  'gluten',
  'crustaceans',
  'eggs',
  'fish',
  'peanuts',
  'soy',
  'milk',
  'nuts',
  'celery',
  'mustard',
  'sesame',
  'sulphites',
  'lupin',
  'molluscs',
] as const;
const symbols = ['vegetarian', 'vegan', 'spicy', 'gluten_free', 'lactose_free', 'organic', 'frozen', 'new'] as const;

export const categoryMembers: Members<CategoryMembers> = {
  name,
  description,
  image,
  hidden,
  position,
  subrestaurant_uids: locations,
};

export const productMembers: Members<ProductMembers> = {
  name,
  ingredients: description,
  price: {
    ...required(
      'price',
      price.describe(
        'Price of one, without options, in the currency of the restaurant; more than 2 decimals are refused',
      ),
    ),
    show: toWire,
    amountsOf: (amount) => [amount],
  },
  prices_table: {
    ...withFallback('prices_table', pricesTable, {}),
    show: (table) => Object.fromEntries(Object.entries(table).map(([dmethod, amount]) => [dmethod, toWire(amount)])),
    amountsOf: Object.values,
  },
  image,
  hidden,
  position,
  inherits_options: withFallback(
    'inherits_options',
    oneOf(['sync', 'copy', 'none']).describe(
      '`sync`: the options of the category apply, as they are at any time; `copy`: they are copied once, when the product is made or begins to copy; `none`: only own options',
    ),
    'sync',
  ),
  allergens: withFallback('allergens', listOf(oneOf(allergens), 100).describe('Allergens in the product'), []),
  symbols: withFallback('symbols', listOf(oneOf(symbols), 100).describe('Properties to show beside the name'), []),
  suggested: off('suggested', 'A hint for order forms: recommend it'),
  price_sale_alert: off('price_sale_alert', 'A hint for order forms: mark its price as reduced'),
  checkout_selling: off('checkout_selling', 'A hint for order forms: offer it at the checkout'),
  price_sale_badge: withFallback(
    'price_sale_badge',
    integer({ min: 0, max: 100 }).describe('Reduction to show, in percent; it does not change the price'),
    0,
  ),
  subrestaurant_uids: locations,
};

export const optionMembers: Members<OptionMembers> = {
  name,
  short_name: shortName,
  type: required(
    'type',
    oneOf(['single', 'multiple']).describe(
      '`single`: at most one value, with quantity 1; `multiple`: several values and quantities',
    ),
  ),
  min_selectable: withFallback(
    'min_selectable',
    integer({ min: 0, max: selectableMax }).describe(
      'Least sum of the quantities of its values in an order; 0 means that it may be left out',
    ),
    0,
  ),
  max_selectable: withFallback(
    'max_selectable',
    integer({ min: 0, max: selectableMax }).describe(
      'Greatest sum of the quantities of its values in an order, 0 = no bound. By default 1 for `single` and 0 for `multiple`',
    ),
    0,
  ),
  max_quantity: withFallback(
    'max_quantity',
    integer({ min: 0, max: selectableMax }).describe(
      'Greatest quantity of one of its values in an order, 0 = no bound. By default 1 for `single` and 0 for `multiple`',
    ),
    0,
  ),
  note: clearable('note', text({ max: 2000 }).describe('Text to show beside the option; null clears it')),
  hidden,
  position,
  primary: off(
    'primary',
    'True: its chosen value decides which values of the other options are offered. At most one visible option of a product may be primary',
  ),
  first_default: off('first_default', 'A hint for order forms: the first value is selected at first'),
  show_caption: off('show_caption', 'A hint for order forms: show the name of the option'),
  print_caption: off('print_caption', 'A hint for receipts: print the name of the option'),
};

export const valueMembers: Members<ValueMembers> = {
  name,
  short_name: shortName,
  price_operator: withFallback(
    'price_operator',
    oneOf(['+', '-', '=']).describe(
      'What the operand does to the price of the product: `+` adds it, `-` subtracts it, `=` replaces the price',
    ),
    '+',
  ),
  price_operand: {
    ...withFallback(
      'price_operand',
      price.describe('In the currency of the restaurant; more than 2 decimals are refused'),
      0,
    ),
    show: toWire,
    amountsOf: (amount) => [amount],
  },
  hidden,
  position,
  checked_default: off('checked_default', 'A hint for order forms: the value is selected at first'),
};
