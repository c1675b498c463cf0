/** Changes of webhooks from the panel: the same functions as in the API, each recorded in the audit in its transaction. */
import type { Kysely } from 'kysely';
import type { EndpointFields } from '#src/panel/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { parseParameters } from '#src/platform/http/validate.ts';
import {
  createParams,
  endpointChangesOf,
  type LoggedAttempt,
  newEndpointOf,
  type Redelivered,
  updateParams,
} from '#src/webhooks/index.ts';
import { createNoteChange, type Payload } from '../webhooks/webhook-admin.ts';
import { kindScopes, targetRules, webhookApiOf } from '../webhooks/wire-engine.ts';
import type { PortDeps } from './port-deps.ts';

export type WebhookChanges = ReturnType<typeof createWebhookChanges>;

const kinds = Object.keys(kindScopes);

/** The owner of the endpoints that the panel adds. */
const owner = { kind: 'panel', id: 'panel' } as const;

export const createWebhookChanges = ({ installation, settings, ownOrigins, onStop }: PortDeps) => {
  const { store, clock } = installation;
  const { changes, close } = webhookApiOf(installation, settings, targetRules(settings, ownOrigins));
  onStop(close);
  const note = createNoteChange(installation);
  const viewerOf = (restuid: string) => ({ tenant: restuid, client: undefined });

  /** `details`: for the audit, with the names of the interface and without the secret. */
  const change = <T>(
    actor: string,
    restuid: string,
    details: Payload,
    work: (request: { db: Kysely<unknown>; viewer: ReturnType<typeof viewerOf>; now: Date }) => Promise<T>,
  ): Promise<T> =>
    inTransaction(store.db, async (db) => {
      await note(db, actor, restuid, details);
      return work({ db, viewer: viewerOf(restuid), now: clock.now() });
    });

  const rotate = (actor: string, restuid: string, uid: string, overlapHours: number | 'finish') => {
    const isEnd = overlapHours === 'finish';
    const details = isEnd ? { uid, finish: true } : { uid, overlap_hours: overlapHours, finish: false };
    return change(actor, restuid, { operation: 'webhook/rotate-secret', ...details }, (request) =>
      changes.rotateSecret(request, uid, isEnd ? 'finish' : { secret: undefined, overlapHours }),
    );
  };

  return {
    create: async (
      actor: string,
      restuid: string,
      fields: EndpointFields,
    ): Promise<{ uid: string; secret: string }> => {
      const params = parseParameters(createParams(kinds), valuesOf(fields), []);
      await changes.checkUrl(params.url);
      const wanted = newEndpointOf(params, owner, inOrder(params.kinds));
      return change(actor, restuid, { operation: 'webhook/create', ...params }, (request) =>
        changes.create(request, wanted),
      );
    },
    update: async (actor: string, restuid: string, uid: string, fields: EndpointFields): Promise<void> => {
      const params = parseParameters(updateParams(kinds), { uid, ...valuesOf(fields) }, []);
      if (params.url !== undefined)
        await changes.checkUrlOf({ db: store.db, viewer: viewerOf(restuid) }, uid, params.url);
      await change(actor, restuid, { operation: 'webhook/update', ...params }, (request) =>
        changes.update(request, uid, endpointChangesOf(params, inOrder(params.kinds))),
      );
    },
    setEnabled: (actor: string, restuid: string, uid: string, enabled: boolean): Promise<void> =>
      change(actor, restuid, { operation: 'webhook/update', uid, enabled }, (request) =>
        changes.update(request, uid, { enabled }),
      ),
    remove: (actor: string, restuid: string, uid: string): Promise<void> =>
      change(actor, restuid, { operation: 'webhook/remove', uid }, (request) => changes.remove(request, uid)),
    rotateSecret: async (actor: string, restuid: string, uid: string, overlapHours: number): Promise<string> => {
      const secret = await rotate(actor, restuid, uid, overlapHours);
      if (secret === null) throw new Error('a rotation made no secret');
      return secret;
    },
    finishRotation: async (actor: string, restuid: string, uid: string): Promise<void> => {
      await rotate(actor, restuid, uid, 'finish');
    },
    /** Changes nothing, so the audit holds nothing of it. */
    test: (restuid: string, uid: string): Promise<LoggedAttempt> =>
      changes.test({ db: store.db, viewer: viewerOf(restuid) }, uid, new AbortController().signal),
    redeliver: (
      actor: string,
      restuid: string,
      { endpointUid, eventId }: { endpointUid: string; eventId: string },
    ): Promise<Redelivered> => {
      const details = { operation: 'webhook/redeliver', endpoint_uid: endpointUid, event_id: eventId, all: false };
      return change(actor, restuid, details, (request) => changes.redeliver(request, { endpointUid, eventId }));
    },
    redeliverSince: (actor: string, restuid: string, endpointUid: string, since: Date): Promise<Redelivered> => {
      const details = { operation: 'webhook/redeliver', endpoint_uid: endpointUid, since, all: false };
      const span = { since, until: undefined, everything: false };
      return change(actor, restuid, details, (request) => changes.redeliver(request, { endpointUid, ...span }));
    },
  };
};

const inOrder = (named: readonly string[] | undefined): string[] =>
  kinds.filter((kind) => named?.includes(kind) ?? true);

/** The texts of the form under the names of the interface, whose rules check them. */
const valuesOf = (fields: EndpointFields) => ({
  url: fields.url,
  description: fields.description ?? null,
  kinds: fields.kinds,
  signature_header: fields.signatureHeader ?? null,
  max_per_second: fields.maxPerSecond ?? null,
  digest: fields.digest,
});
