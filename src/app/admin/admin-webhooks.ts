/** Endpoints, kinds of events and signing keys of webhooks, as the command line sets them. */
import { appendChange } from '#src/gateway/index.ts';
import { enabledKinds, setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createEndpoint, type EndpointsDeps, rotateWebhookKey, type SignatureScheme } from '#src/webhooks/index.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import { eventKinds } from '../webhooks/event-kinds.ts';
import type { WebhookAdmin } from '../webhooks/webhook-admin.ts';
import { type AdminDeps, assertRestaurant } from './admin-deps.ts';

/** `allowedOrigins`: origins that are allowed in any case. */
export const endpointsDeps = (
  { store, box, clock }: Installation,
  settings: Settings,
  allowedOrigins: readonly string[] = [],
): EndpointsDeps => ({
  db: store.db,
  box,
  clock,
  rules: { allowPrivate: settings.webhooks.allow_private_targets, allowedOrigins },
  kinds: eventKinds,
  signatureHeader: settings.webhooks.signature_header,
});

export const createWebhooksAdmin = ({ installation, settings, actor, webhooks }: AdminDeps) => {
  const { store, box, clock } = installation;
  return {
    createEndpoint: async (endpoint: {
      tenant: string;
      url: string;
      kinds?: readonly string[];
      signature?: SignatureScheme;
      v1a?: boolean;
    }) => {
      await assertRestaurant(store.db, endpoint.tenant);
      return createEndpoint(
        endpointsDeps(installation, settings),
        { ...endpoint, owner: { kind: 'panel', id: 'cli' } },
        // Path and query of an address often hold a secret of the receiver.
        (tx, { tenant, uid, url, kinds, signature, v1a }) =>
          webhooks.note(tx, tenant, {
            operation: 'webhook/create',
            uid,
            origin: new URL(url).origin,
            kinds,
            signature,
            v1a,
          }),
      );
    },
    /** Returns the kinds and whether they are on, after the change. */
    setNotifications: async (restuid: string, kinds: Record<string, boolean>): Promise<Record<string, boolean>> => {
      await assertRestaurant(store.db, restuid);
      await inTransaction(store.db, async (tx) => {
        await setKinds(tx, restuid, kinds);
        await webhooks.note(tx, restuid, { operation: 'notifications/set', kinds });
      });
      const now = await enabledKinds(store.db, restuid);
      return Object.fromEntries(eventKinds.map((kind) => [kind, now[kind] ?? false]));
    },
    /** Without `signature`: the key of `v1a`. */
    rotateWebhookKey: (signature?: SignatureScheme) =>
      inTransaction(store.db, async (tx) => {
        const made = await rotateWebhookKey(tx, { box, clock }, signature);
        const details = JSON.stringify({ operation: 'webhook/rotate-signing-key', kid: made.kid, signature });
        await appendChange(tx, box, clock.now(), { action: 'webhook.changed', actor, details });
        return made;
      }),
    /** The operations on the webhooks of a restaurant. Throws NOT_FOUND for an unknown restaurant. */
    webhooksOf: async (restuid: string): Promise<WebhookAdmin> => {
      await assertRestaurant(store.db, restuid);
      return webhooks;
    },
  };
};
