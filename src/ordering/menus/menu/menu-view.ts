/** Categories and products as the interface shows them (10.3). */
import type { z } from 'zod';
import { toWire } from '../../values/money.ts';
import type { Option, ProductOnSale } from './menu.ts';
import type { categoryAnswer, OptionAnswer, productAnswer } from './menu-schema.ts';
import type { ListedCategory } from './menu-store.ts';

// The stored documents have the members of the answer. The answer's schema drops all others.
const optionView = (option: Option): OptionAnswer => ({
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
