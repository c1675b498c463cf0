/**
 * Orders for staff: the list, one order, and the moves of the API. A caller of the API proves with the token of an order that it
 * knows the order; a member of the staff is checked by the panel, so no token leaves this file.
 */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type Page, readPlace, writePlace } from '#src/platform/db/age-pages.ts';
import { firstItems, type Key } from '#src/platform/db/bounded-list.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { markOfOrders } from '../lists/tally-store.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { clockOf } from '../restaurants/sandbox-clock.ts';
import { changeOrder } from './change-order.ts';
import type { Order } from './order/order.ts';
import { listOrders, type OrderFilter } from './order/order-list-store.ts';
import { findOrder } from './order/order-store.ts';
import { createOrderToken, type OrderToken, withToken } from './order/order-token.ts';
import type { Move } from './order/transitions.ts';

/** Without what only callers of the API need. */
type StaffOrder = Omit<Order, 'token' | 'externalOwner'>;

type StaffMove = {
  restuid: string;
  uid: string;
  move: Exclude<Move, 'time_out'>;
  /** `panel:` and the id of the user. */
  actor: string;
  /** Of a cancellation; null: none. At most 500 characters. */
  reason: string | null;
  /** The real time. */
  readNow: () => Date;
};

type StaffOrders = {
  /** Newest first; `after`: the cursor that an earlier page gave. A page may have fewer orders than `limit`, and a next page. */
  list(restuid: string, search: OrderFilter & { after: string | undefined; limit: number }): Promise<Page<StaffOrder>>;
  find(restuid: string, uid: string): Promise<StaffOrder | undefined>;
  /** A text that differs after a change of any order of the restaurant. */
  mark(restuid: string): Promise<string>;
  /**
   * `note` runs in the transaction of the move. Throws NOT_FOUND, CONFLICT for a move that the state does not allow, and
   * TIMEOUT for a confirmation after the end of the countdown.
   */
  move(change: StaffMove, note: (tx: Kysely<unknown>) => Promise<void>): Promise<void>;
};

/** `orderTokenKey`: as in `OrderingDeps`. */
export const createStaffOrders = (db: Kysely<unknown>, orderTokenKey: Buffer): StaffOrders =>
  staffOrders(db, createOrderToken(orderTokenKey));

const staffOrders = (db: Kysely<unknown>, tokenOf: OrderToken): StaffOrders => ({
  list: async (restuid, { after, limit, ...filter }) => {
    const place = readPlace(after);
    const query = {
      ...firstItems(limit),
      ...(place && { after: [place.created.toISOString(), place.id] as const }),
    };
    const { rows, more, last } = await listOrders(db, restuid, filter, query);
    const next = more && last !== undefined ? cursorOf(last) : undefined;
    return { items: rows.map(forStaff), next };
  },
  find: async (restuid, uid) => {
    const order = await findOrder(db, restuid, uid);
    return order && forStaff(order);
  },
  mark: (restuid) => markOfOrders(db, restuid),
  move: ({ restuid, uid, move, actor, reason, readNow: readRealNow }, note) =>
    inTransaction(db, async (tx) => {
      const restaurant = await requireRestaurant(tx, restuid);
      const readNow = await clockOf(tx, restuid, readRealNow);
      const order = await findOrder(tx, restuid, uid);
      if (order === undefined) throw new Fault('NOT_FOUND', 'No such order');
      const { token } = withToken(order, tokenOf);
      const change = { uid, token, move, readNow, actor, by: 'panel', text: null, reason, tokenOf } as const;
      const result = await changeOrder(tx, restaurant, change);
      if (result.kind === 'refused') throw new Fault(result.code, `The order is ${result.order.status}`);
      if (result.kind !== 'changed') throw new Fault('NOT_FOUND', 'No such order');
      await note(tx);
    }),
});

const cursorOf = ([date, uid]: Key): string => writePlace({ created: new Date(date ?? 0), id: String(uid) });

const forStaff = ({ token: _token, externalOwner: _owner, ...order }: Order): StaffOrder => order;
