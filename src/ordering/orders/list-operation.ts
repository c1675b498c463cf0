/** orders/list (interface 11.1, 7). */
import { z } from 'zod';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { type Cursors, cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import { date, dateTime, flag, list, oneOf, optional, requirePeriods, text } from '#src/platform/http/values.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { endOfDay, startOfDay } from '../values/venue-time.ts';
import { statuses } from './order/order.ts';
import { listOrders, type OrderFilter } from './order/order-list-store.ts';
import { type OrderToken, withToken } from './order/order-token.ts';
import { orderAnswer, orderView } from './order/order-view.ts';

const listParams = requirePeriods(
  z.object({
    ...cursorParams,
    status: optional(list(oneOf(statuses), { min: 1, max: statuses.length })),
    closed: optional(flag()),
    date_from: optional(date()),
    date_to: optional(date()),
    updated_from: optional(dateTime()),
    subrestaurant_uid: optional(text({ max: 64 })),
    dmethod: optional(text({ max: 64 })),
    client_uid: optional(text({ max: 64 })),
    external_id: optional(text({ max: 100 })),
  }),
);

type Named = Omit<z.infer<typeof listParams>, 'page' | 'pagesize' | 'cursor'>;

export const listOperation = (cursors: Cursors, tokenOf: OrderToken): Operation =>
  operation({
    method: 'GET',
    path: '/orders/list',
    summary: 'Orders, newest first',
    errors: [],
    params: listParams,
    answer: z.object({ orders: z.array(orderAnswer), ...pageAnswer }),
    handle: async ({ db, restuid, params }) => {
      const restaurant = await requireRestaurant(db, restuid);
      const { page: _page, pagesize: _pagesize, cursor: _cursor, ...named } = params;
      const scope = { list: 'orders by key', restuid, ...named, updated_from: named.updated_from?.toISOString() };
      const query = cursors.read<Key>(params, scope);
      const listed = await listOrders(db, restuid, filterOf(named, restaurant.apiTimeZone), query);
      return {
        body: {
          orders: listed.rows.map((order) => orderView(withToken(order, tokenOf), restaurant)),
          ...cursors.answer(query, scope, listed),
        },
      };
    },
  });

const filterOf = (named: Named, zone: string): OrderFilter => ({
  statuses: named.status,
  closed: named.closed,
  dateFrom: named.date_from === undefined ? undefined : startOfDay(named.date_from, zone),
  dateBefore: named.date_to === undefined ? undefined : endOfDay(named.date_to, zone),
  updatedFrom: named.updated_from,
  locationUid: named.subrestaurant_uid,
  dmethod: named.dmethod,
  customerUid: named.client_uid,
  externalId: named.external_id,
});
