/**
 * The requests of the examples. Each succeeds at the demo restaurant of a first start as it is pasted, in the sequence of the
 * document with what removes things at the end; a test sends them all.
 */
import { dayMs } from '#src/platform/clock.ts';
import { sampleIds as ids } from './sample-ids.ts';

/** A value of JSON by names. */
export type Json = Record<string, unknown>;

/** Half a year ahead: an order is refused whose date lies more than 365 days ahead. */
const monthsAhead = 6;

/** The first evening of a month, so that the document stays the same for a month. */
const eveningAfter = (now: Date): string => {
  const day = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + monthsAhead, 1));
  return `${day.toISOString().slice(0, 10)}T19:30:00+01:00`;
};

/** A redelivery begins at most 30 days ago. */
const yesterday = (now: Date): string => `${new Date(now.getTime() - dayMs).toISOString().slice(0, 10)}T00:00:00Z`;

const pizzas = [
  {
    product: { uid: ids.product },
    quantity: 2,
    options: [
      { uid: ids.size, values: [{ uid: ids.large }] },
      { uid: ids.toppings, values: [{ uid: ids.mushrooms, quantity: 2 }] },
    ],
  },
];

/** Of order/create. */
const orderSamples = (now: Date): Json => ({
  delivery: {
    summary: 'Home delivery with options and a coupon',
    value: {
      client: { first_name: 'Ada', email: 'ada@example.com' },
      dmethod: '1',
      payment_method: 'cash',
      payment_method_sub: 'pos',
      delivery: {
        date: eveningAfter(now),
        address: { street: 'Via Roma', number: '12', city: 'Firenze', zip: '50122' },
      },
      details: pizzas,
      coupon: { code: ids.coupon },
      external_id: 'till-4711',
    },
  },
  table: {
    summary: 'At the table',
    value: {
      client: { first_name: 'Ada', phone: '+390557654321' },
      dmethod: '0t',
      table: '7',
      payment_method: 'external',
      details: pizzas,
    },
  },
});

/** Path → examples by name. `now`: when the document is made. */
export const requestSamples = (now: Date): Readonly<Record<string, Json>> => ({
  '/api/order/create': orderSamples(now),
  '/api/order/confirm': { confirm: { value: { uid: ids.newOrder, token: ids.newOrderToken, text: 'In 20 minutes' } } },
  '/api/order/close': { close: { value: { uid: ids.confirmedOrder, token: ids.confirmedOrderToken } } },
  '/api/order/cancel': {
    cancel: { value: { uid: ids.openOrder, token: ids.openOrderToken, reason: 'Sold out' } },
  },
  '/api/customer/create': {
    create: { value: { email: 'sofia@example.com', first_name: 'Sofia', last_name: 'Conti', phone: '+390559876543' } },
  },
  '/api/customer/update': { phone: { value: { uid: ids.customer, phone: '+390551230000' } } },
  '/api/customer/remove': { remove: { value: { uid: ids.formerCustomer } } },
  '/api/menu/import': {
    merge: {
      summary: 'Adds a product, or changes it when it is known',
      value: {
        pos_uid: 'till-1',
        update_mode: 'merge',
        categories: [{ ext_id: 'C1', name: 'Panini' }],
        products: [{ ext_id: 'P1', category_ext_id: 'C1', name: 'Panino al lampredotto', price: 8.5 }],
      },
    },
  },
  '/api/menu/revert': { revert: { summary: 'Back to the menu of the first import', value: { version: 1 } } },
  '/api/sandbox/clock': {
    advance: { summary: 'A minute later', value: { advance_seconds: 60 } },
    reset: { summary: 'The real time again', value: { reset: true } },
  },
  '/api/coupon/generate': { generate: { value: { gencode: 'SPRING' } } },
  '/api/coupon/apply': {
    preview: { summary: 'Takes no use', value: { code: ids.coupon, total: 27.8, preview: true } },
  },
  '/api/loyaltylog/create': {
    add: { summary: 'A present', value: { client_uid: ids.customer, diff_op: 'add', diff_points: 20 } },
    subtract: {
      summary: 'Paid at the till',
      value: { client_uid: ids.customer, diff_op: 'subtract', diff_points: 5, notes: 'Paid with points' },
    },
  },
  '/api/webhook/create': {
    till: {
      summary: 'Customers and orders to a till, which is enabled once it knows the secret',
      value: { url: ids.receiver, kinds: ['customers', 'orders'], description: 'Till at the bar', enabled: false },
    },
  },
  '/api/webhook/update': {
    kinds: { summary: 'Fewer kinds, slower', value: { uid: ids.endpoint, kinds: ['orders'], max_per_second: 5 } },
    enable: { summary: 'Enables it', value: { uid: ids.endpoint, enabled: true } },
  },
  '/api/webhook/remove': { remove: { value: { uid: ids.endpoint } } },
  '/api/webhook/rotate-secret': {
    rotate: {
      summary: 'A made secret; the old one signs too for two days',
      value: { uid: ids.endpoint, overlap_hours: 48 },
    },
    finish: { summary: 'Ends the old one now', value: { uid: ids.endpoint, finish: true } },
  },
  '/api/webhook/test': { test: { value: { uid: ids.endpoint } } },
  '/api/webhook/redeliver': {
    since: {
      summary: 'All that did not succeed since a time',
      value: { endpoint_uid: ids.endpoint, since: yesterday(now) },
    },
  },
});

/** Path → name → example of a parameter in the query or path, where the name alone does not give it. */
export const parameterSamples: Readonly<Record<string, Readonly<Record<string, string | number>>>> = {
  '/api/orders/get': { uid: ids.newOrder, external_id: 'till-1001' },
  '/api/orders/list': { external_id: 'till-1001' },
  '/api/customerstats/customer': { uid: ids.customer, email: 'grace@example.com' },
  '/api/customerstats/customers': { q: 'grace', code: 'C-1001' },
  '/api/menu/categories': { q: 'pizz' },
  '/api/menu/category': { uid: ids.category },
  '/api/menu/products': { q: 'tiramis' },
  '/api/menu/product': { uid: ids.wine },
  '/api/menu/imports': { version: 1 },
  '/api/loyaltylog/get': { uid: ids.loyaltyEntry },
  '/api/loyaltylog/list': { type: 'signup', client_email: 'grace@example.com' },
  '/api/webhook/endpoint': { uid: ids.endpoint },
  '/api/webhook/delivery': { uid: 'dlv_01' },
  '/api/webhook/redelivery': { uid: 'rdl_01' },
  '/api/whoami/denials/{request_id}': { request_id: 'req_12' },
};

/** Parameters whose value only an earlier answer can give. They have no example. */
export const withoutSample: ReadonlySet<string> = new Set(['cursor', 'after', 'plan_id']);

/** What a first start has not: where to get a real id. The answer to the example is 404 `NOT_FOUND`. */
export const laterIds: Readonly<Record<string, string>> = {
  '/api/webhook/delivery': 'a delivery. Those of this restaurant are in webhook/deliveries',
  '/api/webhook/redelivery': 'a redelivery. webhook/redeliver answers with the id of a new one',
  '/api/whoami/denials/{request_id}': 'a refused request. The id of a refusal is its header X-Request-Id',
};

/** Path → query of the request whose answer is the example, where the whole answer would be long. */
export const answerQueries: Readonly<Record<string, string>> = {
  '/api/orders/list': 'pagesize=1',
  '/api/customerstats/customers': 'pagesize=1',
  '/api/menu/categories': 'pagesize=1',
  '/api/menu/products': 'q=tiramis',
  '/api/menu/imports': 'pagesize=1',
  '/api/loyaltylog/list': 'pagesize=1',
  '/api/webhook/endpoints': 'pagesize=1',
  '/api/webhook/deliveries': 'event=menu.changed&pagesize=1',
  '/api/events/list': 'event=menu.changed&pagesize=1',
};
