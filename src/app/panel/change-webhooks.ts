/** Changes of webhooks from the panel: the same functions as in the API, each recorded in the audit in its transaction. */
import type { Kysely } from 'kysely';
import { describedEvents } from '#src/ordering/index.ts';
import type { DeliveryPorts, EndpointFields, EndpointPorts } from '#src/panel/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { parseParameters } from '#src/platform/http/validate.ts';
import {
  createParams,
  describedEvents as describedOwnEvents,
  type EventExample,
  endpointChangesOf,
  newEndpointOf,
  updateParams,
} from '#src/webhooks/index.ts';
import { examplesAt } from '../reference/document/examples/recorded-answers.ts';
import { eventExamples } from '../reference/document/webhook-paths.ts';
import { eventKinds } from '../webhooks/event-kinds.ts';
import { createNoteChange, type Payload, withoutSecrets } from '../webhooks/webhook-admin.ts';
import { kindScopes, targetRules, webhookApiOf } from '../webhooks/wire-engine.ts';
import type { PortDeps } from './port-deps.ts';

type WebhookChanges = Omit<EndpointPorts, 'list' | 'find' | 'history'> &
  Pick<DeliveryPorts, 'redeliver' | 'redeliverEvents' | 'redeliverSince'>;

const kinds = Object.keys(kindScopes);

/** The owner of the endpoints that the panel adds. */
const owner = { kind: 'panel', id: 'panel' } as const;

export const createWebhookChanges = ({ installation, settings, ownOrigins, onStop }: PortDeps): WebhookChanges => {
  const { store, clock } = installation;
  const { changes, close } = webhookApiOf(installation, settings, targetRules(settings, ownOrigins));
  onStop(close);
  const note = createNoteChange(installation);
  const requestOf = (restuid: string, db = store.db) => ({
    db,
    viewer: { tenant: restuid, client: undefined },
    now: clock.now(),
  });
  type Request = ReturnType<typeof requestOf>;
  const examples = examplesOf(clock.now());

  /** `details`: for the audit, with the names of the interface and without the secret. */
  const change = <T>(actor: string, restuid: string, details: Payload, work: (request: Request) => Promise<T>) =>
    inTransaction(store.db, async (tx: Kysely<unknown>) => {
      await note(tx, actor, restuid, details);
      return work(requestOf(restuid, tx));
    });

  return {
    create: async (actor, restuid, fields) => {
      const params = parseParameters(createParams(kinds), valuesOf(fields), []);
      await changes.checkTargets(params);
      const wanted = newEndpointOf(params, owner, inOrder(params.kinds));
      return change(actor, restuid, { operation: 'webhook/create', ...withoutSecrets(params) }, (request) =>
        changes.create(request, wanted),
      );
    },
    update: async (actor, restuid, uid, fields, check) => {
      const params = parseParameters(updateParams(kinds), { uid, ...valuesOf(fields) }, []);
      await changes.checkTargetsOf(requestOf(restuid), uid, params);
      const wanted = endpointChangesOf(params, inOrder(params.kinds));
      await change(actor, restuid, { operation: 'webhook/update', ...withoutSecrets(params) }, (request) =>
        changes.update(request, uid, wanted, check),
      );
    },
    setLogin: async (actor, restuid, uid, login) => {
      const { auth } = parseParameters(updateParams(kinds), { uid, auth: login }, []);
      await changes.checkTargetsOf(requestOf(restuid), uid, { auth });
      await change(actor, restuid, { operation: 'webhook/update', ...withoutSecrets({ uid, auth }) }, (request) =>
        changes.update(request, uid, { auth: auth ?? null }),
      );
    },
    setEnabled: (actor, restuid, uid, enabled) =>
      change(actor, restuid, { operation: 'webhook/update', uid, enabled }, (request) =>
        changes.update(request, uid, { enabled }),
      ),
    remove: (actor, restuid, uid) =>
      change(actor, restuid, { operation: 'webhook/remove', uid }, (request) => changes.remove(request, uid)),
    rotateSecret: (actor, restuid, uid, overlapHours) => {
      const details = { operation: 'webhook/rotate-secret', uid, overlap_hours: overlapHours, finish: false };
      return change(actor, restuid, details, (request) => changes.rotateSecret(request, uid, { overlapHours }));
    },
    finishRotation: (actor, restuid, uid) =>
      change(actor, restuid, { operation: 'webhook/rotate-secret', uid, finish: true }, (request) =>
        changes.finishRotation(request, uid),
      ),
    exampleEvents: [...examples.keys()],
    /** Changes nothing, so the audit holds nothing of it. */
    test: (restuid, uid, exampleOf) =>
      changes.test(requestOf(restuid), uid, new AbortController().signal, examples.get(exampleOf ?? '')),
    redeliver: (actor, restuid, { endpointUid, eventId }) => {
      const details = { operation: 'webhook/redeliver', endpoint_uid: endpointUid, event_id: eventId, all: false };
      return change(actor, restuid, details, (request) => changes.redeliver(request, { endpointUid, eventId }));
    },
    redeliverEvents: (actor, restuid, { endpointUid, eventIds }) => {
      const details = { operation: 'webhook/redeliver', endpoint_uid: endpointUid, events: eventIds.length };
      return change(actor, restuid, details, (request) => changes.redeliver(request, { endpointUid, eventIds }));
    },
    redeliverSince: (actor, restuid, endpointUid, since) => {
      const details = { operation: 'webhook/redeliver', endpoint_uid: endpointUid, since, all: false };
      const span = { since, until: undefined, everything: false };
      return change(actor, restuid, details, (request) => changes.redeliver(request, { endpointUid, ...span }));
    },
  };
};

/** Examples of every event but `webhook.test`, which is sent without one. */
const examplesOf = (now: Date): ReadonlyMap<string, EventExample> => {
  const own = describedOwnEvents(eventKinds).filter(({ event }) => event !== 'webhook.test');
  const bodies = eventExamples([...describedEvents, ...own], examplesAt(now).events);
  return new Map([...bodies].map(([event, body]) => [event, { ...body, event }]));
};

const inOrder = (named: readonly string[] | undefined): string[] =>
  kinds.filter((kind) => named?.includes(kind) ?? true);

/** The texts of the form under the names of the interface, whose rules check them. */
const valuesOf = ({ signatureHeader, maxPerSecond, ...fields }: EndpointFields) => ({
  ...fields,
  signature_header: signatureHeader,
  max_per_second: maxPerSecond,
});
