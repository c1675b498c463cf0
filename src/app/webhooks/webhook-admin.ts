/** The operations of the webhook engine for the command line, with the rights of an owner of the restaurant. */
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { AssertedCaller } from '#src/contract/assertion.ts';
import { appendChange } from '#src/gateway/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { parseParameters } from '#src/platform/http/validate.ts';
import { newId } from '#src/platform/ids.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import { kindScopes, targetRules, webhookApiOf } from './wire-engine.ts';

/** A JSON object, such as the details of an audit event. */
export type Payload = Readonly<Record<string, unknown>>;

/** Records a change in the audit, without secrets, in the transaction of the change. */
export type NoteChange = (tx: Kysely<unknown>, actor: string, restuid: string, details: Payload) => Promise<void>;

export const createNoteChange =
  ({ box, clock }: Pick<Installation, 'box' | 'clock'>): NoteChange =>
  (tx, actor, restuid, details) =>
    appendChange(tx, box, clock.now(), {
      action: 'webhook.changed',
      actor,
      tenants: [restuid],
      details: JSON.stringify(details),
    });

/**
 * For the audit: without path and query of an address, which often hold a secret of the receiver, and without secrets that the
 * endpoint logs in with.
 */
export const withoutSecrets = (params: Payload): Payload => {
  const { url, auth, ...others } = params;
  return {
    ...others,
    ...(typeof url === 'string' && { origin: new URL(url).origin }),
    ...(auth !== undefined && { auth: (auth as { type: string } | null)?.type ?? null }),
  };
};

export type WebhookAdmin = ReturnType<typeof createWebhookAdmin>;

/**
 * Each function takes the options of a command as text and returns the answer of the interface. It throws the refusals of
 * the operation. `actor`: the name in the audit.
 */
export const createWebhookAdmin = (installation: Installation, settings: Settings, actor: string) => {
  const { byName, close } = webhookApiOf(installation, settings, targetRules(settings));
  const noteChange = createNoteChange(installation);
  const note = (tx: Kysely<unknown>, restuid: string, details: Payload): Promise<void> =>
    noteChange(tx, actor, restuid, details);
  const as = <P, A, C>(operation: Operation<P, A, C>) => createCall(installation, operation, note);
  return {
    listEndpoints: as(byName.listEndpoints),
    readEndpoint: as(byName.readEndpoint),
    updateEndpoint: as(byName.updateEndpoint),
    removeEndpoint: as(byName.removeEndpoint),
    rotateSecret: as(byName.rotateSecret),
    testEndpoint: as(byName.testEndpoint),
    listDeliveries: as(byName.listDeliveries),
    readDelivery: as(byName.readDelivery),
    redeliver: as(byName.redeliver),
    readRedelivery: as(byName.readRedelivery),
    listEvents: as(byName.listEvents),
    note,
    close,
  };
};

type Options<P> = { readonly [Name in keyof P]?: unknown };

const createCall =
  <P, A, C>(
    { store, clock }: Installation,
    operation: Operation<P, A, C>,
    note: (tx: Kysely<unknown>, restuid: string, details: Payload) => Promise<void>,
  ) =>
  async (restuid: string, options: Options<P>): Promise<A> => {
    const params = parseParameters<P>(operation.params as z.ZodType<P>, { ...options }, []);
    const input = {
      params,
      caller: ownerOf(restuid),
      restuid,
      requestId: newId('req'),
      now: clock.now(),
      readNow: () => clock.now(),
      signal: new AbortController().signal,
    };
    const checked = operation.method === 'POST' ? await operation.check?.({ ...input, db: store.db }) : undefined;
    const answer =
      operation.method === 'GET' || operation.transaction === false
        ? await operation.handle({ ...input, db: store.db }, checked)
        : await inTransaction(store.db, async (tx) => {
            await note(
              tx,
              restuid,
              withoutSecrets({ operation: operation.path.slice(1), ...params, secret: undefined }),
            );
            return operation.handle({ ...input, db: tx }, checked);
          });
    if (!('body' in answer)) throw new Error(`${operation.path} gave no object`);
    // Members in the order of the interface, and no others.
    return operation.answer.parse(answer.body);
  };

/** Has all rights on the restaurant. */
const ownerOf = (restuid: string): AssertedCaller => ({
  kind: 'api_key',
  id: 'cli',
  tenants: [restuid],
  tenants_disabled: [],
  scopes: ['read:webhooks', 'write:webhooks', ...Object.values(kindScopes)],
});
