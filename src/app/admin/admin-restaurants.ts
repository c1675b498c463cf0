/** Restaurants, locations, generators and menus, as the command line sets them. Each change is in the audit. */

import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { appendChange } from '#src/gateway/index.ts';
import {
  createGenerator,
  createLocation,
  type findRestaurant,
  generatorView,
  importMenu,
  type LocationAddress,
  type LocationTerms,
  locationSettings,
  MenuRefused,
  type MenuToImport,
  type NewGenerator,
  type NewRestaurant,
  type RestaurantSettings,
  setLocation,
  setRestaurant,
  timeOf,
} from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { type AdminDeps, assertRestaurant } from './admin-deps.ts';
import { createWholeRestaurant, tenantFacts } from './create-restaurant.ts';

type ImportOutcome = Awaited<ReturnType<typeof importMenu>>;

/** The result of an import, with the member names of the interface. */
export type ImportedMenu = Pick<ImportOutcome, 'state' | 'version' | 'counts' | 'warnings' | 'errors'> & {
  restuid: string;
  base_version: number;
};

export type Note = (tx: Kysely<unknown>, restuid: string, details: Readonly<Record<string, unknown>>) => Promise<void>;

/** Records a change of a restaurant in the audit, in the transaction of the change. */
export const createNote =
  ({ installation: { box, clock }, actor }: AdminDeps): Note =>
  (tx, restuid, details) =>
    appendChange(tx, box, clock.now(), {
      action: 'tenant.changed',
      actor,
      tenants: [restuid],
      details: JSON.stringify(details),
    });

/** With the member names of the interface. */
export const settingsOf = (restaurant: NonNullable<Awaited<ReturnType<typeof findRestaurant>>>) => ({
  time_zone: restaurant.timeZone,
  api_time_zone: restaurant.apiTimeZone,
  confirmation_required: restaurant.confirmationRequired,
  countdown_minutes: restaurant.countdownMinutes,
  points_per_unit: restaurant.pointsPerUnit,
  point_value: restaurant.pointValue,
  signup_points: restaurant.signupPoints / 100,
});

export const createRestaurantAdmin = (deps: AdminDeps) => {
  const { installation, actor, credentials } = deps;
  const { store, clock } = installation;
  const note = createNote(deps);
  return {
    createRestaurant: async (restaurant: NewRestaurant): Promise<{ restuid: string }> => ({
      restuid: await createWholeRestaurant(installation, actor, restaurant),
    }),
    /** Returns all settings after the change, with the member names of the interface. Without a setting it changes nothing. */
    setRestaurant: (restuid: string, { apiEnabled, ...settings }: RestaurantSettings & { apiEnabled?: boolean }) =>
      inTransaction(store.db, async (tx) => {
        const now = await setRestaurant(tx, restuid, settings);
        if (now === undefined) throw new Fault('NOT_FOUND', `There is no restaurant ${restuid}`);
        if (apiEnabled !== undefined || Object.keys(settings).length > 0)
          await note(tx, restuid, { operation: 'restaurant/set', ...settings });
        if (apiEnabled !== undefined) await credentials.setTenantApiEnabled(restuid, apiEnabled, tx);
        if (settings.timeZone !== undefined) await credentials.describeTenant(restuid, tenantFacts(now), tx);
        return { restuid, api_enabled: await credentials.isTenantApiEnabled(restuid, tx), ...settingsOf(now) };
      }),
    /** Returns the location with the names and units of its input. */
    createLocation: (restuid: string, terms: LocationTerms & { name: string }) =>
      inTransaction(store.db, async (tx) => {
        const made = shown(restuid, await createLocation(tx, restuid, terms, clock.now()));
        await note(tx, restuid, { operation: 'location/create', ...terms });
        return made;
      }),
    setLocation: (restuid: string, address: LocationAddress, terms: LocationTerms) =>
      inTransaction(store.db, async (tx) => {
        const now = shown(restuid, await setLocation(tx, restuid, address, terms));
        await note(tx, restuid, { operation: 'location/set', location: address, ...terms });
        return now;
      }),
    /** Returns the generator with the member names of the interface. */
    createGenerator: async (restuid: string, generator: NewGenerator): Promise<Record<string, unknown>> => {
      await assertRestaurant(store.db, restuid);
      const made = await inTransaction(store.db, async (tx) => {
        await note(tx, restuid, { operation: 'generator/create', ...generator });
        return createGenerator(tx, restuid, generator, await timeOf(tx, restuid, clock.now()));
      });
      return { restuid, ...generatorView(made) };
    },
  };
};

export const createMenuAdmin = (deps: AdminDeps) => {
  const {
    installation: { store, clock },
    credentials,
  } = deps;
  const note = createNote(deps);
  return {
    /** Errors and warnings are in the result. A dry run changes nothing. */
    importMenu: async (menu: Omit<MenuToImport, 'now'>): Promise<ImportedMenu> => {
      await assertRestaurant(store.db, menu.restuid);
      if (menu.owner !== null) await credentials.showClient(menu.owner);
      const rehearsal = new Error('a dry run is rolled back');
      let outcome: ImportOutcome | undefined;
      try {
        await inTransaction(store.db, async (tx) => {
          outcome = await importMenu(tx, { ...menu, actor: deps.actor, now: clock.now() });
          if (menu.dryRun === true) throw rehearsal;
          const { state, version } = outcome;
          await note(tx, menu.restuid, { operation: 'menu/import', state, version });
        });
      } catch (error) {
        if (error instanceof MenuRefused) outcome = error.outcome;
        else if (error !== rehearsal) throw error;
      }
      if (outcome === undefined) throw new Error('an import had no outcome');
      const { state, version, baseVersion, counts, warnings, errors } = outcome;
      return { restuid: menu.restuid, state, version, base_version: baseVersion, counts, warnings, errors };
    },
  };
};

const shown = (restuid: string, location: Parameters<typeof locationSettings>[0] | undefined) => {
  if (location === undefined) throw new Fault('NOT_FOUND', `There is no restaurant ${restuid}`);
  return { restuid, ...locationSettings(location) };
};
