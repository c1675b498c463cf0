/** Events as the tests record them, in this process or in one that they kill. */
import type { EventDraft } from '#src/platform/db/outbox/outbox.ts';

export const tenant = 'rst_test';

export const draftOf = (draft: Partial<EventDraft> & { entity: string; seq: number }, now: Date): EventDraft => ({
  tenant,
  kind: 'customers',
  event: 'customer.changed',
  created: now,
  object: 'customer',
  value: () => ({ uid: draft.entity }),
  trailing: { change: 'updated', changed_fields: ['phone'] },
  ...draft,
});
