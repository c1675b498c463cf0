/**
 * webhooks carries recorded events to receivers: outbox -> deliveries -> attempts. It knows tenants, kinds and entities,
 * and nothing of what an event is about.
 *
 * - `dispatch.ts` turns each recorded event into one delivery per subscribed endpoint, under a lock, in their sequence.
 * - `deliver.ts` claims due deliveries under a lease, as many as `places.ts` has room for, sends them (`send.ts` over
 *   `connections.ts`, after `target.ts` has judged the addresses), and records the attempt; `retry-schedule.ts` says when
 *   the next one is. A later event of an entity waits at an endpoint until the earlier one is finished there; nothing
 *   else waits.
 * - `sign.ts` and `signing-keys.ts` sign; `endpoints.ts` makes endpoints, whose secrets are kept sealed.
 *
 * Writing events belongs to the feature that changes something (platform/db/outbox.ts); rights belong to the gateway.
 */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { loadMigrations } from '#src/platform/db/migrate.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { WebhooksSettings } from './config.ts';
import { createDeliver } from './deliver.ts';
import type { ClaimedDelivery } from './delivery-store.ts';
import { createDispatch } from './dispatch.ts';
import { endpointSecretLabel } from './endpoints.ts';
import { createObserveAttempts, type Observers } from './observe-attempts.ts';
import { resolverFor } from './resolve.ts';
import { createSend, type Send } from './send.ts';
import { signHex, signV1, signV1a } from './sign.ts';
import { createSigningKeys, type SigningKeys } from './signing-keys.ts';
import type { Resolve, TargetRules } from './target.ts';
import { watchQueue } from './watch-queue.ts';

export { createEndpoint, type EndpointsDeps, moveEndpoint, type NewEndpoint } from './endpoints.ts';
export { createSigningKeys, type SigningKeys } from './signing-keys.ts';
export type { Resolve, TargetRules } from './target.ts';

export const webhooksMigrations = loadMigrations('webhooks', new URL('./migrations/', import.meta.url));

export type WebhooksDeps = {
  db: Kysely<unknown>;
  pool: Pool;
  box: SecretBox;
  clock: Clock;
  log: Logger;
  settings: WebhooksSettings;
  rules: TargetRules;
  resolve?: Resolve;
  random?: () => number;
  /** Default: nothing is counted or traced. */
  observers?: Observers;
  /** An attempt as a whole: name, connection, TLS and answer. Default 15 s (interface 12.4). */
  attemptTimeoutMs?: number;
};

const attemptTimeoutMsDefault = 15_000;

export const createWebhooks = (deps: WebhooksDeps): { services: Service[] } => {
  const { db, pool, clock, log, settings } = deps;
  const { send, close } = createSend({
    rules: deps.rules,
    resolve: deps.resolve ?? resolverFor(deps.rules),
    timeoutMs: deps.attemptTimeoutMs ?? attemptTimeoutMsDefault,
  });
  const observe = deps.observers === undefined ? (unseen: Send) => unseen : createObserveAttempts(deps.observers);
  if (deps.observers !== undefined) watchQueue(deps.observers.metrics, deps);
  const keys = createSigningKeys(deps);
  const deliver = createDeliver({
    db,
    clock,
    log,
    settings,
    send: observe(send),
    random: deps.random ?? Math.random,
    headersFor: (delivery, timestampSeconds) => headersOf(deps, keys, delivery, timestampSeconds),
  });
  const dispatch = createDispatch({ db, pool, clock, onDeliveries: deliver.wake });
  const run = async (signal: AbortSignal): Promise<void> => {
    try {
      await deliver.service.run(signal);
    } finally {
      // Not after a failure alone: attempts of a run that failed go on, and the next run uses the same connections.
      if (signal.aborted) await close();
    }
  };
  return { services: [dispatch, { name: deliver.service.name, run }] };
};

/** Interface 12.3. */
const headersOf = async (
  { box, settings }: WebhooksDeps,
  keys: SigningKeys,
  delivery: ClaimedDelivery,
  timestampSeconds: number,
): Promise<Record<string, string>> => {
  const secret = box.open(delivery.secret, endpointSecretLabel(delivery.endpointUid));
  const parts = { id: delivery.eventId, timestampSeconds, body: delivery.body };
  return {
    'content-type': 'application/json',
    'user-agent': 'Orderpass/1.0.0',
    'webhook-id': delivery.eventId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': `${signV1(secret, parts)} ${signV1a(await keys.privateKey(), parts)}`,
    [delivery.signatureHeader ?? settings.signature_header]: signHex(secret, delivery.body),
    'x-orderpass-delivery': delivery.uid,
    'x-orderpass-attempt': String(delivery.attemptsCount + 1),
  };
};
