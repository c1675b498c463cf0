/**
 * Keeps the audit as long as it should be kept, a month at a time: a partition is dropped as a whole when its last day is
 * older than the retention. What each chain begins with afterwards is signed in the same transaction, so that what is
 * dropped is not mistaken for what was cut out. Makes the partition of the next month ahead.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { appendChange } from './append-change.ts';
import {
  dropPartition,
  ensurePartition,
  lastOfPartition,
  listPartitions,
  lockChain,
  updateAnchor,
} from './audit-store.ts';
import { changesChain, headLabel, signAnchor } from './chain.ts';

export type RetainAuditDeps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'>; clock: Clock };

const dayMs = 86_400_000;
const everyMs = 60 * 60_000;

/** Names of the partitions that were dropped, oldest first. */
export const dropOldAudit = async (deps: RetainAuditDeps, daysMax: number): Promise<string[]> => {
  const cut = deps.clock.now().getTime() - daysMax * dayMs;
  const dropped: string[] = [];
  for (const { name, endsAt } of await listPartitions(deps.db)) {
    if (endsAt.getTime() > cut) break;
    if (await dropOne(deps, name)) dropped.push(name);
  }
  return dropped;
};

/** False when another gateway was first. */
const dropOne = ({ db, box, clock }: RetainAuditDeps, name: string): Promise<boolean> =>
  inTransaction(db, async (tx) => {
    // The chain of changes is locked first, and with it every other gateway that wants to do the same.
    await lockChain(tx, changesChain);
    if (!(await listPartitions(tx)).some((partition) => partition.name === name)) return false;
    await appendChange(tx, box, clock.now(), {
      action: 'audit.dropped',
      actor: 'system',
      details: JSON.stringify({ name }),
    });
    const key = box.derive(headLabel);
    for (const { chain, seq, hash } of await lastOfPartition(tx, name)) {
      const row = await lockChain(tx, chain);
      if (row === undefined || row.anchorSeq >= seq) continue;
      await updateAnchor(tx, chain, { seq, hash }, signAnchor(key, chain, { seq, hash }));
    }
    await dropPartition(tx, name);
    return true;
  });

export const createAuditRetention = (deps: RetainAuditDeps & { log: Logger }, daysMax: number): Service => ({
  name: 'audit-retention',
  run: async (signal) => {
    while (!signal.aborted) {
      await ensurePartition(deps.db, nextMonth(deps.clock.now()));
      const dropped = await dropOldAudit(deps, daysMax);
      if (dropped.length > 0) deps.log.info({ partitions: dropped }, 'audit beyond the retention was dropped');
      await pause(everyMs, signal);
    }
  },
});

const nextMonth = (now: Date): Date => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 15));
