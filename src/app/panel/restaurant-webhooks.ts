/** The ports of webhook endpoints and deliveries: what the pages show. Changes are in change-webhooks.ts. */
import type {
  AttemptFailure,
  Delivery,
  DeliveryAttempt,
  DeliveryPorts,
  EndpointPorts,
  EventKind,
  Redelivery,
  WebhookEndpoint,
} from '#src/panel/index.ts';
import {
  createWebhookViews,
  historyStepMax,
  type LoggedAttempt,
  nextTryOf,
  nextTryOfEndpoint,
  type Redelivered,
  redeliveryStateOf,
  type ShownDelivery,
  type ShownEndpoint,
  type WebhookViews,
} from '#src/webhooks/index.ts';
import { eventKinds } from '../webhooks/wire-engine.ts';
import { createWebhookChanges, type WebhookChanges } from './change-webhooks.ts';
import { cursorOf, pageOf, readCursor } from './page-cursor.ts';
import type { PortDeps } from './port-deps.ts';

export const createWebhookPorts = (deps: PortDeps): { endpoints: EndpointPorts; deliveries: DeliveryPorts } => {
  const { clock, store } = deps.installation;
  const changes = createWebhookChanges(deps);
  const views = createWebhookViews({ db: store.db });
  const now = (): Date => clock.now();
  return { endpoints: endpointPorts(changes, views, now), deliveries: deliveryPorts(changes, views, now) };
};

const endpointPorts = (changes: WebhookChanges, views: WebhookViews, now: () => Date): EndpointPorts => ({
  list: async (restuid, { after, limit }) => {
    const rows = await views.listEndpoints({ tenant: restuid, after, limit: limit + 1 });
    return pageOf(
      rows.map((row) => endpointOf(row, now())),
      limit,
      ({ uid }) => uid,
    );
  },
  find: async (restuid, uid) => {
    const row = await views.findEndpoint(restuid, uid);
    return row && endpointOf(row, now());
  },
  create: changes.create,
  update: changes.update,
  setEnabled: changes.setEnabled,
  remove: changes.remove,
  rotateSecret: changes.rotateSecret,
  finishRotation: changes.finishRotation,
  test: async (_actor, restuid, uid) => attemptOf(await changes.test(restuid, uid)),
  history: async (restuid, uid, { stepMs, steps }) => {
    // Aligned to whole steps, so that a step counts the same deliveries each time the page is shown.
    const from = new Date((Math.floor(now().getTime() / stepMs) - steps + 1) * stepMs);
    const history = await views.history({ tenant: restuid, endpointUid: uid, from, stepMs, steps });
    return history.map((step) => ({
      ...step,
      isPart: step.atOnce + step.later + step.failed + step.cancelled + step.retrying + step.open >= historyStepMax,
    }));
  },
});

const deliveryPorts = (changes: WebhookChanges, views: WebhookViews, now: () => Date): DeliveryPorts => ({
  search: async (restuid, { after, limit, ...search }) => {
    const { rows, lookedTo } = await views.searchDeliveries({
      ...search,
      tenant: restuid,
      after: readCursor(after),
      limit: limit + 1,
    });
    const found = pageOf(
      rows.map((row) => deliveryOf(row, now())),
      limit,
      (last) => cursorOf(last.created, last.uid),
    );
    return lookedTo === undefined ? found : { ...found, next: cursorOf(lookedTo.created, lookedTo.id) };
  },
  find: async (restuid, uid) => {
    const row = await views.findDelivery(restuid, uid);
    return row && { ...deliveryOf(row, now()), body: row.body ?? undefined, attempts: row.attempts.map(attemptOf) };
  },
  redeliver: async (actor, restuid, wanted) => redelivered(await changes.redeliver(actor, restuid, wanted)),
  redeliverSince: async (actor, restuid, endpointUid, since) =>
    redelivered(await changes.redeliverSince(actor, restuid, endpointUid, since)),
  redelivery: async (restuid, uid) => {
    const found = await views.findRedelivery(restuid, uid);
    if (found === undefined) return undefined;
    const { pending, waiting, succeeded, exhausted, cancelled } = found.counts;
    return {
      state: redeliveryStateOf(found),
      queued: found.queued,
      arrived: succeeded,
      failed: exhausted + cancelled,
      open: pending + waiting,
    };
  },
  mark: views.deliveryMark,
});

const endpointOf = (row: ShownEndpoint, now: Date): WebhookEndpoint => ({
  uid: row.uid,
  url: row.url,
  description: row.description ?? undefined,
  kinds: row.kinds.filter(isKind),
  owner: { kind: row.ownerKind === 'panel' ? 'panel' : 'client', id: row.ownerId },
  enabled: row.enabled,
  disabledReason: row.disabledReason ?? undefined,
  failingSince: row.failingSince ?? undefined,
  lastSuccess: row.lastSuccess ?? undefined,
  lastFailure: row.lastFailure ?? undefined,
  nextTry: nextTryOfEndpoint(row, now),
  signatureHeader: row.signatureHeader ?? undefined,
  maxPerSecond: row.maxPerSecond ?? undefined,
  digest: row.digest,
  previousSecretExpires:
    row.previousSecretExpires !== null && row.previousSecretExpires > now ? row.previousSecretExpires : undefined,
  created: row.created,
});

const isKind = (kind: string): kind is EventKind => eventKinds.some((known) => known === kind);

const deliveryOf = (row: Omit<ShownDelivery, 'body' | 'attempts'>, now: Date): Delivery => ({
  uid: row.uid,
  endpointUid: row.endpointUid,
  eventId: row.eventId,
  event: row.event,
  entity: row.entity,
  seq: row.seq,
  state: row.state,
  attemptsCount: row.attemptsCount,
  nextTry: nextTryOf(row, now),
  created: row.created,
  redeliveryUid: row.redeliveryUid ?? undefined,
});

const attemptOf = (row: LoggedAttempt): DeliveryAttempt => ({
  number: row.number,
  started: row.started,
  address: row.address ?? undefined,
  status: row.status ?? undefined,
  failure: (row.failure ?? undefined) as AttemptFailure | undefined,
  retryAfterSeconds: row.retryAfterSeconds ?? undefined,
  response: row.response ?? undefined,
  ms: {
    dns: row.dnsMs ?? undefined,
    connect: row.connectMs ?? undefined,
    tls: row.tlsMs ?? undefined,
    firstByte: row.firstByteMs ?? undefined,
    total: row.totalMs,
  },
});

const redelivered = ({ uid, queued, state }: Redelivered): Redelivery => ({
  uid,
  queued,
  isRunning: state === 'running',
});
