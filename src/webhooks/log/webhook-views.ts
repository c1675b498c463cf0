/** Endpoints and deliveries of one tenant, and of one client, as the panel shows them. No view holds a secret, sealed or not. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { type Page, pageOf, readPlace, writePlace } from '#src/platform/db/age-pages.ts';
import { certificateEnds } from '../auth/endpoint-auth.ts';
import { findWatchedEndpoint, type WatchedEndpoint } from '../endpoints/endpoint-store.ts';
import { createFindRedelivery } from '../redeliver/find-redelivery.ts';
import { type RedeliveryProgress, redeliveryStateOf } from '../redeliver/redelivery-store.ts';
import { findDelivery, type LoggedAttempt, type LoggedDelivery, listAttempts } from './delivery-log-store.ts';
import {
  countDeliveries,
  type DeliverySearch,
  type FoundDelivery,
  readClientMark,
  readDeliveryMark,
  searchDeliveries,
  type TabCounts,
} from './delivery-page-store.ts';
import { findEndpointOfClient, listEndpointPage, listEndpointsOfClient } from './endpoint-page-store.ts';
import {
  type AttemptStep,
  type HistoryStep,
  historyStepMax,
  readAttemptHistory,
  readHistory,
} from './history-store.ts';
import { type NextTry, nextTryOf, nextTryOfEndpoint } from './next-try.ts';

/** `nextTry`: undefined when no attempt follows. `previousSecretExpires`: null when no overlap runs. */
type ShownEndpoint = Omit<
  WatchedEndpoint,
  'secret' | 'previousSecret' | 'auth' | 'cancelThrough' | 'nextAttempt' | 'heldUntil'
> & { nextTry: NextTry | undefined; certificateEnds: ReturnType<typeof certificateEnds> };

type ShownDelivery = Omit<LoggedDelivery, 'nextAttemptAt' | 'heldUntil' | 'isGivenUp'> & {
  nextTry: NextTry | undefined;
};

/** `lastAttempt`: null before the first one. */
type ListedDelivery = ShownDelivery & Pick<FoundDelivery, 'lastAttempt'>;

/** A filter of the log. */
type Filter = Omit<DeliverySearch, 'tenant' | 'after' | 'limit'>;

/** What a filter shows, for sending it again: undefined when these are more than `max`, or too many to look through. */
type Resendable = { endpointUid: string; eventIds: readonly string[] }[] | undefined;

/** `body`: the payload, byte for byte; null when it is no longer kept. */
type WholeDelivery = ShownDelivery & { body: string | null; attempts: LoggedAttempt[] };

/** `isPart`: there are more deliveries; only the newest are counted. */
type ShownStep = HistoryStep & AttemptStep & { isPart: boolean };

/** `counts`: the deliveries by state. */
type ShownRedelivery = Pick<RedeliveryProgress, 'queued' | 'counts'> & { state: ReturnType<typeof redeliveryStateOf> };

type ViewDeps = { db: Kysely<unknown>; clock: Clock };

/** What a client made itself, for every tenant. The caller checks which tenants the client may reach now. */
export const createClientWebhookViews = ({ db, clock }: ViewDeps) => ({
  /** Newest first; `after`: the uid behind which the page begins. */
  listEndpoints: async (
    clientId: string,
    { after, limit }: { after: string | undefined; limit: number },
  ): Promise<Page<ShownEndpoint>> => {
    const rows = await listEndpointsOfClient(db, { clientId, after, limit: limit + 1 });
    const now = clock.now();
    return pageOf(
      rows.map((row) => showEndpoint(row, now)),
      limit,
      ({ uid }) => uid,
    );
  },

  findEndpoint: async (clientId: string, uid: string): Promise<ShownEndpoint | undefined> => {
    const row = await findEndpointOfClient(db, clientId, uid);
    return row && showEndpoint(row, clock.now());
  },

  /** Changes when one of the newest deliveries or the health of one of the newest endpoints changes. */
  deliveryMark: (clientId: string): Promise<string> => readClientMark(db, clientId),

  /** Without the payload. */
  findDelivery: async (
    clientId: string,
    tenant: string,
    uid: string,
  ): Promise<(ShownDelivery & { attempts: LoggedAttempt[] }) | undefined> => {
    const row = await findDelivery(db, { tenant, client: clientId }, uid);
    if (row === undefined) return undefined;
    const { body: _body, ...delivery } = row;
    return { ...showDelivery(delivery, clock.now()), attempts: await listAttempts(db, row.uid) };
  },
});

export const createWebhookViews = ({ db, clock }: ViewDeps, findRedelivery = createFindRedelivery()) => ({
  /** Newest first; `after`: the uid behind which the page begins. */
  listEndpoints: async (
    tenant: string,
    { after, limit }: { after: string | undefined; limit: number },
  ): Promise<Page<ShownEndpoint>> => {
    const rows = await listEndpointPage(db, { tenant, after, limit: limit + 1 });
    const now = clock.now();
    return pageOf(
      rows.map((row) => showEndpoint(row, now)),
      limit,
      ({ uid }) => uid,
    );
  },

  findEndpoint: async (tenant: string, uid: string): Promise<ShownEndpoint | undefined> => {
    const row = await findWatchedEndpoint(db, { tenant, client: undefined }, uid);
    return row && showEndpoint(row, clock.now());
  },

  /**
   * Newest first. A page with fewer than `limit` items and a `next` cursor means that the search was cut off; more may
   * follow.
   */
  searchDeliveries: async (
    tenant: string,
    { after, limit, ...search }: Omit<DeliverySearch, 'tenant' | 'after'> & { after: string | undefined },
  ): Promise<Page<ListedDelivery>> => {
    const { rows, lookedTo } = await searchDeliveries(db, {
      ...search,
      tenant,
      after: readPlace(after),
      limit: limit + 1,
    });
    const now = clock.now();
    const found = pageOf(
      rows.map((row) => ({ ...showDelivery(row, now), lastAttempt: row.lastAttempt })),
      limit,
      ({ created, uid }) => writePlace({ created, id: uid }),
    );
    return lookedTo === undefined ? found : { ...found, next: writePlace(lookedTo) };
  },

  /** Deliveries of each tab of the log; the state of the filter does not count. */
  countDeliveries: (tenant: string, filter: Filter): Promise<TabCounts> =>
    countDeliveries(db, { ...filter, tenant, after: undefined, limit: 1 }),

  /** The events of all deliveries that the filter shows, each once for an endpoint. */
  findResendable: (tenant: string, filter: Filter, max: number): Promise<Resendable> =>
    findResendable(db, { ...filter, tenant, after: undefined, limit: max + 1 }, max),

  findDelivery: async (tenant: string, uid: string): Promise<WholeDelivery | undefined> => {
    const row = await findDelivery(db, { tenant, client: undefined }, uid);
    if (row === undefined) return undefined;
    return { ...showDelivery(row, clock.now()), body: row.body, attempts: await listAttempts(db, row.uid) };
  },

  findRedelivery: async (tenant: string, uid: string): Promise<ShownRedelivery | undefined> => {
    const found = await findRedelivery(db, { tenant, client: undefined }, uid, clock.now());
    return found && { state: redeliveryStateOf(found), queued: found.queued, counts: found.counts };
  },

  /** Changes when the newest deliveries or the health of an endpoint change. */
  deliveryMark: (tenant: string): Promise<string> => readDeliveryMark(db, tenant),

  /** The results of the deliveries and of the attempts in each of the last `steps` spans of `stepMs`, the oldest first. */
  history: (tenant: string, endpointUid: string, span: { stepMs: number; steps: number }): Promise<ShownStep[]> =>
    historyOf(db, clock.now(), { tenant, endpointUid, ...span }),
});

const historyOf = async (
  db: Kysely<unknown>,
  now: Date,
  { stepMs, steps, ...of }: { tenant: string; endpointUid: string; stepMs: number; steps: number },
): Promise<ShownStep[]> => {
  // Aligned to whole steps, so that a step counts the same deliveries each time it is shown.
  const from = new Date((Math.floor(now.getTime() / stepMs) - steps + 1) * stepMs);
  const span = { ...of, from, stepMs, steps };
  const attempts = await readAttemptHistory(db, span);
  return (await readHistory(db, span)).map((step, index) => ({
    ...step,
    ...(attempts[index] ?? { succeededAttempts: 0, failedAttempts: 0 }),
    isPart: step.atOnce + step.later + step.failed + step.cancelled + step.retrying + step.open >= historyStepMax,
  }));
};

const findResendable = async (db: Kysely<unknown>, search: DeliverySearch, max: number): Promise<Resendable> => {
  const { rows, lookedTo } = await searchDeliveries(db, search);
  if (rows.length > max || lookedTo !== undefined) return undefined;
  const events = new Map<string, Set<string>>();
  for (const { endpointUid, eventId } of rows)
    events.set(endpointUid, (events.get(endpointUid) ?? new Set()).add(eventId));
  return [...events].map(([endpointUid, ids]) => ({ endpointUid, eventIds: [...ids] }));
};

const showEndpoint = (
  {
    secret: _secret,
    previousSecret: _previous,
    auth: _auth,
    cancelThrough: _cancel,
    nextAttempt,
    heldUntil,
    ...row
  }: WatchedEndpoint,
  now: Date,
): ShownEndpoint => {
  const expires = row.previousSecretExpires;
  return {
    ...row,
    nextTry: nextTryOfEndpoint({ nextAttempt, heldUntil }, now),
    certificateEnds: certificateEnds(row.authShown?.expires, now),
    previousSecretExpires: expires !== null && expires > now ? expires : null,
  };
};

const showDelivery = (row: LoggedDelivery, now: Date): ShownDelivery => {
  const { nextAttemptAt: _next, heldUntil: _held, isGivenUp: _ended, ...delivery } = row;
  return { ...delivery, nextTry: nextTryOf(row, now) };
};
