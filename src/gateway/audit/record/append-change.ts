/** Appends the event of a change in the transaction of the change, so that both commit or neither does. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { ensurePartition } from '../chain/event-store.ts';
import { extendChanges, lockChanges } from '../chain/open-chain.ts';
import type { NewAuditEvent } from '../event/event.ts';

/** `tx`: must be a transaction. The chain is checked before it is extended (open-chain.ts). */
export const appendChange = async (
  tx: Kysely<unknown>,
  box: Pick<SecretBox, 'derive'>,
  now: Date,
  ...events: readonly NewAuditEvent[]
): Promise<void> => {
  await ensurePartition(tx, now);
  const row = await lockChanges(tx, box, now);
  await extendChanges(tx, box, row, now, events);
};
