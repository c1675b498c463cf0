/** Paths of the pages about orders, customers and the menu. */
import { withQuery } from '../page/page-path.ts';
import type { OrderStatus } from '../ports/ordering.ts';
import { pathOfRestaurant } from '../restaurant/paths.ts';

export type OrderFilter = {
  status: OrderStatus | 'open' | undefined;
  from: string | undefined;
  to: string | undefined;
  customer: string | undefined;
  external: string | undefined;
};

export const pathOfOrders = (restuid: string, filter: Partial<OrderFilter> = {}, after?: string): string =>
  withQuery(pathOfRestaurant(restuid, '/orders'), { ...filter, after });

/** `more` begins with a slash. */
export const pathOfOrder = (restuid: string, uid: string, more = ''): string =>
  pathOfRestaurant(restuid, `/orders/${encodeURIComponent(uid)}${more}`);

/** `more` begins with a slash. */
export const pathOfCustomer = (restuid: string, uid: string, more = ''): string =>
  pathOfRestaurant(restuid, `/customers/${encodeURIComponent(uid)}${more}`);

export const pathOfMenu = (restuid: string, after?: string): string =>
  withQuery(pathOfRestaurant(restuid, '/menu'), { after });

export const pathOfCategory = (restuid: string, uid: string, after?: string): string =>
  withQuery(pathOfRestaurant(restuid, `/menu/categories/${encodeURIComponent(uid)}`), { after });

export const pathOfImports = (restuid: string, after?: string): string =>
  withQuery(pathOfRestaurant(restuid, '/menu/imports'), { after });

/** `more` begins with a slash. */
export const pathOfImport = (restuid: string, uid: string, more = ''): string =>
  pathOfRestaurant(restuid, `/menu/imports/${encodeURIComponent(uid)}${more}`);
