/**
 * The operations of the webhook engine for the command line and the panel: the same code as in the API, with the rights of
 * an owner of the restaurant.
 */
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

/** A JSON object: the payload of the interface, without the envelope. */
export type Payload = Readonly<Record<string, unknown>>;

export type WebhookAdmin = {
  /** `path` as in the interface, such as `/webhook/endpoints`. Throws the refusals of the operation. */
  call(restuid: string, path: string, params: Payload): Promise<Payload>;
  /** Records the request in the audit, without secrets, in the transaction of the change. */
  note(tx: Kysely<unknown>, restuid: string, details: Payload): Promise<void>;
  close(): Promise<void>;
};

/** `actor`: the name in the audit. */
export const createWebhookAdmin = (installation: Installation, settings: Settings, actor: string): WebhookAdmin => {
  const { call, note, close } = createWebhookCalls(
    webhookApiOf(installation, settings, targetRules(settings)),
    installation,
  );
  return {
    call: (restuid, path, params) => call(actor, restuid, path, params),
    note: (tx, restuid, details) => note(tx, actor, restuid, details),
    close,
  };
};

export type WebhookCalls = {
  call(actor: string, ...asked: Parameters<WebhookAdmin['call']>): Promise<Payload>;
  note(tx: Kysely<unknown>, actor: string, restuid: string, details: Payload): Promise<void>;
  close(): Promise<void>;
};

/** The same for several actors. */
export const createWebhookCalls = (
  { operations, close }: ReturnType<typeof webhookApiOf>,
  installation: Installation,
): WebhookCalls => {
  const { store, box, clock } = installation;
  const note = (tx: Kysely<unknown>, actor: string, restuid: string, details: Payload): Promise<void> =>
    appendChange(tx, box, clock.now(), {
      action: 'webhook.changed',
      actor,
      tenants: [restuid],
      details: JSON.stringify(details),
    });
  const call = async (actor: string, operation: Operation, restuid: string, params: unknown): Promise<Payload> => {
    const input = {
      params,
      caller: ownerOf(restuid),
      restuid,
      requestId: newId('req'),
      now: clock.now(),
      signal: new AbortController().signal,
    };
    const checked = operation.method === 'POST' ? await operation.check?.({ ...input, db: store.db }) : undefined;
    const answer =
      operation.method === 'GET' || operation.transaction === false
        ? await operation.handle({ ...input, db: store.db }, checked)
        : await inTransaction(store.db, async (tx) => {
            // The parameters, without the secret.
            await note(tx, actor, restuid, {
              operation: operation.path.slice(1),
              ...(params as Payload),
              secret: undefined,
            });
            return operation.handle({ ...input, db: tx }, checked);
          });
    if (!('body' in answer)) throw new Error(`${operation.path} gave no object`);
    // Members in the order of the interface, and no others.
    return operation.answer.parse(answer.body) as Payload;
  };
  return {
    call: (actor, restuid, path, params) => {
      const operation = operations.find((one) => one.path === path);
      if (operation === undefined) throw new Error(`there is no operation ${path}`);
      return call(actor, operation, restuid, parseParameters(operation.params as z.ZodType, { ...params }, []));
    },
    note,
    close,
  };
};

/** Has all rights on the restaurant. */
const ownerOf = (restuid: string): AssertedCaller => ({
  kind: 'api_key',
  id: 'cli',
  tenants: [restuid],
  tenants_disabled: [],
  scopes: ['read:webhooks', 'write:webhooks', ...Object.values(kindScopes)],
});
