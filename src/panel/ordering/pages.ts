/** Pages and actions about the orders and customers of a restaurant. For the roles owner, support and admin. */
import type { Page } from '../page/page.ts';
import { customerListPages } from './customer-list-page.ts';
import { customerPages } from './customer-page.ts';
import { orderListPages } from './order-list-page.ts';
import { orderMovePages } from './order-moves.ts';
import { orderPages } from './order-page.ts';

export const orderingPages: readonly Page[] = [
  ...orderListPages,
  ...orderPages,
  ...orderMovePages,
  ...customerListPages,
  ...customerPages,
];
