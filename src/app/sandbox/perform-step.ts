/** One step of a script as one request to the core. What is random follows the seed, so a script chooses the same again. */
import { Fault } from '#src/contract/fault.ts';
import { minuteMs } from '#src/platform/clock.ts';
import type { Core, CoreAnswer } from './call-core.ts';
import type { Step } from './script.ts';

type Value = { uid: string; hidden: boolean; restrict_to_primary_value_uids: string[] };
type ProductOption = { uid: string; hidden: boolean; primary: boolean; min_selectable: number; option_values: Value[] };
export type Product = { uid: string; hidden: boolean; options: ProductOption[] };

export type Random = () => number;

/** Numbers from 0 to below 1 that follow the seed: mulberry32. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const chosen = <T>(items: readonly T[], random: Random): T | undefined => items[Math.floor(random() * items.length)];

/** The first products of the menu by position: what is on sale, whatever its number. VALIDATION_ERROR when there is none. */
export const readMenu = async (core: Pick<Core, 'call'>): Promise<Product[]> => {
  const { json } = await core.call('/menu/products?pagesize=100');
  const products = (json.products as Product[] | undefined) ?? [];
  if (products.length === 0)
    throw new Fault('VALIDATION_ERROR', 'The sandbox has no products to order; `menu import` gives it some');
  return products;
};

/** Only what the product needs: the least number of values of each option. */
export const lineOf = (product: Product, random: Random) => {
  const visible = product.options.filter(({ hidden }) => !hidden);
  const primary = visible.find((option) => option.primary);
  const main = primary && chosen(shown(primary), random);
  const options = visible.flatMap((option) => {
    if (option === primary) return main === undefined ? [] : [{ uid: option.uid, values: [{ uid: main.uid }] }];
    const offered = shown(option).filter(
      ({ restrict_to_primary_value_uids: only }) =>
        only.length === 0 || (main !== undefined && only.includes(main.uid)),
    );
    const values = offered.slice(0, option.min_selectable).map(({ uid }) => ({ uid }));
    return values.length === 0 ? [] : [{ uid: option.uid, values }];
  });
  return { product: { uid: product.uid }, quantity: 1 + Math.floor(random() * 2), options };
};

const shown = ({ option_values: values }: ProductOption): Value[] => values.filter(({ hidden }) => !hidden);

/** New for each run, so that a script can be played again. */
const emailOf = ({ run }: Stage, customer: string): string => `${customer}.${run}@sandbox.example`;
const firstNameOf = (customer: string): string => customer.charAt(0).toUpperCase() + customer.slice(1);

export type Stage = {
  core: Pick<Core, 'call' | 'now'>;
  menu: readonly Product[];
  random: Random;
  /** Part of the addresses of customers. */
  run: string;
  /** Orders of the script by name. */
  orders: Map<string, { uid: string; token: string }>;
};

/** Steps that are one request to the core. */
export type CoreStep = Exclude<Step, { do: 'break-endpoints' }>;

export const performStep = async (stage: Stage, step: CoreStep): Promise<CoreAnswer> => {
  const { core, orders } = stage;
  switch (step.do) {
    case 'customer':
      return core.call('/customer/create', {
        email: emailOf(stage, step.customer),
        first_name: firstNameOf(step.customer),
      });
    case 'points':
      return core.call('/loyaltylog/create', {
        client_email: emailOf(stage, step.customer),
        input_type: 'points',
        diff_op: step.points < 0 ? 'subtract' : 'add',
        diff_points: Math.abs(step.points),
      });
    case 'order':
      return placeOrder(stage, step);
    default: {
      const { uid = '', token = '' } = orders.get(step.order) ?? {};
      return core.call(`/order/${step.do}`, {
        uid,
        token: step.token === 'wrong' ? `${token}x` : token,
        ...(step.do === 'cancel' && step.reason !== undefined && { reason: step.reason }),
      });
    }
  }
};

const placeOrder = async (stage: Stage, step: Extract<Step, { do: 'order' }>): Promise<CoreAnswer> => {
  const { core, menu, random, orders } = stage;
  const lines = Array.from({ length: step.products }, () => {
    const product = chosen(menu, random);
    if (product === undefined) throw new Error('the menu has no products');
    return lineOf(product, random);
  });
  const ready = new Date((await core.now()).getTime() + 30 * minuteMs);
  const answer = await core.call('/order/create', {
    client: { first_name: firstNameOf(step.customer), email: emailOf(stage, step.customer) },
    dmethod: '0',
    pickup: { date: ready.toISOString() },
    payment_method: 'cash',
    payment_method_sub: 'pos',
    details: step.product === undefined ? lines : [{ product: { uid: step.product }, quantity: 1 }],
    ...(step.coupon !== undefined && { coupon: { code: step.coupon } }),
  });
  const made = answer.json.order as { uid: string; token: string } | undefined;
  if (answer.error === undefined && made !== undefined) orders.set(step.order, made);
  return answer;
};
