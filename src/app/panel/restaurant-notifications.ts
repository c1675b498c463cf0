/** The port of the kinds of events that a restaurant records and sends. */
import { appendChange } from '#src/gateway/index.ts';
import type { NotificationPorts } from '#src/panel/index.ts';
import { enabledKinds, setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Installation } from '../installation/installation.ts';

export const createNotificationPorts = ({ store, box, clock }: Installation): NotificationPorts => ({
  read: async (restuid) => {
    const on = await enabledKinds(store.db, restuid);
    const isOn = (kind: string): boolean => on[kind] ?? false;
    return {
      customers: isOn('customers'),
      orders: isOn('orders'),
      loyaltylog: isOn('loyaltylog'),
      menu: isOn('menu'),
    };
  },
  set: (actor, restuid, kind, on) =>
    inTransaction(store.db, async (tx) => {
      await setKinds(tx, restuid, { [kind]: on });
      const details = JSON.stringify({ notifications: { [kind]: on } });
      await appendChange(tx, box, clock.now(), { action: 'tenant.changed', actor, tenants: [restuid], details });
    }),
});
