/** A request for each operation of the core on orders, customers, points, coupons and menus. */
import { menu, orderBody } from './open-scaled-store.ts';
import type { Request, Shop } from './shop.ts';

/** Prepares and returns the next request. What it needs beforehand is not measured. */
export type RequestOf = (shop: Shop) => Request | Promise<Request>;

let turns = 0;
/** A number that no request of this run has had. */
const fresh = (): number => {
  turns += 1;
  return turns;
};

/** The request of an operation of the core: with the key of the restaurant where it reads, by the client where it changes. */
export const read = ({ scaled }: Shop, path: string, query: Record<string, string> = {}): Request => ({
  path: `/api${path}`,
  query,
  restuid: scaled.restuid,
});
export const change = ({ scaled, token }: Shop, path: string, body: Record<string, unknown>): Request => ({
  path: `/api${path}`,
  body,
  restuid: scaled.restuid,
  authorization: token,
});

const numbered = (prefix: string, number: number): string => `${prefix}_${String(number).padStart(9, '0')}`;
const below = (count: number): number => Math.floor(Math.random() * count) + 1;
const ordersOf = ({ scaled: { size } }: Shop): number => size.ordersOfOthers * size.firstShare;
const someOrder = (shop: Shop): string => numbered('ord', below(ordersOf(shop)));
const someCustomer = (shop: Shop): number => below(Math.floor(ordersOf(shop) / 2));
const someEntry = (shop: Shop): string => numbered('loy', below(Math.floor(ordersOf(shop) / 4)) * 4);

type Order = { uid: string; token: string };

const order = (shop: Shop): Request =>
  change(shop, '/order/create', orderBody(`person${someCustomer(shop)}@example.com`, shop.scaled.productUid));

const placed = async (shop: Shop): Promise<Order> => (await shop.call(order(shop))).order as Order;

const moved = async (shop: Shop, move: string, { uid, token }: Order): Promise<Request> =>
  change(shop, `/order/${move}`, { uid, token });

const confirmed = async (shop: Shop): Promise<Order> => {
  const made = await placed(shop);
  await shop.call(await moved(shop, 'confirm', made));
  return made;
};

const newCustomer = (shop: Shop): Request =>
  change(shop, '/customer/create', { email: `new${fresh()}@example.com`, first_name: 'Grace', phone: '+39 055 7' });

const generated = (shop: Shop): Request => change(shop, '/coupon/generate', { gencode: shop.scaled.gencode });

/** Each import changes one name, so that it makes a version. */
const imported = (shop: Shop): Request =>
  change(shop, '/menu/import', {
    ...menu,
    products: menu.products.map((each, number) => (number === 0 ? { ...each, name: `New dish ${fresh()}` } : each)),
  });

/** An import process starts when it is needed, and the first requests may have to wait for it. */
const importsAnew = async (shop: Shop): Promise<number> => {
  for (let repeats = 0; ; repeats += 1) {
    const answer = await shop.fetch(imported(shop));
    if (answer.ok) return ((await answer.json()) as { import: { version: number } }).import.version;
    if (answer.status !== 503 || repeats > 10) throw new Error(`menu/import: ${answer.status} ${await answer.text()}`);
  }
};

const listed = async (shop: Shop, path: string, member: string): Promise<string> => {
  const rows = (await shop.call(read(shop, path)))[member] as { uid: string }[];
  return rows[0]?.uid ?? '';
};

export const orderingRequests: Readonly<Record<string, RequestOf>> = {
  'GET /api/orders/list': (shop) => read(shop, '/orders/list'),
  'GET /api/orders/get': (shop) => read(shop, '/orders/get', { uid: someOrder(shop) }),
  'POST /api/order/create': order,
  'POST /api/order/confirm': async (shop) => moved(shop, 'confirm', await placed(shop)),
  'POST /api/order/close': async (shop) => moved(shop, 'close', await confirmed(shop)),
  'POST /api/order/cancel': async (shop) => moved(shop, 'cancel', await placed(shop)),
  'GET /api/customerstats/customers': (shop) => read(shop, '/customerstats/customers'),
  'GET /api/customerstats/customer': (shop) =>
    read(shop, '/customerstats/customer', { email: `person${someCustomer(shop)}@example.com` }),
  'POST /api/customer/create': newCustomer,
  'POST /api/customer/update': (shop) =>
    change(shop, '/customer/update', { uid: numbered('cus', someCustomer(shop)), phone: `+39 055 ${fresh()}` }),
  'POST /api/customer/remove': async (shop) => {
    const { customer } = (await shop.call(newCustomer(shop))) as { customer: { uid: string } };
    return change(shop, '/customer/remove', { uid: customer.uid });
  },
  'GET /api/menu/categories': (shop) => read(shop, '/menu/categories'),
  'GET /api/menu/category': async (shop) =>
    read(shop, '/menu/category', { uid: await listed(shop, '/menu/categories', 'categories') }),
  'GET /api/menu/products': (shop) => read(shop, '/menu/products'),
  'GET /api/menu/product': (shop) => read(shop, '/menu/product', { uid: shop.scaled.productUid }),
  'POST /api/menu/import': async (shop) => {
    await importsAnew(shop);
    return imported(shop);
  },
  'GET /api/menu/imports': (shop) => read(shop, '/menu/imports'),
  'POST /api/menu/revert': async (shop) => {
    const version = await importsAnew(shop);
    await importsAnew(shop);
    return change(shop, '/menu/revert', { version });
  },
  'GET /api/account/subrestaurants': (shop) => read(shop, '/account/subrestaurants'),
  'POST /api/coupon/generate': generated,
  'POST /api/coupon/apply': async (shop) => {
    const { coupon } = (await shop.call(generated(shop))) as { coupon: { code: string } };
    return change(shop, '/coupon/apply', { code: coupon.code, total: 20 });
  },
  'GET /api/loyaltylog/list': (shop) => read(shop, '/loyaltylog/list'),
  'GET /api/loyaltylog/get': (shop) => read(shop, '/loyaltylog/get', { uid: someEntry(shop) }),
  'POST /api/loyaltylog/create': (shop) =>
    change(shop, '/loyaltylog/create', {
      ...{ client_uid: numbered('cus', someCustomer(shop)), diff_op: 'add', diff_points: 5 },
    }),
};
