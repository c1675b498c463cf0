/** What the audit says of the last hours, for notices. Counts and the audit's own problems are read without an event. */
import { type Kysely, sql } from 'kysely';
import { sumHours } from './hours-store.ts';

const hourMs = 3_600_000;
const hoursBefore = 24;

/** `usual`: average of the 24 hours before. */
export type RefusedHour = { hour: Date; refused: number; usual: number };

/** Refused requests and tokens of this hour and of the hour before. */
export const readRefusedHours = async (db: Kysely<unknown>, now: Date): Promise<RefusedHour[]> => {
  const current = Math.floor(now.getTime() / hourMs) * hourMs;
  const buckets = hoursBefore + 2;
  const from = new Date(current - (buckets - 1) * hourMs);
  const counts = new Array<number>(buckets).fill(0);
  for (const { what, bucket, count } of await sumHours(db, { from, bucketSeconds: hourMs / 1000, buckets }, undefined))
    if (what === 'refused') counts[bucket] = (counts[bucket] ?? 0) + Number(count);
  return [buckets - 2, buckets - 1].map((bucket) => {
    const before = counts.slice(bucket - hoursBefore, bucket).reduce((sum, count) => sum + count, 0);
    return {
      hour: new Date(from.getTime() + bucket * hourMs),
      refused: counts[bucket] ?? 0,
      usual: Math.round(before / hoursBefore),
    };
  });
};

export type AuditAlarm = { id: string; action: 'audit.broken' | 'audit.rolled_back'; at: Date };

/** The newest first. */
export const listAuditAlarms = async (
  db: Kysely<unknown>,
  since: Date,
  { limit, skip }: { limit: number; skip: number },
): Promise<AuditAlarm[]> => {
  const { rows } = await sql<AuditAlarm>`
    select concat(chain, '-', seq) as id, action, at from gateway.audit_events
    where action in ('audit.broken', 'audit.rolled_back') and at > ${since}
    order by at desc, chain, seq limit ${limit} offset ${skip}`.execute(db);
  return rows;
};
