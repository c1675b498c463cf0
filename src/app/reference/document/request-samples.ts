/** Hand-written examples of requests whose schema alone gives no useful one; a test checks each against its schema. */
import type { Json } from './json-schema.ts';

const product = { uid: 'prd_11' };

export const requestSamples: Readonly<Record<string, Json>> = {
  '/api/order/create': {
    delivery: {
      summary: 'Home delivery with options and a coupon',
      value: {
        client: { first_name: 'Ada', email: 'ada@example.com' },
        dmethod: '1',
        payment_method: 'cash',
        payment_method_sub: 'pos',
        delivery: {
          date: '2026-03-01T19:30:00+01:00',
          address: { street: 'Via Roma', number: '12', city: 'Firenze', zip: '50122' },
        },
        details: [
          {
            product,
            quantity: 2,
            options: [
              { uid: 'opt_1', values: [{ uid: 'opv_3' }] },
              { uid: 'opt_2', values: [{ uid: 'opv_9', quantity: 2 }] },
            ],
          },
        ],
        coupon: { code: 'SPRING10' },
        external_id: 'till-4711',
      },
    },
    table: {
      summary: 'At the table',
      value: {
        client: { first_name: 'Ada', phone: '+390551234567' },
        dmethod: '0t',
        table: '7',
        payment_method: 'external',
        details: [{ product, quantity: 1 }],
      },
    },
  },
  '/api/menu/import': {
    merge: {
      summary: 'Changes one product',
      value: {
        pos_uid: 'till-1',
        update_mode: 'merge',
        products: [{ ext_id: 'P7', category_ext_id: 'C1', name: 'Margherita', price: 7.5 }],
      },
    },
  },
  '/api/customer/update': { phone: { value: { uid: 'cus_01', phone: '+390551234567' } } },
  '/api/loyaltylog/create': {
    subtract: { value: { client_uid: 'cus_01', diff_op: 'subtract', diff_points: 500 } },
  },
  '/api/webhook/create': {
    till: {
      summary: 'Customers and orders to a till',
      value: { url: 'https://till.example/hook', kinds: ['customers', 'orders'], description: 'Till at the bar' },
    },
  },
  '/api/webhook/update': {
    enable: { summary: 'Enables it again', value: { uid: 'whe_01', enabled: true } },
    kinds: { summary: 'Fewer kinds, slower', value: { uid: 'whe_01', kinds: ['orders'], max_per_second: 5 } },
  },
  '/api/webhook/rotate-secret': {
    rotate: {
      summary: 'A made secret; the old one signs too for two days',
      value: { uid: 'whe_01', overlap_hours: 48 },
    },
    finish: { summary: 'Ends the old one now', value: { uid: 'whe_01', finish: true } },
  },
  '/api/webhook/redeliver': {
    one: { summary: 'One event', value: { endpoint_uid: 'whe_01', event_id: 'evt_01' } },
    since: {
      summary: 'All that did not succeed since a time',
      value: { endpoint_uid: 'whe_01', since: '2026-03-01T18:40:00+01:00' },
    },
  },
};
