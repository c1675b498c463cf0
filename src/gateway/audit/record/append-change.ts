/** Events of changes: in the transaction of the change, so that neither exists without the other. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { ensurePartition } from '../chain/event-store.ts';
import { extendChanges, lockChanges } from '../chain/open-chain.ts';
import type { NewAuditEvent } from '../event/event.ts';

/** `tx`: must be a transaction. What is extended is verified first (open-chain.ts). */
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
