/** Records that a chain was changed: as an event in the chain of changes, and among the external heads. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { hasEvent } from './chain-store.ts';
import { ensurePartition } from './event-store.ts';
import { externalHeadsOf } from './external-heads.ts';
import { extendChanges, lockChanges, problemEvent } from './open-chain.ts';
import type { AuditProblem } from './problem.ts';

export type ProblemAction = 'audit.broken' | 'audit.rolled_back';

/** Records each problem once. `tx`: a transaction. */
export const recordProblem = async (
  tx: Kysely<unknown>,
  box: Pick<SecretBox, 'derive'>,
  now: Date,
  problem: AuditProblem,
  action: ProblemAction = 'audit.broken',
): Promise<void> => {
  externalHeadsOf(box)?.addProblem(problem);
  await ensurePartition(tx, now);
  const row = await lockChanges(tx, box, now);
  const event = problemEvent({ problem, action });
  if (await hasEvent(tx, action, event.details ?? '')) return;
  await extendChanges(tx, box, row, now, [event]);
};
