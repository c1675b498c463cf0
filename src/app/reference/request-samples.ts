/** Requests that are better shown than made up from their schema; a test holds each to that schema. */
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
};
