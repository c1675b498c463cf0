/** Categories and products as the interface shows them (10.3). */
import { z } from 'zod';
import { toWire } from '../../values/money.ts';
import type { Option, ProductOnSale } from './menu.ts';
import type { ListedCategory } from './menu-store.ts';

const textOrNull = z.string().nullable();
const uids = z.array(z.string());

const optionValueAnswer = z.object({
  uid: z.string(),
  name: z.string(),
  short_name: textOrNull,
  price_operator: z.enum(['+', '-', '=']),
  price_operand: z.number(),
  hidden: z.boolean(),
  position: z.int(),
  checked_default: z.boolean(),
  subrestaurant_uids: uids,
  restrict_to_primary_value_uids: uids,
  ext_id: textOrNull,
});

const optionAnswer = z.object({
  uid: z.string(),
  name: z.string(),
  short_name: textOrNull,
  type: z.enum(['single', 'multiple']),
  min_selectable: z.int(),
  max_selectable: z.int(),
  max_quantity: z.int(),
  note: textOrNull,
  hidden: z.boolean(),
  position: z.int(),
  primary: z.boolean(),
  first_default: z.boolean(),
  show_caption: z.boolean(),
  print_caption: z.boolean(),
  subrestaurant_uids: uids,
  ext_id: textOrNull,
  option_values: z.array(optionValueAnswer),
});

export const categoryAnswer = z.object({
  uid: z.string(),
  name: z.string(),
  description: textOrNull,
  image: textOrNull,
  products_count: z.int(),
  url: textOrNull,
  hidden: z.boolean(),
  position: z.int(),
  subrestaurant_uids: uids,
  ext_id: textOrNull,
  options: z.array(optionAnswer),
});

export const productAnswer = z.object({
  uid: z.string(),
  category_uid: z.string(),
  name: z.string(),
  ingredients: textOrNull,
  price: z.number(),
  prices_table: z.record(z.string(), z.number()),
  image: textOrNull,
  allergens: z.array(z.string()),
  symbols: z.array(z.string()),
  suggested: z.boolean(),
  price_sale_alert: z.boolean(),
  price_sale_badge: z.int(),
  checkout_selling: z.boolean(),
  url: textOrNull,
  hidden: z.boolean(),
  position: z.int(),
  subrestaurant_uids: uids,
  ext_id: textOrNull,
  inherits_options: z.enum(['sync', 'copy', 'none']),
  options: z.array(optionAnswer),
});

// The stored documents have the members of the answer. The answer's schema drops all others.
const optionView = (option: Option): z.infer<typeof optionAnswer> => ({
  ...option,
  option_values: option.option_values.map((value) => ({ ...value, price_operand: toWire(value.price_operand) })),
});

export const categoryView = (category: ListedCategory): z.infer<typeof categoryAnswer> => ({
  ...category,
  options: category.options.map(optionView),
});

export const productView = ({ product, options }: ProductOnSale): z.infer<typeof productAnswer> => ({
  ...product,
  price: toWire(product.price),
  prices_table: Object.fromEntries(
    Object.entries(product.prices_table).map(([dmethod, amount]) => [dmethod, toWire(amount)]),
  ),
  options: options.map(optionView),
});
