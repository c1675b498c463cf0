/** orders/list (interface 11.1, 7). */
import { z } from 'zod';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { type Cursors, cursorParams, pageAnswer } from '#src/platform/http/paging.ts';
import { date, dateTime, flag, list, oneOf, optional, requirePeriods, text } from '#src/platform/http/values.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { endOfDay, startOfDay } from '../venue-time.ts';
import { countOrders, listOrders, type OrderFilter, type OrderKey } from './list-store.ts';
import { type OrderToken, withToken } from './order-token.ts';
import { orderAnswer, orderView } from './order-view.ts';
import { statuses } from './transitions.ts';

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
    params: listParams,
    answer: z.object({ orders: z.array(orderAnswer), ...pageAnswer }),
    handle: async ({ db, restuid, params }) => {
      const restaurant = await requireRestaurant(db, restuid);
      const { page: _page, pagesize: _pagesize, cursor: _cursor, ...named } = params;
      const scope = { list: 'orders', restuid, ...named, updated_from: named.updated_from?.toISOString() };
      const query = cursors.read<OrderKey>(params, scope);
      const filter = filterOf(named, restaurant.apiTimeZone);
      const { after, offset, pagesize } = query;
      const rows = await listOrders(db, restuid, filter, { after, offset, limit: pagesize + 1 });
      const total = query.total ?? (await countOrders(db, restuid, filter));
      const shown = rows.slice(0, pagesize);
      const last = shown.at(-1);
      const result = {
        more: rows.length > pagesize,
        total,
        last: last === undefined ? undefined : { date: last.date.toISOString(), uid: last.uid },
      };
      return {
        body: {
          orders: shown.map((order) => orderView(withToken(order, tokenOf), restaurant)),
          ...cursors.answer(query, scope, result),
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
