/** Events of changes: in the transaction of the change, so that neither exists without the other. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { completeEvent, type NewAuditEvent } from './audit-event.ts';
import { ensurePartition, insertEvents, lockChain, seenChains, updateHead } from './audit-store.ts';
import { appendToChain, changesChain, headLabel, signHead } from './chain.ts';
import { openChain } from './open-chain.ts';

/** `tx`: must be a transaction. Its head is signed with each event, so this chain has no unsigned end. */
export const appendChange = async (
  tx: Kysely<unknown>,
  box: Pick<SecretBox, 'derive'>,
  now: Date,
  ...events: readonly NewAuditEvent[]
): Promise<void> => {
  await ensurePartition(tx, now);
  const row = (await lockChain(tx, changesChain)) ?? (await openChain(tx, box, { now, process: 'changes' }));
  const complete = events.map((event) => completeEvent(event, now));
  const appended = appendToChain(row.chain, row, complete);
  await insertEvents(tx, appended.events);
  const head = { ...row, ...appended.end, signed: now, closed: false, seen: await seenChains(tx) };
  await updateHead(tx, head, signHead(box.derive(headLabel), head));
};
