/** The webhook engine on a database of its own, with a clock that a test moves and as many workers as it starts. */
import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { pino } from 'pino';
import type { Clock } from '#src/platform/clock.ts';
import { type EventDraft, recordEvent, setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { supervise } from '#src/platform/supervisor.ts';
import type { WebhooksSettings } from '#src/webhooks/config.ts';
import {
  createEndpoint,
  createWebhooks,
  type OwnerRights,
  type Resolve,
  type SignatureScheme,
  type TargetRules,
} from '#src/webhooks/index.ts';
import type { ThreadSigner } from '#src/webhooks/signing/thread-signer.ts';
import { createTestDatabase } from '../../support/database.ts';
import { draftOf, tenant } from './event-draft.ts';
import { allRights, testSettings } from './test-settings.ts';

export { draftOf, tenant } from './event-draft.ts';

export const kinds = ['customers', 'orders', 'loyaltylog', 'menu'];

export type DeliveryRow = {
  uid: string;
  event_id: string;
  entity: string;
  seq: number;
  state: string;
  attempts_count: number;
  next_attempt_at: Date | null;
};

export type AttemptRow = { number: number; status: number | null; failure: string | null; response: string | null };

export type WorkerOptions = {
  /** Default: that which `advance` moves. */
  clock?: Clock;
  rules?: TargetRules;
  /** Default: every owner may read everything. */
  rights?: OwnerRights;
  resolve?: Resolve;
  attemptTimeoutMs?: number;
  random?: () => number;
  lookEveryMs?: number;
  settings?: Partial<WebhooksSettings>;
  /** Default: a thread where there is a core for it. */
  signer?: ThreadSigner;
};

type Owner = { kind: 'panel' | 'api_client'; id: string };

export type Engine = Awaited<ReturnType<typeof startEngine>>;

const anywhere: TargetRules = { allowPrivate: true, allowedOrigins: [] };

export const startEngine = async () => {
  const database = await createTestDatabase();
  const { db, pool } = database;
  let skewMs = 0;
  const clock = { now: () => new Date(Date.now() + skewMs) };
  const masterKey = randomBytes(32);
  const box = createSecretBox(masterKey);
  const log = pino({ level: process.env.TEST_LOG ?? 'silent' });
  const workers = new Set<() => Promise<void>>();
  await inTransaction(db, (tx) =>
    setKinds(tx, tenant, { customers: true, orders: true, loyaltylog: true, menu: true }),
  );

  const startWorker = ({ settings: changed = {}, ...options }: WorkerOptions = {}): (() => Promise<void>) => {
    const abort = new AbortController();
    const settings = testSettings(changed);
    const { services } = createWebhooks({
      ...{ db, pool, box, clock, log, settings, rights: allRights, rules: anywhere },
      ...options,
    });
    const ended = supervise(services, abort.signal, log);
    const stop = async (): Promise<void> => {
      abort.abort();
      await ended;
      workers.delete(stop);
    };
    workers.add(stop);
    return stop;
  };

  return {
    db,
    pool,
    url: database.url,
    masterKey,
    box,
    clock,
    advance: (ms: number): void => {
      skewMs += ms;
    },
    startWorker,
    addEndpoint: (
      url: string,
      options: {
        kinds?: string[];
        secret?: string;
        rules?: TargetRules;
        resolve?: Resolve;
        owner?: Owner;
        signature?: SignatureScheme;
        v1a?: boolean;
      } = {},
    ) =>
      createEndpoint(
        {
          db,
          box,
          clock,
          kinds,
          rules: options.rules ?? anywhere,
          ...(options.resolve === undefined ? undefined : { resolve: options.resolve }),
        },
        {
          tenant,
          url,
          owner: options.owner ?? { kind: 'panel', id: 'test' },
          ...(options.kinds === undefined ? undefined : { kinds: options.kinds }),
          ...(options.secret === undefined ? undefined : { secret: options.secret }),
          ...(options.signature === undefined ? undefined : { signature: options.signature }),
          v1a: options.v1a,
        },
      ),
    record: (draft: Partial<EventDraft> & { entity: string; seq: number }) =>
      inTransaction(db, (tx) => recordEvent(tx, draftOf(draft, clock.now()))),
    deliveries: () => deliveriesOf(db),
    attempts: async (deliveryUid: string): Promise<AttemptRow[]> => {
      const { rows } = await sql<AttemptRow>`
        select number, status, failure, response from webhooks.attempts where delivery_uid = ${deliveryUid} order by number`.execute(
        db,
      );
      return rows;
    },
    close: async (): Promise<void> => {
      await Promise.all([...workers].map((stop) => stop()));
      await database.drop();
    },
  };
};

const deliveriesOf = async (db: Kysely<unknown>): Promise<DeliveryRow[]> => {
  const { rows } = await sql<DeliveryRow>`
    select uid, event_id, entity, seq, state, attempts_count, next_attempt_at from webhooks.deliveries order by position`.execute(
    db,
  );
  return rows;
};
