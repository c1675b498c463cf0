/** Pages and actions about the orders, customers and menu of a restaurant. For the roles owner, support and admin. */
import type { Page } from '../page/page.ts';
import { customerListPages } from './customer-list-page.ts';
import { customerPages } from './customer-page.ts';
import { menuCategoryPages } from './menu-category-page.ts';
import { menuImportPages } from './menu-import-page.ts';
import { menuImportsPages } from './menu-imports-page.ts';
import { menuPages } from './menu-page.ts';
import { menuRevertPages } from './menu-revert.ts';
import { orderListPages } from './order-list-page.ts';
import { orderMovePages } from './order-moves.ts';
import { orderPages } from './order-page.ts';

export const orderingPages: readonly Page[] = [
  ...orderListPages,
  ...orderPages,
  ...orderMovePages,
  ...customerListPages,
  ...customerPages,
  ...menuPages,
  ...menuCategoryPages,
  ...menuImportsPages,
  ...menuImportPages,
  ...menuRevertPages,
];
