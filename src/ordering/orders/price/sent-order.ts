/** An order as its sender gives it to order/create (interface 11.1), after the parameters were read. */
import type { OrderAddress, OrderClient, PaymentMethod } from '../order/order.ts';
import type { SentLine } from './choose-options.ts';

export type SentOrder = {
  client: OrderClient;
  dmethod: string;
  payment_method: PaymentMethod;
  payment_method_sub: string | null;
  details: SentLine[];
  subrestaurant_uid: string | null;
  pickup: { date: Date } | null;
  delivery: { date: Date; address: OrderAddress | null; deliverypoint: { uid: string } | null } | null;
  table: string | null;
  coupon: { code: string } | null;
  redeem_points: number | null;
  language: string | null;
  notes: string | null;
  creator: 'customer' | 'restaurant';
  external_id: string | null;
};
