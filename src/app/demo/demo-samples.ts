/**
 * What the examples of the reference are about: two customers, three orders, a coupon and an entry of the loyalty log. They
 * are made by the operations of the interface, as a caller would make them, and before events are switched on, so the first
 * webhook that a reader sees is one that he caused.
 */
import type { Kysely } from 'kysely';
import type { AssertedCaller } from '#src/contract/assertion.ts';
import { createGenerator, listProducts } from '#src/ordering/index.ts';
import { minuteMs } from '#src/platform/clock.ts';
import { firstItems } from '#src/platform/db/bounded-list.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { parseParameters } from '#src/platform/http/validate.ts';
import { newId } from '#src/platform/ids.ts';
import type { Samples } from '../reference/document/examples/sample-ids.ts';

/** Coupons of the demo come from this generator. */
const gencode = 'SPRING';

/** All but the address of the receiver, which differs from start to start. */
export type MadeSamples = Omit<Samples, 'receiver'>;

type Deps = {
  tx: Kysely<unknown>;
  /** Of the ordering core. */
  operations: readonly Operation[];
  restuid: string;
  locationUid: string;
  endpointUid: string;
  caller: AssertedCaller;
  now: Date;
};

/** The restaurant has the demo menu, and its orders have no countdown. */
export const makeSamples = async (deps: Deps): Promise<MadeSamples> => {
  const { restuid, tx, now } = deps;
  const began = now.getTime() - 5 * minuteMs;
  const call = callOf(deps, new Date(began));
  const menu = await findPizza(tx, restuid);
  await createGenerator(tx, restuid, { gencode, discountPerc: 10, quantity: 1_000 }, now);
  const { coupon } = await call<{ coupon: { code: string } }>('/coupon/generate', { gencode });
  const client = { first_name: 'Grace', email: 'grace@example.com', phone: '+390551234567' };
  const { customer } = await call<{ customer: Uid }>('/customer/create', {
    ...client,
    last_name: 'Bianchi',
    signup_uid: 'app-1001',
  });
  const { customer: former } = await call<{ customer: Uid }>('/customer/create', {
    first_name: 'Enzo',
    email: 'enzo@example.com',
  });
  const { loyaltylogs } = await call<{ loyaltylogs: Uid[] }>('/loyaltylog/list', { client_uid: customer.uid });
  const dessert = { product: { uid: await findProduct(call, 'Tiramis') }, quantity: 2 };
  const order = async (table: string, details: readonly Details[]): Promise<Order> => {
    const sent = { ...orderTerms, client, table, details, external_id: `till-100${table}` };
    // With a minute between them, so that lists have one sequence.
    return (await call<{ order: Order }>('/order/create', sent, new Date(began + Number(table) * minuteMs))).order;
  };
  const first = await order('1', pizzasOf(menu));
  const [second, third] = [await order('2', [dessert]), await order('3', [dessert])];
  await call('/order/confirm', { uid: second.uid, token: second.token });
  return {
    ...menu,
    category: await findWines(call),
    wine: await findProduct(call, 'Chianti'),
    restaurant: restuid,
    location: deps.locationUid,
    client: deps.caller.id,
    customer: customer.uid,
    formerCustomer: former.uid,
    loyaltyEntry: loyaltylogs[0]?.uid ?? '',
    coupon: coupon.code,
    newOrder: first.uid,
    newOrderToken: first.token,
    confirmedOrder: second.uid,
    confirmedOrderToken: second.token,
    openOrder: third.uid,
    openOrderToken: third.token,
    endpoint: deps.endpointUid,
  };
};

type Uid = { uid: string };
type Order = Uid & { token: string };
type Details = Record<string, unknown>;

/** `usual`: the time of a call that names none. */
const callOf =
  ({ tx, operations, restuid, caller }: Deps, usual: Date) =>
  async <A>(path: string, params: Record<string, unknown>, now = usual): Promise<A> => {
    const operation = operations.find((one) => one.path === path);
    if (operation === undefined) throw new Error(`there is no operation ${path}`);
    const answer = await operation.handle({
      params: parseParameters(operation.params, params, []),
      caller,
      restuid,
      requestId: newId('req', now.getTime()),
      now,
      readNow: () => now,
      db: tx,
      signal: new AbortController().signal,
    });
    if (!('body' in answer)) throw new Error(`${path} gave no object`);
    return answer.body as A;
  };

type Menu = Pick<Samples, 'product' | 'size' | 'large' | 'toppings' | 'mushrooms'>;

/** A pizza of two sizes, whose toppings can be taken twice. */
const findPizza = async (tx: Kysely<unknown>, restuid: string): Promise<Menu> => {
  const { rows } = await listProducts(tx, restuid, { visibleOnly: true, part: 'Margherita' }, firstItems(1));
  const [sale] = rows;
  const size = sale?.options.find(({ name }) => name === 'Size');
  const large = size?.option_values.find(({ name }) => name === 'Large');
  const toppings = sale?.options.find(({ name }) => name === 'Extra toppings');
  const mushrooms = toppings?.option_values.find(({ name }) => name === 'Mushrooms');
  if (sale === undefined || size === undefined || large === undefined)
    throw new Error('the demo menu has no Margherita');
  if (toppings === undefined || mushrooms === undefined) throw new Error('the Margherita of the demo has no toppings');
  return {
    product: sale.product.uid,
    size: size.uid,
    large: large.uid,
    toppings: toppings.uid,
    mushrooms: mushrooms.uid,
  };
};

/** Its products come by the glass or by the bottle. */
const findWines = async (call: ReturnType<typeof callOf>): Promise<string> => {
  const { categories } = await call<{ categories: Uid[] }>('/menu/categories', { q: 'Vini' });
  return categories[0]?.uid ?? '';
};

const findProduct = async (call: ReturnType<typeof callOf>, q: string): Promise<string> => {
  const { products } = await call<{ products: Uid[] }>('/menu/products', { q });
  return products[0]?.uid ?? '';
};

const orderTerms = { dmethod: '0t', payment_method: 'cash', payment_method_sub: 'cash' };

const pizzasOf = (menu: Menu): Details[] => [
  {
    product: { uid: menu.product },
    quantity: 2,
    options: [
      { uid: menu.size, values: [{ uid: menu.large }] },
      { uid: menu.toppings, values: [{ uid: menu.mushrooms, quantity: 2 }] },
    ],
  },
];
