/** Events of an endpoint for a developer's machine: those that are recorded from now on, and the last that it was sent. */
import { createForwarding } from '#src/webhooks/index.ts';
import type { Settings } from './config.ts';
import type { Installation } from './installation.ts';
import type { WebhookAdmin } from './webhook-admin.ts';

export type ForwardedEvent = { id: string; event: string; body: string };

export type ForwardEvents = ReturnType<typeof createForwardEvents>;

const pageMax = 100;

/** Deliveries are made up to 200 at a time and those have no sequence among them; redeliveries bring older events again. */
const pagesMin = 3;
const pagesMax = 30;

type Delivery = { uid: string; event_id: string; event: string; seq: number };

/** Nine characters of time; events of one entity recorded in the same moment differ by their seq. */
const timeOf = ({ event_id: id }: Delivery): string => id.slice(0, 'evt_'.length + 9);

const byAge = (left: Delivery, right: Delivery): number =>
  timeOf(left) === timeOf(right) ? left.seq - right.seq : timeOf(left) < timeOf(right) ? -1 : 1;

export const createForwardEvents = (
  { store, box, clock }: Installation,
  { webhooks: settings }: Settings,
  call: WebhookAdmin['call'],
) => {
  const { forward, close } = createForwarding({ db: store.db, box, clock, settings });
  return {
    send: forward.send,
    /**
     * Each call returns what was recorded since the one before, at most 100 events, oldest first: every event of the
     * endpoint's kinds once, from this moment on. Throws NOT_FOUND.
     */
    follow: async (endpointUid: string): Promise<() => Promise<ForwardedEvent[]>> => {
      const { tenant, kinds } = await forward.endpoint(endpointUid);
      // Named on every page: at the end of an empty feed a cursor alone would stand at its beginning.
      const since = clock.now().toISOString();
      let after: string | undefined;
      return async () => {
        const page = await call(tenant, '/events/list', { since, kinds: kinds.join(','), after, pagesize: pageMax });
        after = String(page.next_cursor);
        return page.events as ForwardedEvent[];
      };
    },
    /** The last `count` events of those that deliveries were made of, each once, oldest first. Throws NOT_FOUND. */
    latest: async (endpointUid: string, count: number): Promise<ForwardedEvent[]> => {
      const { tenant } = await forward.endpoint(endpointUid);
      const found = new Map<string, Delivery>();
      for (let page = 1; page <= pagesMax && (page <= pagesMin || found.size < count); page += 1) {
        const params = { endpoint_uid: endpointUid, page, pagesize: pageMax };
        const { deliveries, more } = await call(tenant, '/webhook/deliveries', params);
        for (const one of deliveries as Delivery[]) found.set(one.event_id, one);
        if (more !== true) break;
      }
      const latest = [...found.values()].sort(byAge).slice(-count);
      const events: ForwardedEvent[] = [];
      for (const { uid, event_id: id, event } of latest) {
        const { delivery } = await call(tenant, '/webhook/delivery', { uid });
        events.push({ id, event, body: String((delivery as { body: string }).body) });
      }
      return events;
    },
    close,
  };
};
