/** Events of an endpoint for a developer's machine: those that are recorded from now on, and the last that it was sent. */
import { createForwarding } from '#src/webhooks/index.ts';
import type { Settings } from './config.ts';
import type { Installation } from './installation.ts';
import type { WebhookAdmin } from './webhook-admin.ts';

export type ForwardedEvent = { id: string; event: string; body: string };

export type ForwardEvents = ReturnType<typeof createForwardEvents>;

const pageMax = 100;

type Delivery = { uid: string; event_id: string; event: string };

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
    /** The last `count` events that deliveries were made of, each once, oldest first. Throws NOT_FOUND. */
    latest: async (endpointUid: string, count: number): Promise<ForwardedEvent[]> => {
      const { tenant } = await forward.endpoint(endpointUid);
      const found = new Map<string, Delivery>();
      for (let page = 1; found.size < count; page += 1) {
        const params = { endpoint_uid: endpointUid, page, pagesize: pageMax };
        const { deliveries, more } = await call(tenant, '/webhook/deliveries', params);
        // An event that was delivered again has several, the newest first.
        for (const one of deliveries as Delivery[])
          if (found.size < count && !found.has(one.event_id)) found.set(one.event_id, one);
        if (more !== true) break;
      }
      const events: ForwardedEvent[] = [];
      for (const { uid, event_id: id, event } of [...found.values()].reverse()) {
        const { delivery } = await call(tenant, '/webhook/delivery', { uid });
        events.push({ id, event, body: String((delivery as { body: string }).body) });
      }
      return events;
    },
    close,
  };
};
