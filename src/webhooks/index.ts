/**
 * webhooks carries recorded events to receivers: outbox -> deliveries -> attempts. It knows tenants, kinds and entities,
 * and nothing about the subject of an event. README.md describes the flow, the rooms and the bounds.
 *
 * - `createWebhooks`: the services of a worker (dispatch, deliver, redeliver, upkeep).
 * - `createWebhookApi`: the operations of the public interface.
 * - `createForwarding`, `createSecretForwarding`: one attempt to an address that a developer names.
 *
 * The feature that changes something records its events (platform/db/outbox.ts); the gateway checks rights.
 */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { loadMigrations } from '#src/platform/db/schema/migrate.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { createCursors } from '#src/platform/http/paging.ts';
import type { Logger } from '#src/platform/log.ts';
import { createSecretBox, type SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Api, KindScopes } from './api/api.ts';
import { deliveryOperations } from './api/delivery-operations.ts';
import { endpointOperations } from './api/endpoint-operations.ts';
import { type AuthorizedSend, createAuthorizedSend } from './auth/authorized-send.ts';
import type { WebhooksSettings } from './config.ts';
import { createDeliver, type Deliver, type DeliverLook } from './deliver/deliver.ts';
import { createFailingSend } from './deliver/failing-send.ts';
import { createFastPath, type FastPath } from './deliver/fast-path.ts';
import { createSender } from './deliver/sender.ts';
import { createWorkerIdentity } from './deliver/worker-identity.ts';
import { createWorkerPolls } from './deliver/worker-polls.ts';
import { createDispatch } from './dispatch/dispatch.ts';
import { createForward, type Forward } from './forward/forward.ts';
import { createForwardWithSecret, type SecretForward } from './forward/forward-with-secret.ts';
import { looking } from './pacing/bounds.ts';
import { createRedeliver } from './redeliver/redeliver.ts';
import { createSend } from './send/send.ts';
import { type SignText, signText } from './signing/message-signature.ts';
import { secretTexts } from './signing/opened-secrets.ts';
import { createSignedHeaders } from './signing/signed-headers.ts';
import { createThreadSigner, type ThreadSigner } from './signing/thread-signer.ts';
import { resolverFor } from './target/resolve.ts';
import type { Resolve, TargetRules } from './target/target.ts';
import { createObserveAttempts, type Observers } from './telemetry/observe-attempts.ts';
import { createReadQueue, secondsSince, watchQueue } from './telemetry/watch-queue.ts';
import { createCancelBacklog } from './upkeep/cancel-backlog.ts';
import { createDigest } from './upkeep/digest.ts';
import { createDeliveryRetention } from './upkeep/retain-deliveries.ts';
import { createWithholdKinds, type OwnerRights, type WithholdKinds } from './upkeep/withhold-kinds.ts';
import { type ChangeEndpoints, createChangeEndpoints } from './use-cases/change-endpoints.ts';
import { createTestEndpoint } from './use-cases/test-endpoint.ts';

export type { KindScopes } from './api/api.ts';
export { describedEvents, type OwnEvent } from './api/described-events.ts';
export {
  createParams,
  endpointChangesOf,
  newEndpointOf,
  type TenantDates,
  updateParams,
} from './api/endpoint-params.ts';
export { failNextDeliveries } from './deliver/failing-send.ts';
export { listDisabled } from './endpoints/disabled-store.ts';
export {
  createEndpoint,
  type EndpointsDeps,
  isSecret,
  makeSecret,
  moveEndpoint,
  secretRule,
} from './endpoints/endpoints.ts';
export type { Forwarded } from './forward/forward.ts';
export {
  findEndpointsByAddress,
  findEndpointsByUrl,
  listFailingEndpoints,
  readEndpointProgress,
  tenantOfDelivery,
  tenantOfEndpoint,
  tenantOfEvent,
} from './log/locate-store.ts';
export { createClientWebhookViews, createWebhookViews } from './log/webhook-views.ts';
export { isEngineIdle } from './queue/idle-store.ts';
export { createFetchDocument } from './send/fetch-document.ts';
export { createGuardedPost } from './send/guarded-post.ts';
export { type SignatureScheme, signatureSchemes } from './signing/message-signature.ts';
export { signV1 } from './signing/sign.ts';
export { createSigningKeys, rotateWebhookKey } from './signing/signing-keys.ts';
export { createWebhookSources } from './signing/webhook-sources.ts';
export type { Resolve, TargetRules } from './target/target.ts';
export type { EventExample } from './use-cases/test-endpoint.ts';

export type { ChangeEndpoints, Forward, OwnerRights };

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

type WebhooksDeps = SendingDeps & {
  /** For loops that have time (platform/db/pool.ts, createBackground). Default: `db`. */
  background?: Kysely<unknown>;
  /** Connections that keep their session: they listen, hold the lock of the worker, and have settings of their own. */
  pool: Pool;
  /** The same for all workers on all machines (platform/db/database-clock.ts), because leases are compared by it. */
  clock: Clock;
  log: Logger;
  /** What the owners of endpoints may read. */
  rights: OwnerRights;
  random?: () => number;
  /** How often the worker looks for work without a hint. Default: bounds of `pacing`. */
  lookEveryMs?: number;
  /** Default: a thread where there is a core for it. */
  signer?: ThreadSigner;
  /** Default: nothing is counted or traced. */
  observers?: Observers;
};

/** Interface 12.4. */
const attemptTimeoutMsDefault = 15_000;

/** `send` goes to receivers with what their endpoints log in with; `sendBare` without. */
const sendingWith = (deps: SendingDeps, sign: SignText = signText) => {
  const timeoutMs = deps.attemptTimeoutMs ?? attemptTimeoutMsDefault;
  const connected = createSend({ rules: deps.rules, resolve: deps.resolve ?? resolverFor(deps.rules), timeoutMs });
  const authorized = createAuthorizedSend({ box: deps.box, send: connected.send, timeoutMs });
  return {
    send: authorized.send,
    sendBare: connected.send,
    headersFor: createSignedHeaders({ ...deps, sign, signatureHeader: deps.settings.signature_header }),
    close: (): Promise<void> => {
      authorized.close();
      return connected.close();
    },
  };
};

/** `isLeaseHeld`: the database confirms this worker, so it may send. `oldestDueSeconds`: of receivers that answer. */
export type WorkerState = { isLeaseHeld: boolean; oldestDueSeconds: number };

export type Webhooks = {
  services: Service[];
  /** Rejects when the database does not answer. */
  state(): Promise<WorkerState>;
};

export const createWebhooks = (deps: WebhooksDeps): Webhooks => {
  const { pool, clock, log } = deps;
  const db = deps.background ?? deps.db;
  const readQueue = createReadQueue(deps);
  if (deps.observers !== undefined) watchQueue(deps.observers.metrics, readQueue, clock);
  const lookEveryMs = deps.lookEveryMs ?? looking.everyMs;
  const polls = createWorkerPolls(lookEveryMs);
  const withhold = createWithholdKinds({ db, clock, rights: deps.rights, polls });
  const { deliver, fastPath, isLeaseHeld } = createDelivering(deps, withhold, polls.cancel.now, {
    everyMs: lookEveryMs,
    at: () => ({ floor: dispatch.floor(), rightsVersion: deps.rights.version }),
    onLooked: (found) => polls.settle(found, dispatch.isSettling()),
  });
  const onDeliveries = deliver.wake;
  const dispatch = createDispatch({
    ...{ pool, clock, fastPath, onDeliveries },
    queuesCount: deps.settings.dispatch_queues,
    poll: polls.dispatch,
  });
  return {
    services: [
      dispatch.service,
      createRedeliver({ db, clock, onDeliveries, poll: polls.redeliver }),
      deliver.service,
      ...withhold.services,
      createCancelBacklog({ db, clock, poll: polls.cancel }),
      createDigest({ db, clock, onDeliveries }),
      createDeliveryRetention({ db, clock, log }),
    ],
    state: async () => ({
      isLeaseHeld: isLeaseHeld(),
      oldestDueSeconds: secondsSince((await readQueue()).oldestDue, clock.now()),
    }),
  };
};

/** Sender and claim loop, and the fast path for a dispatcher of the same process. */
const createDelivering = (
  deps: WebhooksDeps,
  { isKnown, isWithheld }: Pick<WithholdKinds, 'isKnown' | 'isWithheld'>,
  onDisabled: () => void,
  look: DeliverLook,
): { deliver: Deliver; fastPath: FastPath | undefined; isLeaseHeld: () => boolean } => {
  const { db, pool, clock, log, settings } = deps;
  const signer = deps.signer ?? createThreadSigner({ log });
  const { send, close, headersFor } = sendingWith(deps, signer.sign);
  const observe =
    deps.observers === undefined ? (unseen: AuthorizedSend) => unseen : createObserveAttempts(deps.observers);
  const identity = createWorkerIdentity({ db, pool, clock, log, onTakenOver: () => deliver.wake() });
  const sender = createSender({
    identity,
    db,
    pool,
    clock,
    log,
    settings,
    send: observe(createFailingSend(db, send)),
    random: deps.random ?? Math.random,
    headersFor,
    secretsOf: (delivery) => secretTexts(deps.box, delivery),
    isWithheld,
    areRightsKnown: isKnown,
    onDisabled,
  });
  const deliver = createDeliver({ pool, clock, sender, look });
  // Between two runs attempts go on, and the next run uses the same worker and connections.
  const service: Service = {
    name: deliver.service.name,
    run: (signal) => {
      identity.start();
      return deliver.service.run(signal);
    },
    end: async () => {
      await sender.stop();
      await identity.stop(sender.isDone());
      await Promise.all([close(), signer.close()]);
    },
  };
  return {
    deliver: { ...deliver, service },
    isLeaseHeld: identity.isHeld,
    fastPath: settings.fast_path === 'on' ? createFastPath({ sender, log }) : undefined,
  };
};

/** Sends to addresses that a developer names; `close` ends the connections. */
export const createForwarding = (
  deps: Pick<SendingDeps, 'db' | 'box' | 'clock' | 'settings'>,
): { forward: Forward; close(): Promise<void> } => {
  const rules = { allowPrivate: true, allowedOrigins: [] };
  const { close, sendBare, headersFor } = sendingWith({ ...deps, rules });
  return { forward: createForward({ ...deps, send: sendBare, headersFor }), close };
};

/** The same without a store, with a secret that the developer gives. */
export const createSecretForwarding = ({
  clock,
}: Pick<SendingDeps, 'clock'>): { send: SecretForward; close(): Promise<void> } => {
  const rules = { allowPrivate: true, allowedOrigins: [] };
  const { send, close } = createSend({ rules, resolve: resolverFor(rules), timeoutMs: attemptTimeoutMsDefault });
  return { send: createForwardWithSecret({ clock, send }), close };
};

type WebhookApiDeps = SendingDeps & {
  kindScopes: KindScopes;
  /** 32 bytes: signs the cursors of lists. */
  cursorKey: Buffer;
  datesOf: Api['datesOf'];
};

/**
 * The operations, all in one list and each by its name, and the changes that they share with the panel. `close` ends the
 * connections of `webhook/test`.
 */
export const createWebhookApi = (
  deps: WebhookApiDeps,
): { operations: Operation[]; byName: WebhookOperations; changes: ChangeEndpoints; close(): Promise<void> } => {
  const { settings, kindScopes, datesOf } = deps;
  const { send, close, headersFor } = sendingWith(deps);
  const { signature_header: signatureHeader } = settings;
  const testEndpoint = createTestEndpoint({ ...deps, send, headersFor });
  const changes = createChangeEndpoints({ ...deps, testEndpoint, signatureHeader });
  const byName = operationsWith({
    changes,
    kindScopes,
    datesOf,
    cursors: createCursors(deps.cursorKey),
    signatureHeader,
  });
  return { operations: Object.values(byName), byName, changes, close };
};

const operationsWith = (api: Api) => ({ ...endpointOperations(api), ...deliveryOperations(api) });

/** The operations of the interface with the types of their parameters and answers. */
export type WebhookOperations = ReturnType<typeof operationsWith>;

/** The operations as data, for the reference. Their handlers cannot be called. */
export const describedOperations = (kindScopes: KindScopes): Operation[] => {
  const never = (): Promise<never> => Promise.reject(new Error('described operations cannot be called'));
  const described = operationsWith({
    changes: createChangeEndpoints({
      box: createSecretBox(Buffer.alloc(32)),
      clock: { now: () => new Date(0) },
      rules: { allowPrivate: false, allowedOrigins: [] },
      testEndpoint: never,
      signatureHeader: '',
    }),
    kindScopes,
    datesOf: never,
    cursors: createCursors(Buffer.alloc(32)),
    signatureHeader: '',
  });
  return Object.values(described);
};
