/** Endpoints and deliveries of one tenant, as the panel shows them. No view holds a secret, sealed or not. */
import type { Kysely } from 'kysely';
import { findWatchedEndpoint, type WatchedEndpoint } from '../endpoints/endpoint-store.ts';
import { findRedelivery, type RedeliveryProgress } from '../redeliver/redelivery-store.ts';
import { findDelivery, type LoggedAttempt, type LoggedDelivery, listAttempts } from './delivery-log-store.ts';
import {
  type DeliverySearch,
  type FoundDeliveries,
  type HistorySpan,
  type HistoryStep,
  readDeliveryMark,
  readHistory,
  searchDeliveries,
} from './delivery-page-store.ts';
import { listEndpointPage } from './endpoint-page-store.ts';

export type ShownEndpoint = Omit<WatchedEndpoint, 'secret' | 'previousSecret' | 'cancelThrough'>;

export type ShownDelivery = LoggedDelivery & { body: string | null; attempts: LoggedAttempt[] };

export type WebhookViews = ReturnType<typeof createWebhookViews>;

export const createWebhookViews = ({ db }: { db: Kysely<unknown> }) => ({
  /** Newest first; `after`: the uid behind which the page begins. */
  listEndpoints: async (page: { tenant: string; after: string | undefined; limit: number }): Promise<ShownEndpoint[]> =>
    (await listEndpointPage(db, page)).map(shown),

  findEndpoint: async (tenant: string, uid: string): Promise<ShownEndpoint | undefined> => {
    const row = await findWatchedEndpoint(db, { tenant, client: undefined }, uid);
    return row && shown(row);
  },

  searchDeliveries: (search: DeliverySearch): Promise<FoundDeliveries> => searchDeliveries(db, search),

  findDelivery: async (tenant: string, uid: string): Promise<ShownDelivery | undefined> => {
    const row = await findDelivery(db, { tenant, client: undefined }, uid);
    return row && { ...row, attempts: await listAttempts(db, row.uid) };
  },

  findRedelivery: (tenant: string, uid: string): Promise<RedeliveryProgress | undefined> =>
    findRedelivery(db, { tenant, client: undefined }, uid),

  /** Changes when the newest deliveries or the health of an endpoint change. */
  deliveryMark: (tenant: string): Promise<string> => readDeliveryMark(db, tenant),

  history: (span: HistorySpan): Promise<HistoryStep[]> => readHistory(db, span),
});

const shown = ({
  secret: _secret,
  previousSecret: _previous,
  cancelThrough: _cancel,
  ...row
}: WatchedEndpoint): ShownEndpoint => row;
