/**
 * ordering owns the restaurant core: restaurants and locations, customers, the loyalty ledger, menus and orders. It
 * learns who the caller is from the gateway's assertion alone and is reached over the internal listener only.
 *
 * - `createOrdering` returns its operations (each folder's routes.ts: parameters, answer, handler) and its services.
 * - A request passes platform/http (assertion, parameters, idempotency, one transaction) -> routes -> use case (named by
 *   a verb: create-customer.ts) -> store (SQL, `*-store.ts`). A use case returns refusals as values; routes.ts turns
 * them into faults. Events are recorded in the transaction of their change (platform/db/outbox.ts).
 * - Inside, amounts and points are hundredths (values/money.ts) and times are Dates (values/venue-time.ts).
 *
 * Credentials, scopes and rate limits belong to the gateway; sending events belongs to webhooks. README.md has the
 * rest.
 */
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { loadMigrations } from '#src/platform/db/schema/migrate.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { type Cursors, createCursors } from '#src/platform/http/paging.ts';
import { createLog, type Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { accountOperations } from './account/routes.ts';
import type { OrderingSettings } from './config.ts';
import { couponOperations } from './coupons/routes.ts';
import { customerOperations } from './customer-operations/routes.ts';
import { createReceiptExpiry } from './expire-receipts.ts';
import { loyaltyOperations } from './loyalty/routes.ts';
import { menuOperations } from './menus/routes.ts';
import { type AddressResolver, createAddressResolver } from './orders/address/address-resolver.ts';
import { createOrderToken, type OrderToken } from './orders/order/order-token.ts';
import { orderOperations } from './orders/routes.ts';
import { createTimeOutOrders } from './orders/time-out-orders.ts';
import { onItsClock } from './restaurants/sandbox-clock.ts';

export { createGenerator, generatorView, type NewGenerator } from './coupons/create-generator.ts';
export { createStaffCustomers } from './customer-operations/staff-customers.ts';
export { findCustomersByContact, findCustomersByStart } from './customers/find-customers-store.ts';
export { type DescribedEvent, describedEvents } from './described-events.ts';
export { importMenu, MenuRefused, type MenuToImport } from './menus/import/import-menu.ts';
export { listProducts } from './menus/menu/menu-list-store.ts';
export { createStaffMenus } from './menus/staff-menus.ts';
export { countOrders, ordersCountMax, restaurantOf, restaurantsWithOrders } from './orders/staff-figures-store.ts';
export { createStaffOrders } from './orders/staff-orders.ts';
export { createRestaurant, type NewRestaurant, RestaurantRefused } from './restaurants/create-restaurant.ts';
export { type LocationTerms, locationSettings } from './restaurants/location-terms.ts';
export { requireRestaurant } from './restaurants/require-restaurant.ts';
export { listRestaurants } from './restaurants/restaurant-list-store.ts';
export { findRestaurantsByName, restaurantsByUid, searchRestaurants } from './restaurants/restaurant-search-store.ts';
export { findRestaurant, hasRestaurants, listLocations } from './restaurants/restaurant-store.ts';
export {
  assertClockMoves,
  type ClockMove,
  moveSandboxClock,
  type SandboxClock,
  showSandboxClock,
  timeOf,
} from './restaurants/sandbox-clock.ts';
export { createLocation, type LocationAddress, setLocation } from './restaurants/save-location.ts';
export { type RestaurantSettings, setRestaurant } from './restaurants/set-restaurant.ts';
export { daysBefore, endOfDay, isoDate, legacyDate, startOfDay } from './values/venue-time.ts';

export const orderingMigrations = loadMigrations('ordering', new URL('./migrations/', import.meta.url));

export type OrderingDeps = {
  db: Kysely<unknown>;
  /** 32 bytes: signs the cursors of lists. */
  cursorKey: Buffer;
  /** 32 bytes. Must never change: the tokens of orders are derived from it. */
  orderTokenKey: Buffer;
  clock: Clock;
  log: Logger;
  settings: OrderingSettings;
  /** The address of the geocoder now. Default: that of the settings. */
  readResolverUrl?: () => string | undefined;
};

export type Ordering = { operations: Operation[]; services: Service[] };

type Inner = Pick<OrderingDeps, 'db' | 'log'> & {
  cursors: Cursors;
  tokenOf: OrderToken;
  resolveAddress?: AddressResolver;
};

const operationsWith = ({ cursors, db, log, ...orders }: Inner): Operation[] => [
  ...[
    ...customerOperations({ cursors }),
    ...loyaltyOperations({ cursors }),
    ...orderOperations({ cursors, ...orders }),
    ...couponOperations,
  ].map(onItsClock),
  ...menuOperations({ db, log, cursors }),
  ...accountOperations,
];

/** The operations as data, for the OpenAPI document; they cannot be served, because no database stands behind them. */
export const describedOperations = (): Operation[] =>
  operationsWith({
    cursors: createCursors(Buffer.alloc(32)),
    tokenOf: createOrderToken(Buffer.alloc(32)),
    db: nowhere,
    log: createLog({ level: 'silent', role: 'none' }),
  });

/** A database without rows: an operation that is only described never queries it. */
const nowhere = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

export const createOrdering = (deps: OrderingDeps): Ordering => {
  const { db, log, cursorKey, orderTokenKey, settings } = deps;
  const tokenOf = createOrderToken(orderTokenKey);
  const readUrl = deps.readResolverUrl ?? (() => settings.address_resolver_url);
  return {
    operations: operationsWith({
      db,
      log,
      cursors: createCursors(cursorKey),
      tokenOf,
      ...(settings.address_resolver_url !== undefined && { resolveAddress: createAddressResolver({ readUrl, log }) }),
    }),
    services: [createReceiptExpiry(deps), createTimeOutOrders({ ...deps, tokenOf })],
  };
};
