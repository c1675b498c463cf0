/** The port of the panel's start page, of its search and of the choice of restaurants. */
import { isSandboxId } from '#src/contract/sandbox.ts';
import {
  clientOfId,
  findCallingKeys,
  findKeysOf,
  findRefusedCallers,
  keysNamed,
  listElsewhere,
  listEndingKeysOf,
  listFailingCallers,
  listNearLimits,
  listNewestRefusals,
  listOnlyRefused,
  listQuarantined,
  listServedTables,
  readTenantAccess,
  tenantOfKey,
} from '#src/gateway/index.ts';
import {
  countOrders,
  daysBefore,
  findCustomersByContact,
  findCustomersByStart,
  legacyDate,
  listRestaurants,
  ordersCountMax,
  requireRestaurant,
  restaurantOf,
  restaurantsWithOrders,
  searchRestaurants,
  startOfDay,
} from '#src/ordering/index.ts';
import { type FirstStep, type LocatedKind, type OverviewPorts, searchedRestaurants } from '#src/panel/index.ts';
import { dayMs, hourMs } from '#src/platform/clock.ts';
import { programVersion } from '#src/platform/files/release.ts';
import { findUsersByStart } from '#src/staff/index.ts';
import {
  findEndpointsByAddress,
  findEndpointsByUrl,
  listFailingEndpoints,
  readEndpointProgress,
  tenantOfDelivery,
  tenantOfEndpoint,
  tenantOfEvent,
} from '#src/webhooks/index.ts';
import { listKeyHolders } from '../installation/key-holder.ts';
import type { PortDeps } from './port-deps.ts';

/** Restaurants whose orders of today are counted. */
const daysMax = 20;
const rowsMax = 5;
const endingDays = 30;
/** Units from which a caller is near its limit. */
const nearShare = 0.8;
const failingMs = 2 * hourMs;
const processesMax = 50;

export const createOverviewPorts = ({ installation }: Pick<PortDeps, 'installation'>): OverviewPorts => ({
  owner: async (restuids) => {
    const restaurants = await firstRestaurants(installation, restuids);
    const known = restaurants.map(({ uid }) => uid);
    return {
      days: await ordersOfDays(installation, restaurants.slice(0, daysMax)),
      looked: restaurants.length,
      countMax: ordersCountMax,
      ...(await attentionOf(installation, known)),
      begun: await firstBegun(installation, restaurants),
    };
  },
  installation: async () => {
    const { store, clock } = installation;
    const found = await searchRestaurants(store.db, { search: '', before: undefined, limit: searchedRestaurants + 1 });
    const all = found.map(({ uid }) => uid);
    // Sandboxes come after all others. An installation that has nothing else, such as the demo, shows them.
    const real = all.filter((uid) => !isSandboxId(uid));
    const counted = real.length > 0 ? real : all;
    const known = counted.slice(0, searchedRestaurants);
    const now = clock.now();
    const from = new Date(Math.floor(now.getTime() / dayMs) * dayMs);
    const until = new Date(now.getTime() + 1);
    const counts = await countOrders(
      store.db,
      known.map((restuid) => ({ restuid, from, until })),
    );
    return {
      ...(await attentionOf(installation, known)),
      orders: counts.reduce((sum, count) => sum + count, 0),
      hasMoreOrders: counts.some((count) => count >= ordersCountMax),
      looked: counted.length > known.length ? known.length : undefined,
      leavesOutSandboxes: counted.length < all.length,
    };
  },
  ...callerFigures(installation),
  program: async () => {
    const { db } = installation.store;
    const gateways = (await listServedTables(db)).slice(0, processesMax);
    return {
      version: programVersion,
      processes: (await listKeyHolders(db)).slice(0, processesMax).map(({ name, role, version }) => ({
        ...{ name, role, version },
      })),
      gateways: gateways.map(({ gateway, version, problems }) => ({
        gateway,
        version,
        isRefused: problems.length > 0,
      })),
    };
  },
  ...searches(installation),
});

type Installation = PortDeps['installation'];
type Named = { uid: string; name: string };

/** Endpoints that fail and keys that end soon, of these restaurants. */
const attentionOf = async ({ store, clock }: Installation, known: readonly string[]) => {
  const now = clock.now();
  const span = { now, until: new Date(now.getTime() + endingDays * dayMs) };
  const failing = await listFailingEndpoints(store.db, known, rowsMax);
  const ending = await listEndingKeysOf(store.db, known, span, rowsMax);
  return {
    failing: failing.map(({ tenant, disabledReason, ...endpoint }) => ({
      ...endpoint,
      restuid: tenant,
      isDisabled: disabledReason !== null,
    })),
    ending: ending.map(({ tenant, ...key }) => ({ ...key, restuid: tenant })),
  };
};

const firstRestaurants = ({ store }: Installation, among: readonly string[]): Promise<Named[]> =>
  listRestaurants(store.db, { among, text: '', after: undefined, limit: searchedRestaurants });

/** Days of the zone by which the list of orders is filtered, so that a count is that of the list that it links to. */
const ordersOfDays = async ({ store, clock }: Installation, restaurants: readonly Named[]) => {
  const now = clock.now();
  const days = await Promise.all(
    restaurants.map(async ({ uid, name }) => {
      const { apiTimeZone } = await requireRestaurant(store.db, uid);
      const dayOf = (at: Date): string => (legacyDate(at, apiTimeZone) ?? '').slice(0, 10);
      const day = dayOf(now);
      const from = startOfDay(day, apiTimeZone);
      const beforeUntil = daysBefore(now, 7, apiTimeZone);
      const before = startOfDay(dayOf(beforeUntil), apiTimeZone);
      return { restuid: uid, name, day, from, before, beforeUntil };
    }),
  );
  const counts = await countOrders(
    store.db,
    days.flatMap(({ restuid, from, before, beforeUntil }) => [
      { restuid, from, until: new Date(now.getTime() + 1) },
      { restuid, from: before, until: beforeUntil },
    ]),
  );
  return days.map(({ restuid, name, day }, index) => ({
    ...{ restuid, name, day },
    today: counts[2 * index] ?? 0,
    lastWeek: counts[2 * index + 1] ?? 0,
  }));
};

const stepsCount = 5;

const firstBegun = async ({ store }: Installation, restaurants: readonly Named[]) => {
  const { db } = store;
  const uids = restaurants.map(({ uid }) => uid);
  const access = new Map((await readTenantAccess(db, uids)).map((one) => [one.tenant, one]));
  const endpoints = new Map((await readEndpointProgress(db, uids)).map((one) => [one.tenant, one]));
  const ordered = new Set(await restaurantsWithOrders(db, uids));
  const begun = restaurants.map(({ uid, name }) => {
    const steps: Record<FirstStep, boolean | undefined> = {
      key: access.get(uid)?.hasCredential,
      call: access.get(uid)?.isCalled,
      endpoint: endpoints.get(uid)?.hasEndpoint,
      event: endpoints.get(uid)?.isConfirmed,
      order: ordered.has(uid),
    };
    const done = (Object.keys(steps) as FirstStep[]).filter((step) => steps[step] === true);
    return { restuid: uid, name, done };
  });
  return begun.find(({ done }) => done.length < stepsCount);
};

/** The words of the gateway become those of the panel. */
const withRestaurant = <R extends string | null, T>({ tenant, ...rest }: T & { tenant: R }) => ({
  ...rest,
  restuid: tenant,
});

const callerFigures = ({ store, clock }: Installation) => {
  const { db } = store;
  const today = (): Date => new Date(Math.floor(clock.now().getTime() / dayMs) * dayMs);
  return {
    callers: async () => {
      const day = today();
      const month = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth()));
      const since = new Date(Math.floor((clock.now().getTime() - failingMs) / hourMs) * hourMs);
      return {
        quarantined: (await listQuarantined(db, clock.now(), rowsMax)).map(withRestaurant),
        failing: (await listFailingCallers(db, { day, since }, rowsMax)).map(withRestaurant),
        limited: (await listNearLimits(db, { day, month, share: nearShare }, rowsMax)).map(withRestaurant),
      };
    },
    refusals: async () => (await listNewestRefusals(db, rowsMax)).map(withRestaurant),
    elsewhere: async () => (await listElsewhere(db, today(), rowsMax)).map(withRestaurant),
    onlyRefused: () => listOnlyRefused(db, new Date(clock.now().getTime() - dayMs), rowsMax),
  } satisfies Partial<OverviewPorts>;
};

const searches = ({ store }: Installation) => {
  const { db } = store;
  const locate: Record<Exclude<LocatedKind, 'order' | 'customer'>, (id: string) => Promise<string | undefined>> = {
    endpoint: (id) => tenantOfEndpoint(db, id),
    delivery: (id) => tenantOfDelivery(db, id),
    event: (id) => tenantOfEvent(db, id),
    key: (id) => tenantOfKey(db, id),
  };
  return {
    restaurantOf: async (kind, id, among) => {
      if (kind === 'order' || kind === 'customer') return restaurantOf(db, kind, id, among);
      const found = await locate[kind](id);
      return found !== undefined && (among === undefined || among.includes(found)) ? found : undefined;
    },
    clientOf: (id) => clientOfId(db, id),
    callersOfRequest: async (requestId, among) => {
      const found =
        among === undefined
          ? await findRefusedCallers(db, requestId, rowsMax)
          : await findCallingKeys(db, among.slice(0, searchedRestaurants), requestId, rowsMax);
      return found.map(withRestaurant);
    },
    customers: async (text, among, limit) =>
      among === undefined
        ? findCustomersByContact(db, text, limit)
        : findCustomersByStart(db, among.slice(0, searchedRestaurants), text, limit),
    keysByName: async (text, among, limit) => {
      const found =
        among === undefined
          ? await keysNamed(db, text, limit)
          : await findKeysOf(db, among.slice(0, searchedRestaurants), text, limit);
      return found.map(withRestaurant);
    },
    endpointsByUrl: async (text, among, limit) => {
      const found =
        among === undefined
          ? await findEndpointsByAddress(db, text, limit)
          : await findEndpointsByUrl(db, among.slice(0, searchedRestaurants), text, limit);
      return found.map(withRestaurant);
    },
    usersByStart: (start, limit) => findUsersByStart(db, start, limit),
  } satisfies Partial<OverviewPorts>;
};
