/** Pages and actions about the orders of a restaurant. For the roles owner, support and admin. */
import type { Page } from '../page/page.ts';
import { orderListPages } from './order-list-page.ts';
import { orderMovePages } from './order-moves.ts';
import { orderPages } from './order-page.ts';

export const orderingPages: readonly Page[] = [...orderListPages, ...orderPages, ...orderMovePages];
