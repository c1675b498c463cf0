/** Pure: which values of the options of an element have another price, or came or went, between two states of it. */
import type { Option, OptionValue } from './menu/menu.ts';

/** Hundredths. */
type OptionPrice = { operator: OptionValue['price_operator']; amount: number };

/** `before` null: the value is new. `after` null: it was removed. */
export type OptionPriceChange = {
  option: string;
  value: string;
  before: OptionPrice | null;
  after: OptionPrice | null;
};

type Offered = { option: string; value: string; price: OptionPrice };

const offeredIn = (options: readonly Option[]): Map<string, Offered> =>
  new Map(
    options
      .filter(({ removed }) => removed !== true)
      .flatMap(({ uid, name: option, option_values }) =>
        option_values
          .filter(({ removed }) => removed !== true)
          .map(({ uid: valueUid, name: value, price_operator: operator, price_operand: amount }) => [
            `${uid}.${valueUid}`,
            { option, value, price: { operator, amount } },
          ]),
      ),
  );

const isSamePrice = (one: OptionPrice, other: OptionPrice): boolean =>
  one.operator === other.operator && one.amount === other.amount;

/** In the sequence of the later state, then what was removed. */
export const optionPriceChanges = (before: readonly Option[], after: readonly Option[]): OptionPriceChange[] => {
  const [was, is] = [offeredIn(before), offeredIn(after)];
  const kept = [...is].flatMap(([key, { option, value, price }]) => {
    const earlier = was.get(key)?.price ?? null;
    return earlier !== null && isSamePrice(earlier, price) ? [] : [{ option, value, before: earlier, after: price }];
  });
  const removed = [...was]
    .filter(([key]) => !is.has(key))
    .map(([, { option, value, price }]) => ({ option, value, before: price, after: null }));
  return [...kept, ...removed];
};
