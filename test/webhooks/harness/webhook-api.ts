/** The operations of the webhook engine beside those of the core, on the internal listener, with workers as a test wants. */
import { kindScopes, restaurantDates } from '#src/app/webhooks/wire-engine.ts';
import type { AssertedCaller } from '#src/contract/assertion.ts';
import { type EventDraft, recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { supervise } from '#src/platform/supervisor.ts';

import { createWebhookApi, createWebhooks, type Resolve, type TargetRules } from '#src/webhooks/index.ts';
import { boxOfEarlierStore } from '../../cli/store/earlier-store.ts';
import {
  type Answer,
  clientOf,
  type Inside,
  type Json,
  startOrdering,
  type TestRestaurant,
} from '../../support/ordering.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';
import { draftOf } from './event-draft.ts';
import { type Killable, spawnWorker } from './spawn-worker.ts';
import { allRights, testSettings } from './test-settings.ts';

export { clientOf } from '../../support/ordering.ts';

const anywhere: TargetRules = { allowPrivate: true, allowedOrigins: [] };

export type ApiOptions = { rules?: TargetRules; resolve?: Resolve; attemptTimeoutMs?: number };

export type WebhookApi = Awaited<ReturnType<typeof startWebhookApi>>;

/** An API key of a restaurant: sees all of it, may change no endpoint. */
export const keyOf = (restuid: string, change: Partial<AssertedCaller> = {}): AssertedCaller =>
  clientOf([restuid], {
    kind: 'api_key',
    id: `opk_${restuid}`,
    scopes: clientOf([restuid]).scopes.filter((scope) => !/^write:(orders|menu|webhooks)$/.test(scope)),
    ...change,
  });

export const startWebhookApi = async (options: ApiOptions = {}) => {
  const settings = testSettings();
  const closers: (() => Promise<void>)[] = [];
  let inside: Inside | undefined;
  const core = await startOrdering({}, (given) => {
    inside = given;
    const api = createWebhookApi({
      ...given,
      settings,
      rules: anywhere,
      kindScopes,
      cursorKey: given.box.derive('cursor'),
      datesOf: restaurantDates,
      ...options,
    });
    closers.push(api.close);
    return api.operations;
  });
  if (inside === undefined) throw new Error('no core');
  const { db, clock, pool, box, log, url, masterKey } = inside;
  const { restaurant } = core;
  const post = (
    path: string,
    body: unknown,
    caller: AssertedCaller = restaurant.caller,
    headers = {},
  ): Promise<Answer> => core.call('POST', path, { body, caller, headers });
  const get = (
    path: string,
    query: Record<string, string | number> = {},
    caller: AssertedCaller = restaurant.caller,
  ): Promise<Answer> => core.call('GET', path, { query, caller });
  return {
    core,
    db,
    pool,
    clock,
    restuid: restaurant.restuid,
    caller: restaurant.caller,
    post,
    get,
    /** A receiver that is closed with the rest. */
    receiver: async (...behaviour: Parameters<typeof startReceiver>) => {
      const receiver = await startReceiver(...behaviour);
      closers.push(receiver.close);
      return receiver;
    },
    /** Creates an endpoint; returns it with its secret. */
    endpoint: async (url: string, more: Record<string, unknown> = {}, caller = restaurant.caller): Promise<Json> => {
      const { status, json, text } = await post('/webhook/create', { url, ...more }, caller);
      if (status !== 200) throw new Error(text);
      return { ...json.endpoint, secret: json.secret };
    },
    record: (draft: Partial<EventDraft> & { entity: string; seq: number }, of: TestRestaurant = restaurant) =>
      inTransaction(db, (tx) => recordEvent(tx, draftOf({ tenant: of.restuid, ...draft }, clock.now()))),
    /** The environment of commands on the same store, with the clock of the machine. */
    commandEnv: async (): Promise<Record<string, string>> => {
      await boxOfEarlierStore(db, masterKey);
      return {
        DATABASE_URL: url,
        ORDERPASS_MASTER_KEY: masterKey.toString('base64'),
        ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
      };
    },
    /** What the audit has of changes of webhooks, the oldest first. */
    auditDetails: async (): Promise<Json[]> => {
      const { rows } = await pool.query(
        `select details from gateway.audit_events where action = 'webhook.changed' order by seq`,
      );
      return rows.map(({ details }) => JSON.parse(details));
    },
    /** A worker of its own process, by the time of day: set the clock to it. */
    spawnWorker: (): Killable => {
      const worker = spawnWorker('deliver', url, masterKey.toString('base64'));
      closers.push(() => worker.kill());
      return worker;
    },
    startWorker: (): (() => Promise<void>) => {
      const abort = new AbortController();
      const { services } = createWebhooks({
        ...{ db, pool, box, clock, log, settings, rights: allRights, rules: anywhere },
        ...options,
      });
      const ended = supervise(services, abort.signal, log);
      const stop = async (): Promise<void> => {
        abort.abort();
        await ended;
      };
      closers.push(stop);
      return stop;
    },
    close: async (): Promise<void> => {
      for (const close of closers.splice(0).reverse()) await close();
      await core.close();
    },
  };
};
