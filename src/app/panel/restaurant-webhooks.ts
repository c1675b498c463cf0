/** The ports of webhook endpoints and deliveries. Changes use the same operations as the API. */
import type {
  AttemptFailure,
  Delivery,
  DeliveryAttempt,
  DeliveryPorts,
  EndpointFields,
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
  redeliveryStateOf,
  type ShownDelivery,
  type ShownEndpoint,
  type WebhookViews,
} from '#src/webhooks/index.ts';
import { createWebhookCalls, type Payload, type WebhookCalls } from '../webhooks/webhook-admin.ts';
import { eventKinds, targetRules, webhookApiOf } from '../webhooks/wire-engine.ts';
import { cursorOf, pageOf, readCursor } from './page-cursor.ts';
import type { PortDeps } from './port-deps.ts';

export const createWebhookPorts = (deps: PortDeps): { endpoints: EndpointPorts; deliveries: DeliveryPorts } => {
  const { installation, settings, ownOrigins, onStop } = deps;
  const api = webhookApiOf(installation, settings, targetRules(settings, ownOrigins), { kind: 'panel', id: 'panel' });
  const { call, close } = createWebhookCalls(api, installation);
  onStop(close);
  const views = createWebhookViews({ db: installation.store.db });
  const now = (): Date => installation.clock.now();
  return { endpoints: endpointPorts(call, views, now), deliveries: deliveryPorts(call, views, now) };
};

const endpointPorts = (call: WebhookCalls['call'], views: WebhookViews, now: () => Date): EndpointPorts => ({
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
  create: async (actor, restuid, fields) => {
    const { endpoint, secret } = (await call(actor, restuid, '/webhook/create', paramsOf(fields))) as {
      endpoint: { uid: string };
      secret: string;
    };
    return { uid: endpoint.uid, secret };
  },
  update: async (actor, restuid, uid, fields) => {
    await call(actor, restuid, '/webhook/update', { uid, ...paramsOf(fields) });
  },
  setEnabled: async (actor, restuid, uid, enabled) => {
    await call(actor, restuid, '/webhook/update', { uid, enabled });
  },
  remove: async (actor, restuid, uid) => {
    await call(actor, restuid, '/webhook/remove', { uid });
  },
  rotateSecret: async (actor, restuid, uid, overlapHours) => {
    const params = { uid, overlap_hours: overlapHours };
    const { secret } = (await call(actor, restuid, '/webhook/rotate-secret', params)) as { secret: string };
    return secret;
  },
  finishRotation: async (actor, restuid, uid) => {
    await call(actor, restuid, '/webhook/rotate-secret', { uid, finish: true });
  },
  test: async (actor, restuid, uid) => testedAttempt(await call(actor, restuid, '/webhook/test', { uid })),
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

const deliveryPorts = (call: WebhookCalls['call'], views: WebhookViews, now: () => Date): DeliveryPorts => ({
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
  redeliver: async (actor, restuid, { endpointUid, eventId }) =>
    redelivered(await call(actor, restuid, '/webhook/redeliver', { endpoint_uid: endpointUid, event_id: eventId })),
  redeliverSince: async (actor, restuid, endpointUid, since) =>
    redelivered(
      await call(actor, restuid, '/webhook/redeliver', { endpoint_uid: endpointUid, since: since.toISOString() }),
    ),
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

const paramsOf = (fields: EndpointFields): Payload => ({
  url: fields.url,
  description: fields.description ?? null,
  kinds: fields.kinds,
  signature_header: fields.signatureHeader ?? null,
  max_per_second: fields.maxPerSecond ?? null,
  digest: fields.digest,
});

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

/** The result of `webhook/test`, which stores nothing. */
const testedAttempt = (payload: Payload): DeliveryAttempt => {
  const { attempt } = payload as {
    attempt: {
      started_iso: string;
      address: string | null;
      status: number | null;
      failure: AttemptFailure | null;
      retry_after: number | null;
      response: string | null;
      timings_ms: {
        dns: number | null;
        connect: number | null;
        tls: number | null;
        first_byte: number | null;
        total: number;
      };
    };
  };
  const { dns, connect, tls, first_byte: firstByte, total } = attempt.timings_ms;
  return attemptOf({
    ...attempt,
    uid: '',
    number: 1,
    started: new Date(attempt.started_iso),
    retryAfterSeconds: attempt.retry_after,
    dnsMs: dns,
    connectMs: connect,
    tlsMs: tls,
    firstByteMs: firstByte,
    totalMs: total,
  });
};

const redelivered = (payload: Payload): Redelivery => {
  const { redelivery } = payload as { redelivery: { uid: string; queued: number; state: 'running' | 'done' } };
  return { uid: redelivery.uid, queued: redelivery.queued, isRunning: redelivery.state === 'running' };
};
