/** Notes for good that a chain is not as it was written: in the chain of changes, and outside of the database. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { hasEvent } from './chain-store.ts';
import { ensurePartition } from './event-store.ts';
import { witnessOf } from './external-heads.ts';
import { brokenEvent, extendChanges, lockChanges } from './open-chain.ts';
import type { AuditProblem } from './problem.ts';

export type BrokenAction = 'audit.broken' | 'audit.rolled_back';

/** Once for each problem. `tx`: a transaction. */
export const recordBroken = async (
  tx: Kysely<unknown>,
  box: Pick<SecretBox, 'derive'>,
  now: Date,
  problem: AuditProblem,
  action: BrokenAction = 'audit.broken',
): Promise<void> => {
  witnessOf(box)?.addProblem(problem);
  await ensurePartition(tx, now);
  const row = await lockChanges(tx, box, now);
  const event = brokenEvent({ problem, action });
  if (await hasEvent(tx, action, event.details ?? '')) return;
  await extendChanges(tx, box, row, now, [event]);
};
