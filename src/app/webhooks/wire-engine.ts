/** Wires the webhook engine to the ordering core: kinds of events, the scopes that read them, dates of a restaurant. */
import type { Kysely } from 'kysely';
import {
  type CredentialState,
  credentialVersion,
  readChangedCredentials,
  readClientRights,
} from '#src/gateway/index.ts';
import { isoDate, legacyDate, requireRestaurant } from '#src/ordering/index.ts';
import {
  createWebhookApi,
  type KindScopes,
  type OwnerRights,
  type TargetRules,
  type TenantDates,
} from '#src/webhooks/index.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import { eventKinds } from './event-kinds.ts';

/** In the order in which scopes are listed (interface 5.1). */
export const kindScopes: KindScopes = {
  orders: 'read:orders',
  customers: 'read:customers',
  menu: 'read:menu',
  loyaltylog: 'read:loyalty',
} satisfies Record<(typeof eventKinds)[number], string>;

export const restaurantDates = async (db: Kysely<unknown>, restuid: string): Promise<TenantDates> => {
  const { timeZone, apiTimeZone } = await requireRestaurant(db, restuid);
  return {
    iso: (date) => isoDate(date, timeZone) ?? '',
    legacy: (date) => legacyDate(date, apiTimeZone) ?? '',
  };
};

export const targetRules = (settings: Settings, allowedOrigins: readonly string[] = []): TargetRules => ({
  allowPrivate: settings.webhooks.allow_private_targets,
  allowedOrigins,
});

/** The engine sends to an API client what the client itself may read. */
export const ownerRights = (db: Kysely<unknown>): OwnerRights => ({
  kinds: eventKinds,
  version: credentialVersion,
  changesSince: async (version) => {
    const known = version === undefined ? undefined : (JSON.parse(version) as CredentialState);
    const { state, changed } = await readChangedCredentials(db, known);
    return { version: JSON.stringify(state), changed };
  },
  kindsOf: async (owners) => {
    const rights = new Map(
      (await readClientRights(db, owners)).map((one) => [JSON.stringify([one.tenant, one.clientId]), one]),
    );
    return owners.map(({ tenant, clientId }) => {
      const held = rights.get(JSON.stringify([tenant, clientId]));
      return held === undefined ? undefined : held.mayCall ? kindsReadBy(held.scopes) : [];
    });
  },
});

/** `scopes`: null for every scope. */
const kindsReadBy = (scopes: readonly string[] | null): string[] =>
  Object.entries(kindScopes)
    .filter(([, scope]) => scopes?.includes(scope) ?? true)
    .map(([kind]) => kind);

/** The operations on endpoints, deliveries and recorded events. */
export const webhookApiOf = ({ store, box, clock }: Installation, settings: Settings, rules: TargetRules) =>
  createWebhookApi({
    db: store.db,
    box,
    clock,
    settings: settings.webhooks,
    rules,
    kindScopes,
    cursorKey: box.derive('cursor'),
    datesOf: restaurantDates,
  });
