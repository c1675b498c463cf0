/** Wires the webhook engine to the ordering core: kinds of events, the scopes that read them, dates of a restaurant. */
import type { Kysely } from 'kysely';
import { isoDate, legacyDate, requireRestaurant } from '#src/ordering/index.ts';
import { createWebhookApi, type KindScopes, type TargetRules, type TenantDates } from '#src/webhooks/index.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';

/** Kinds of events that a restaurant switches on and off (interface 12.1). */
export const eventKinds = ['customers', 'orders', 'loyaltylog', 'menu'] as const;

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
