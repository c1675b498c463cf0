/**
 * Events of an endpoint for a developer's machine: those that are recorded from now on, and the last that it was sent. They
 * are read through the operations of the interface, here or at a server elsewhere (remote-events.ts).
 */
import { isTransient } from '#src/platform/db/transaction.ts';
import { createForwarding, type Forwarded } from '#src/webhooks/index.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import type { WebhookAdmin } from './webhook-admin.ts';

export type ForwardedEvent = { id: string; event: string; body: string };

export type ForwardEvents = {
  /** What the developer must know before the first event; undefined: nothing. */
  note: string | undefined;
  /**
   * Each call of what it returns gives what was recorded since the one before, at most 100 events, oldest first: every event
   * of the endpoint's kinds once, from this moment on. Throws NOT_FOUND.
   */
  follow(endpointUid: string): Promise<() => Promise<ForwardedEvent[]>>;
  /** The last `count` events of those that deliveries were made of, each once, oldest first. Throws NOT_FOUND. */
  latest(endpointUid: string, count: number): Promise<ForwardedEvent[]>;
  send(endpointUid: string, event: { id: string; body: string }, url: string, signal: AbortSignal): Promise<Forwarded>;
  /** After how many milliseconds the same may succeed; undefined: it will not. */
  retryMs(error: unknown): number | undefined;
  close(): Promise<void>;
};

/** The operations of the interface that forwarding reads: their parameters, and what it needs of their answers. */
export type EventReader = {
  listEvents(params: {
    since: string;
    kinds: string;
    after: string | undefined;
    pagesize: number;
  }): Promise<{ events: ForwardedEvent[]; next_cursor: string }>;
  listDeliveries(params: {
    endpoint_uid: string;
    page: number;
    pagesize: number;
  }): Promise<{ deliveries: Delivery[]; more: boolean }>;
  /** `body`: null when the caller may not read the kind of the event. */
  readDelivery(params: { uid: string }): Promise<{ delivery: { body: string | null } }>;
};

/** The store may be away for a moment, when it is started again. */
const troubleMs = 1_000;

const pageMax = 100;

/** Deliveries are made up to 200 at a time and those have no sequence among them; redeliveries bring older events again. */
const pagesMin = 3;
const pagesMax = 30;

type Delivery = { uid: string; event_id: string; event: string; seq: number };

/** Nine characters of time; events of one entity recorded in the same moment differ by their seq. */
const timeOf = ({ event_id: id }: Delivery): string => id.slice(0, 'evt_'.length + 9);

const byAge = (left: Delivery, right: Delivery): number =>
  timeOf(left) === timeOf(right) ? left.seq - right.seq : timeOf(left) < timeOf(right) ? -1 : 1;

export const followEvents = (
  reader: EventReader,
  kinds: readonly string[],
  from: Date,
): (() => Promise<ForwardedEvent[]>) => {
  // Named on every page: at the end of an empty feed a cursor alone would stand at its beginning.
  const since = from.toISOString();
  let after: string | undefined;
  return async () => {
    const page = await reader.listEvents({ since, kinds: kinds.join(','), after, pagesize: pageMax });
    after = page.next_cursor;
    return page.events;
  };
};

export const latestEvents = async (
  reader: EventReader,
  endpointUid: string,
  count: number,
): Promise<ForwardedEvent[]> => {
  const found = new Map<string, Delivery>();
  for (let page = 1; page <= pagesMax && (page <= pagesMin || found.size < count); page += 1) {
    const params = { endpoint_uid: endpointUid, page, pagesize: pageMax };
    const { deliveries, more } = await reader.listDeliveries(params);
    for (const one of deliveries) found.set(one.event_id, one);
    if (!more) break;
  }
  const latest = [...found.values()].sort(byAge).slice(-count);
  const events: ForwardedEvent[] = [];
  for (const { uid, event_id: id, event } of latest) {
    const { body } = (await reader.readDelivery({ uid })).delivery;
    if (body !== null) events.push({ id, event, body });
  }
  return events;
};

export const createForwardEvents = (
  { store, box, clock }: Installation,
  { webhooks: settings }: Settings,
  webhooks: Pick<WebhookAdmin, keyof EventReader>,
): ForwardEvents => {
  const { forward, close } = createForwarding({ db: store.db, box, clock, settings });
  const readerOf = (tenant: string): EventReader => ({
    listEvents: (params) => webhooks.listEvents(tenant, params),
    listDeliveries: (params) => webhooks.listDeliveries(tenant, params),
    readDelivery: (params) => webhooks.readDelivery(tenant, params),
  });
  return {
    note: undefined,
    send: forward.send,
    follow: async (endpointUid) => {
      const { tenant, kinds } = await forward.endpoint(endpointUid);
      return followEvents(readerOf(tenant), kinds, clock.now());
    },
    latest: async (endpointUid, count) => {
      const { tenant } = await forward.endpoint(endpointUid);
      return latestEvents(readerOf(tenant), endpointUid, count);
    },
    retryMs: (error) => (isTransient(error) ? troubleMs : undefined),
    close,
  };
};
