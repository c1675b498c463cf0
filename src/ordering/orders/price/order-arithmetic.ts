/** Order arithmetic (interface 10.5) in hundredths: each figure is rounded half-up at most once. Pure. */
import type { Option, OptionValue, Product } from '../../menus/menu/menu.ts';
import { divideHalfUp, toScaled } from '../../values/money.ts';

export type ChosenValue = { value: OptionValue; quantity: number };
export type ChosenOption = { option: Option; values: ChosenValue[] };

export type LineFigures = { price: number; priceOptions: number; total: number };

const byPosition = (left: ChosenOption & ChosenValue, right: ChosenOption & ChosenValue): number =>
  left.option.position - right.option.position ||
  left.value.position - right.value.position ||
  (left.value.uid < right.value.uid ? -1 : 1);

/** `unit` is the price, or the operand of the last `=` value, plus and minus the other operands, and never below 0. */
export const priceLine = (
  product: Pick<Product, 'price' | 'prices_table'>,
  chosen: readonly ChosenOption[],
  dmethod: string,
  quantity: number,
): LineFigures => {
  const price = product.prices_table[dmethod] ?? product.price;
  const values = chosen.flatMap((entry) => entry.values.map((value) => ({ ...entry, ...value }))).sort(byPosition);
  let base = price;
  let change = 0;
  for (const { value, quantity: count } of values) {
    if (value.price_operator === '=') base = value.price_operand;
    else if (value.price_operator === '+') change += value.price_operand * count;
    else change -= value.price_operand * count;
  }
  const unit = Math.max(0, base + change);
  return { price, priceOptions: unit - price, total: unit * quantity };
};

/** `points` in hundredths of a point; `pointValue` in currency units with at most 4 decimals. */
export const loyaltyDiscount = (points: number, pointValue: number, currency: string): number =>
  divideHalfUp(BigInt(points) * toScaled(pointValue, 4), 10_000n, currency);

export const orderTotal = (figures: {
  linesTotal: number;
  couponDiscount: number;
  loyaltyDiscount: number;
  fee: number;
}): number => figures.linesTotal - figures.couponDiscount - figures.loyaltyDiscount + figures.fee;
