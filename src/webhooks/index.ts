/**
 * webhooks carries recorded events to receivers: outbox -> deliveries -> attempts. It knows tenants, kinds and entities,
 * and nothing of what an event is about.
 *
 * - `dispatch.ts` hears over `outbox-hints.ts` that something was recorded, and turns each event into one delivery per
 *   subscribed endpoint (`find-standing.ts`), under a lock, in their sequence. What need not wait it hands to the sender of
 *   its own process (`hand-over.ts`).
 * - `deliver.ts` leases due deliveries (`claim.ts`: endpoints in turn, each at its pace, `pace.ts`), as many as `places.ts`
 *   has room for (to one endpoint `allowance.ts`), under the name that others find it dead by (`worker-identity.ts`); `attempt.ts` sends each (`send.ts` over `connections.ts`, after
 *   `target.ts` has judged the addresses) and has what it came to written in batches (`record.ts`); `retry-schedule.ts` says
 *   when the next attempt is. A later event of an entity waits at an endpoint until the earlier one is finished there
 *   (`lane-store.ts`); nothing else waits.
 * - `cancel-backlog.ts` cancels what a disabled endpoint had, `digest.ts` sends hourly digests, `retain-deliveries.ts` makes
 *   and drops the weeks that events, deliveries and attempts are kept in.
 * - `signed-headers.ts` signs with `sign.ts` and `signing-keys.ts`; secrets are kept sealed.
 * - `createWebhookApi` gives the operations: `endpoint-operations.ts` (`endpoints.ts`, `test-endpoint.ts`) and
 *   `delivery-operations.ts`. `redeliver.ts` queues recorded events again, step by step, where `lane-store.ts` puts them
 *   in their place; `feed.ts` shows the recorded events to whoever catches up.
 * - `forward.ts` and `forward-with-secret.ts` send recorded events to a developer's own address, for the command line.
 *
 * Writing events belongs to the feature that changes something (platform/db/outbox.ts); rights belong to the gateway.
 */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { loadMigrations } from '#src/platform/db/migrate.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { createCursors } from '#src/platform/http/paging.ts';
import type { Logger } from '#src/platform/log.ts';
import { createSecretBox, type SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Api, KindScopes } from './api/api.ts';
import { deliveryOperations } from './api/delivery-operations.ts';
import { endpointOperations } from './api/endpoint-operations.ts';
import { createTestEndpoint } from './api/test-endpoint.ts';
import type { WebhooksSettings } from './config.ts';
import { createDeliver } from './deliver/deliver.ts';
import { createWorkerIdentity } from './deliver/worker-identity.ts';
import { createDispatch } from './dispatch/dispatch.ts';
import type { NewEndpoint } from './endpoints/endpoints.ts';
import { createForward, type Forward } from './forward/forward.ts';
import { createForwardWithSecret, type SecretForward } from './forward/forward-with-secret.ts';
import { createRedeliver } from './redeliver/redeliver.ts';
import { createSend, type Send } from './send/send.ts';
import { endpointSecretLabel } from './signing/opened-secrets.ts';
import { createSignedHeaders } from './signing/signed-headers.ts';
import { createSigningKeys } from './signing/signing-keys.ts';
import { resolverFor } from './target/resolve.ts';
import type { Resolve, TargetRules } from './target/target.ts';
import { createObserveAttempts, type Observers } from './telemetry/observe-attempts.ts';
import { watchQueue } from './telemetry/watch-queue.ts';
import { createCancelBacklog } from './upkeep/cancel-backlog.ts';
import { createDigest } from './upkeep/digest.ts';
import { createDeliveryRetention } from './upkeep/retain-deliveries.ts';

export type { KindScopes } from './api/api.ts';
export { describedEvents, type OwnEvent } from './api/described-events.ts';
export type { TenantDates } from './api/endpoint-params.ts';
export { redeliveryStateOf } from './api/redelivery-operation.ts';
export {
  createEndpoint,
  type EndpointsDeps,
  isSecret,
  makeSecret,
  moveEndpoint,
  type NewEndpoint,
  secretRule,
} from './endpoints/endpoints.ts';
export type { Forwarded } from './forward/forward.ts';
export type { LoggedAttempt } from './log/delivery-log-store.ts';
export { type DeliveryFilterState, historyStepMax } from './log/delivery-page-store.ts';
export { nextTryOf, nextTryOfEndpoint } from './log/next-try.ts';
export { createWebhookViews, type ShownDelivery, type ShownEndpoint, type WebhookViews } from './log/webhook-views.ts';
export { createSigningKeys, rotateWebhookKey, type SigningKeys } from './signing/signing-keys.ts';
export type { Resolve, TargetRules } from './target/target.ts';

export type { Forward };

export const webhooksMigrations = loadMigrations('webhooks', new URL('./migrations/', import.meta.url));

type SendingDeps = {
  db: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  settings: WebhooksSettings;
  rules: TargetRules;
  resolve?: Resolve;
  /** An attempt as a whole: name, connection, TLS and answer. Default 15 s (interface 12.4). */
  attemptTimeoutMs?: number;
};

export type WebhooksDeps = SendingDeps & {
  pool: Pool;
  /** The same for all workers, on whatever machines (platform/db/database-clock.ts): leases are judged by it. */
  clock: Clock;
  log: Logger;
  random?: () => number;
  /** Default: nothing is counted or traced. */
  observers?: Observers;
};

const attemptTimeoutMsDefault = 15_000;

const sendingWith = (deps: SendingDeps) => ({
  ...createSend({
    rules: deps.rules,
    resolve: deps.resolve ?? resolverFor(deps.rules),
    timeoutMs: deps.attemptTimeoutMs ?? attemptTimeoutMsDefault,
  }),
  headersFor: createSignedHeaders({
    ...deps,
    keys: createSigningKeys(deps),
    signatureHeader: deps.settings.signature_header,
  }),
});

export const createWebhooks = (deps: WebhooksDeps): { services: Service[] } => {
  const { db, pool, clock, log, settings } = deps;
  const { send, close, headersFor } = sendingWith(deps);
  const observe = deps.observers === undefined ? (unseen: Send) => unseen : createObserveAttempts(deps.observers);
  if (deps.observers !== undefined) watchQueue(deps.observers.metrics, deps);
  const cancel = createCancelBacklog({ db, clock });
  const identity = createWorkerIdentity({ db, pool, clock, log, onTakenBack: () => deliver.wake() });
  const deliver = createDeliver({
    identity,
    db,
    pool,
    clock,
    log,
    settings,
    send: observe(send),
    random: deps.random ?? Math.random,
    headersFor,
    secretsOf: (delivery) => {
      const sealed = [delivery.secret, ...(delivery.previousSecret === null ? [] : [delivery.previousSecret])];
      return sealed.map((secret) => deps.box.open(secret, endpointSecretLabel(delivery.endpointUid)));
    },
    onDisabled: cancel.wake,
  });
  const dispatch = createDispatch({ pool, clock, log, sender: deliver.sender, onDeliveries: deliver.wake });
  const redeliver = createRedeliver({ db, clock, onDeliveries: deliver.wake });
  const run = async (signal: AbortSignal): Promise<void> => {
    identity.start();
    try {
      await deliver.service.run(signal);
    } finally {
      if (signal.aborted) await identity.stop(deliver.isDone());
      // Not after a failure alone: attempts of a run that failed go on, and the next run uses the same connections.
      if (signal.aborted) await close();
    }
  };
  const digest = createDigest({ db, clock, onDeliveries: deliver.wake });
  const retention = createDeliveryRetention({ db, clock, log });
  return {
    services: [dispatch, redeliver, { name: deliver.service.name, run }, cancel.service, digest, retention],
  };
};

/** For addresses that a developer names; `close` ends their connections. */
export const createForwarding = (
  deps: Pick<SendingDeps, 'db' | 'box' | 'clock' | 'settings'>,
): { forward: Forward; close(): Promise<void> } => {
  const { close, ...sending } = sendingWith({ ...deps, rules: { allowPrivate: true, allowedOrigins: [] } });
  return { forward: createForward({ ...deps, ...sending }), close };
};

/** The same for whoever has no store: with a secret of his own. */
export const createSecretForwarding = ({
  clock,
}: Pick<SendingDeps, 'clock'>): { send: SecretForward; close(): Promise<void> } => {
  const rules = { allowPrivate: true, allowedOrigins: [] };
  const { send, close } = createSend({ rules, resolve: resolverFor(rules), timeoutMs: attemptTimeoutMsDefault });
  return { send: createForwardWithSecret({ clock, send }), close };
};

export type WebhookApiDeps = SendingDeps & {
  kindScopes: KindScopes;
  /** 32 bytes: signs the cursors of lists. */
  cursorKey: Buffer;
  datesOf: Api['datesOf'];
  /** Owner of what is made; default: the client that calls. */
  owner?: NewEndpoint['owner'];
};

/** The operations; `close` ends the connections of `webhook/test`. */
export const createWebhookApi = (deps: WebhookApiDeps): { operations: Operation[]; close(): Promise<void> } => {
  const { box, clock, rules, resolve, kindScopes, datesOf, settings } = deps;
  const { send, close, headersFor } = sendingWith(deps);
  const operations = operationsWith({
    box,
    clock,
    rules,
    ...(resolve === undefined ? undefined : { resolve }),
    kindScopes,
    datesOf,
    cursors: createCursors(deps.cursorKey),
    testEndpoint: createTestEndpoint({ send, clock, headersFor }),
    signatureHeader: settings.signature_header,
    owner: deps.owner,
  });
  return { operations, close };
};

const operationsWith = (api: Api): Operation[] => [...endpointOperations(api), ...deliveryOperations(api)];

/** The operations as data, for those who describe them where none is served; not for serving. */
export const describedOperations = (kindScopes: KindScopes): Operation[] => {
  const never = (): Promise<never> => Promise.reject(new Error('operations that are described are not served'));
  return operationsWith({
    box: createSecretBox(Buffer.alloc(32)),
    clock: { now: () => new Date(0) },
    rules: { allowPrivate: false, allowedOrigins: [] },
    kindScopes,
    datesOf: never,
    cursors: createCursors(Buffer.alloc(32)),
    testEndpoint: never,
    signatureHeader: '',
    owner: undefined,
  });
};
