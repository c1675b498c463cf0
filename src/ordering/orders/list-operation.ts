/** orders/list (interface 11.1, 7). */
import { z } from 'zod';
import type { Key } from '#src/platform/db/bounded-list.ts';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { type Cursors, cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import { dateTime, flag, list, oneOf, optional, requirePeriods, text } from '#src/platform/http/values.ts';
import { mapPaced } from '#src/platform/pace.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { dayPeriod } from '../values/described-members.ts';
import { endOfDay, startOfDay } from '../values/venue-time.ts';
import { statuses } from './order/order.ts';
import { listOrders, type OrderFilter } from './order/order-list-store.ts';
import { orderAnswer } from './order/order-schema.ts';
import { type OrderToken, withToken } from './order/order-token.ts';
import { orderView } from './order/order-view.ts';

const listParams = requirePeriods(
  z.object({
    ...cursorParams,
    status: optional(list(oneOf(statuses), { min: 1, max: statuses.length })).describe(
      'Only orders in one of these states',
    ),
    closed: optional(flag()).describe('1: only orders whose `status` is `closed`; 0: only the others'),
    ...dayPeriod('date', 'Only orders received'),
    updated_from: optional(dateTime()).describe(
      'Only orders whose `updated_iso` is at or after this moment. At most 3 decimals in the seconds',
    ),
    subrestaurant_uid: optional(text({ max: 64 })).describe('Only orders for this location'),
    dmethod: optional(text({ max: 64 })).describe('Only orders with exactly this delivery method'),
    client_uid: optional(text({ max: 64 })).describe('Only orders of this customer'),
    external_id: optional(text({ max: 100 })).describe('Only orders with exactly this id, whichever client gave it'),
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
    answer: z.object({ orders: z.array(orderAnswer).describe('Newest first'), ...pageAnswer }),
    hasLargeItems: true,
    handle: async ({ db, restuid, params }) => {
      const restaurant = await requireRestaurant(db, restuid);
      const { page: _page, pagesize: _pagesize, cursor: _cursor, ...named } = params;
      const scope = { list: 'orders by key', restuid, ...named, updated_from: named.updated_from?.toISOString() };
      const query = cursors.read<Key>(params, scope);
      const listed = await listOrders(db, restuid, filterOf(named, restaurant.apiTimeZone), query);
      return {
        body: {
          orders: await mapPaced(listed.rows, (order) => orderView(withToken(order, tokenOf), restaurant)),
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
