/** Customers for staff: the list, one customer with the ledger, and points moved by hand, as in the API. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type Page, readPlace, writePlace } from '#src/platform/db/age-pages.ts';
import { firstItems, type Key } from '#src/platform/db/bounded-list.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Customer } from '../customers/customer.ts';
import { findCustomer, lockCustomer } from '../customers/customer-store.ts';
import { listCustomers } from '../customers/list-store.ts';
import { createEntry } from '../loyalty/create-entry.ts';
import { findEntryByCause } from '../loyalty/ledger-store.ts';
import { listEntries } from '../loyalty/list-store.ts';
import type { LoyaltyEntry, ShownEntry } from '../loyalty/loyalty-entry.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { clockOf } from '../restaurants/sandbox-clock.ts';

/** `start`: of a first or last name, an email or a phone. */
type CustomerSearch = { start: string | undefined; after: string | undefined; limit: number };

type PointsByStaff = {
  restuid: string;
  uid: string;
  diffOp: 'add' | 'subtract';
  /** Hundredths, more than 0. */
  points: number;
  /** Stored as the note of the entry. */
  reason: string;
  /** Of the form, which moves points once however often it is sent. Undefined: a form of a release that had none. */
  formId: string | undefined;
  /** The real time. */
  readNow: () => Date;
};

type StaffCustomers = {
  /** Newest first. A page may have fewer customers than `limit`, and a next page. */
  list(restuid: string, search: CustomerSearch): Promise<Page<Customer>>;
  find(restuid: string, uid: string): Promise<Customer | undefined>;
  /** Entries of the ledger, newest first. */
  entries(restuid: string, uid: string, page: { after: string | undefined; limit: number }): Promise<Page<ShownEntry>>;
  /**
   * `note` runs in the transaction of the entry. `repeated`: this form has moved these points already. Throws NOT_FOUND,
   * INSUFFICIENT_POINTS, VALIDATION_ERROR above the largest balance, and CONFLICT when the form has moved others.
   */
  movePoints(change: PointsByStaff, note: (tx: Kysely<unknown>) => Promise<void>): Promise<'moved' | 'repeated'>;
};

/** Entries of one moment differ in their number in the ledger of the customer. */
const writeEntryPlace = ([created = 0, seq = 0, uid = '']: Key): string =>
  writePlace({ created: new Date(created), id: `${seq}-${uid}` });

/** Undefined for an invalid cursor: the list then starts at its beginning. */
const readEntryPlace = (text: string | undefined): Key | undefined => {
  const place = readPlace(text);
  const [, seq, uid] = /^(\d{1,9})-(\w+)$/.exec(place?.id ?? '') ?? [];
  return place === undefined || seq === undefined || uid === undefined
    ? undefined
    : [place.created.toISOString(), Number(seq), uid];
};

const isEntryOf = (
  entry: LoyaltyEntry,
  { uid, diffOp, points, reason }: Pick<PointsByStaff, 'uid' | 'diffOp' | 'points' | 'reason'>,
): boolean =>
  entry.customerUid === uid && entry.diffOp === diffOp && entry.diffPoints === points && entry.notes === reason;

export const createStaffCustomers = (db: Kysely<unknown>): StaffCustomers => ({
  list: async (restuid, { start, after, limit }) => {
    const place = readPlace(after);
    const query = { ...firstItems(limit), ...(place && { after: [place.created.toISOString(), place.id] as const }) };
    const { rows, more, last } = await listCustomers(db, restuid, { start }, query);
    const next = more && last !== undefined ? { created: new Date(last[0] ?? 0), id: String(last[1]) } : undefined;
    return { items: rows, next: next && writePlace(next) };
  },
  find: (restuid, uid) => findCustomer(db, restuid, { uid }),
  entries: async (restuid, clientUid, { after, limit }) => {
    const place = readEntryPlace(after);
    const query = { ...firstItems(limit), ...(place && { after: place }) };
    const { rows, more, last } = await listEntries(db, restuid, { clientUid }, query);
    return { items: rows, next: more && last !== undefined ? writeEntryPlace(last) : undefined };
  },
  movePoints: ({ restuid, uid, diffOp, points, reason, formId, readNow: readRealNow }, note) =>
    inTransaction(db, async (tx) => {
      const restaurant = await requireRestaurant(tx, restuid);
      const readNow = await clockOf(tx, restuid, readRealNow);
      // Two requests of one form wait for each other here, so the second one finds the entry of the first.
      await lockCustomer(tx, restuid, { uid });
      const earlier = formId === undefined ? undefined : await findEntryByCause(tx, restuid, formId, 'manual');
      if (earlier !== undefined) {
        if (!isEntryOf(earlier, { uid, diffOp, points, reason }))
          throw new Fault('CONFLICT', 'This form has moved other points');
        return 'repeated';
      }
      const movement = { customer: { uid }, diffOp, amount: { points }, notes: reason, subrestaurantUid: null, formId };
      const { kind } = await createEntry(tx, restaurant, movement, readNow);
      if (kind === 'no_customer') throw new Fault('NOT_FOUND', 'No such customer');
      if (kind === 'insufficient') throw new Fault('INSUFFICIENT_POINTS', 'The balance is too small');
      if (kind !== 'posted') throw new Fault('VALIDATION_ERROR', 'The balance would be too large');
      await note(tx);
      return 'moved';
    }),
});
