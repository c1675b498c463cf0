/** Own errors and emitted events of each operation (interface 5.2); its schemas give the rest. */
import type { FaultCode } from '#src/contract/fault.ts';

/** [code, status] when the status differs from that of the code. */
export type OwnError = FaultCode | readonly [FaultCode, number];

export type OperationFacts = { errors: readonly OwnError[]; emits?: readonly string[] };

const gone: readonly OwnError[] = ['NOT_FOUND'];
const customerGone: readonly OwnError[] = ['CUSTOMER_NOT_FOUND'];
const saved = ['customer.changed', 'loyaltylog.created'];
const moved: readonly OwnError[] = ['NOT_FOUND', 'INVALID_TOKEN', 'CONFLICT'];

/** By path below /api. */
export const operationFacts: Readonly<Record<string, OperationFacts>> = {
  '/orders/list': { errors: [] },
  '/orders/get': { errors: gone },
  '/order/create': {
    errors: [
      ['PRODUCT_NOT_FOUND', 422],
      'PRODUCT_NOT_AVAILABLE',
      'OPTION_NOT_FOUND',
      'OPTION_VALUE_NOT_FOUND',
      'INVALID_ADDRESS',
      'COUPON_ERROR',
      'SUBRESTAURANT_NOT_FOUND',
      'INSUFFICIENT_POINTS',
      'CONFLICT',
    ],
    emits: ['order.new', 'order.countdown_started', 'order.confirmed', 'customer.changed', 'loyaltylog.created'],
  },
  '/order/confirm': { errors: [...moved, 'TIMEOUT'], emits: ['order.confirmed'] },
  '/order/close': { errors: moved, emits: ['order.closed', 'loyaltylog.created'] },
  '/order/cancel': { errors: moved, emits: ['order.cancelled', 'loyaltylog.created'] },
  '/customerstats/customers': { errors: [] },
  '/customerstats/customer': { errors: customerGone },
  '/customer/create': { errors: ['CONFLICT', 'SUBRESTAURANT_NOT_FOUND'], emits: saved },
  '/customer/update': { errors: ['CUSTOMER_NOT_FOUND', 'CONFLICT', 'SUBRESTAURANT_NOT_FOUND'], emits: saved },
  '/customer/remove': { errors: customerGone, emits: ['customer.changed'] },
  '/menu/categories': { errors: [] },
  '/menu/category': { errors: ['CATEGORY_NOT_FOUND'] },
  '/menu/products': { errors: ['CATEGORY_NOT_FOUND'] },
  '/menu/product': { errors: ['PRODUCT_NOT_FOUND'] },
  '/menu/import': { errors: ['IMPORT_ERROR', 'NOT_FOUND', 'CONFLICT'], emits: ['menu.changed'] },
  '/menu/imports': { errors: gone },
  '/menu/revert': { errors: gone, emits: ['menu.changed'] },
  '/account/subrestaurants': { errors: [] },
  '/coupon/generate': { errors: ['NOT_FOUND', 'INSUFFICIENT_POINTS'], emits: ['loyaltylog.created'] },
  '/coupon/apply': { errors: ['NOT_FOUND', 'CANNOT_APPLY'] },
  '/loyaltylog/list': { errors: [] },
  '/loyaltylog/get': { errors: gone },
  '/loyaltylog/create': { errors: ['CUSTOMER_NOT_FOUND', 'INSUFFICIENT_POINTS'], emits: ['loyaltylog.created'] },
  '/webhook/endpoints': { errors: [] },
  '/webhook/endpoint': { errors: gone },
  '/webhook/create': { errors: ['CONFLICT'] },
  '/webhook/update': { errors: gone },
  '/webhook/remove': { errors: gone },
  '/webhook/rotate-secret': { errors: ['NOT_FOUND', 'CONFLICT'] },
  '/webhook/test': { errors: gone },
  '/webhook/deliveries': { errors: [] },
  '/webhook/delivery': { errors: gone },
  '/webhook/redeliver': { errors: ['NOT_FOUND', 'CONFLICT'] },
  '/webhook/redelivery': { errors: gone },
  '/events/list': { errors: [] },
  '/whoami': { errors: [] },
  '/whoami/denials/{request_id}': { errors: gone },
};
