/** The members of categories and products in answers (interface 10.3), with their meaning for the reference. */
import { z } from 'zod';

const textOrNull = z.string().nullable();
const uids = z.array(z.string());

const subrestaurantUids = uids.describe('Locations where it is offered; empty means all of them');
const extId = textOrNull.describe('The id that its import gave it; null when it was not imported');
const hidden = z.boolean().describe('True: it is not shown to customers and cannot be ordered');

const optionValueAnswer = z
  .object({
    uid: z.string().describe('Names the value in an order'),
    name: z.string().describe('Name that customers see'),
    short_name: textOrNull.describe('Shorter form of the name; null when there is none'),
    price_operator: z
      .enum(['+', '-', '='])
      .describe(
        'What the operand does to the price of the product: `+` adds it, `-` subtracts it, `=` replaces the price',
      ),
    price_operand: z.number().describe('Amount in the currency of the restaurant, 0 or more, at most 2 decimals'),
    hidden,
    position: z.int().describe('Place among the values of its option, ascending; equal places are sorted by uid'),
    checked_default: z.boolean().describe('A hint for order forms: the value is selected at first'),
    subrestaurant_uids: subrestaurantUids,
    restrict_to_primary_value_uids: uids.describe(
      'Values of the primary option: this one is offered only with one of them; empty means always',
    ),
    ext_id: extId,
  })
  .meta({ id: 'OptionValue', description: 'One choice of an option, with its effect on the price' });

const optionAnswer = z
  .object({
    uid: z.string().describe('Names the option in an order'),
    name: z.string().describe('Name that customers see'),
    short_name: textOrNull.describe('Shorter form of the name; null when there is none'),
    type: z
      .enum(['single', 'multiple'])
      .describe('`single`: at most one value, with quantity 1; `multiple`: several values and quantities'),
    min_selectable: z
      .int()
      .describe('Least sum of the quantities of its values in an order; 0 means that it may be left out'),
    max_selectable: z.int().describe('Greatest sum of the quantities of its values in an order; 0 means no bound'),
    max_quantity: z.int().describe('Greatest quantity of one of its values in an order; 0 means no bound'),
    note: textOrNull.describe('Text to show beside the option; null when there is none'),
    hidden,
    position: z
      .int()
      .describe('Place among the options of its category or product, ascending; equal places are sorted by uid'),
    primary: z
      .boolean()
      .describe(
        'True: its chosen value decides which values of the other options are offered. At most one visible option of a product is primary',
      ),
    first_default: z.boolean().describe('A hint for order forms: the first value is selected at first'),
    show_caption: z.boolean().describe('A hint for order forms: show the name of the option'),
    print_caption: z.boolean().describe('A hint for receipts: print the name of the option'),
    subrestaurant_uids: subrestaurantUids,
    ext_id: extId,
    option_values: z.array(optionValueAnswer).describe('Its values by position, hidden ones too'),
  })
  .meta({ id: 'ProductOption', description: 'A question to the customer about a product, with the possible answers' });

export const categoryAnswer = z
  .object({
    uid: z.string().describe('Identity of the category; an import keeps it'),
    name: z.string().describe('Name that customers see'),
    description: textOrNull.describe('Text about the category; null when there is none'),
    image: textOrNull.describe('Absolute http or https address of a picture; null when there is none'),
    products_count: z.int().describe('Number of its products without hidden ones'),
    url: textOrNull.describe('Web address of the category; null when there is none'),
    hidden: z
      .boolean()
      .describe('True: the category and its products are not shown to customers and cannot be ordered'),
    position: z.int().describe('Place in the menu, ascending; equal places are sorted by uid'),
    subrestaurant_uids: subrestaurantUids,
    ext_id: extId,
    options: z.array(optionAnswer).describe('Its own options by position; its products may inherit them'),
  })
  .meta({ id: 'Category', description: 'A part of the menu with products' });

const priceTable = z.record(z.string(), z.number()).meta({
  id: 'PriceTable',
  description:
    'Prices by dmethod (`0`, `1`, `0t`, `20`, `0e-{id}`, `dcf-{id}`), in the currency of the restaurant, at most 2 decimals',
});

export const productAnswer = z
  .object({
    uid: z.string().describe('Names the product in an order; an import keeps it'),
    category_uid: z.string().describe('The category that it is in'),
    name: z.string().describe('Name that customers see'),
    ingredients: textOrNull.describe('Text about the product (`description` in an import); null when there is none'),
    price: z
      .number()
      .min(0)
      .describe('Price of one, without options, in the currency of the restaurant, at most 2 decimals'),
    prices_table: priceTable.describe(
      'Prices that take precedence over `price` for a dmethod; empty when `price` holds for all',
    ),
    image: textOrNull.describe('Absolute http or https address of a picture; null when there is none'),
    allergens: z
      .array(z.string())
      .describe(
        'Of `gluten`, `crustaceans`, `eggs`, `fish`, `peanuts`, `soy`, `milk`, `nuts`, `celery`, `mustard`, `sesame`, `sulphites`, `lupin`, `molluscs`',
      ),
    symbols: z
      .array(z.string())
      .describe('Of `vegetarian`, `vegan`, `spicy`, `gluten_free`, `lactose_free`, `organic`, `frozen`, `new`'),
    suggested: z.boolean().describe('A hint for order forms: recommend it'),
    price_sale_alert: z.boolean().describe('A hint for order forms: mark its price as reduced'),
    price_sale_badge: z
      .int()
      .min(0)
      .max(100)
      .describe('Reduction to show, in percent, which does not change the price; 0 shows none'),
    checkout_selling: z.boolean().describe('A hint for order forms: offer it at the checkout'),
    url: textOrNull.describe('Web address of the product; null when there is none'),
    hidden,
    position: z.int().describe('Place in its category, ascending; equal places are sorted by uid'),
    subrestaurant_uids: subrestaurantUids,
    ext_id: extId,
    inherits_options: z
      .enum(['sync', 'copy', 'none'])
      .describe(
        '`sync`: the options of the category apply as they are now; `copy`: they were copied when the product was made; `none`: only own options',
      ),
    options: z
      .array(optionAnswer)
      .describe('All options that apply, inherited ones first, each group by position; hidden ones too'),
  })
  .meta({ id: 'Product', description: 'Something to order, with its price and its options' });

export type OptionAnswer = z.infer<typeof optionAnswer>;
