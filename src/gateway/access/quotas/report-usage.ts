/** What callers used against their quotas, from counts by the day. No audit event is read. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import { type CallerLimits, findCallerLimits } from '../../credentials/state/limit-store.ts';
import type { OwnLimits } from '../../model/own-limits.ts';
import { spanOf } from './quota-span.ts';
import { usageStoredDays } from './usage-log.ts';
import { findElsewhere, listTopCallers, listUsageDays, sumUnits, type UsageCount } from './usage-store.ts';

type Deps = { db: Kysely<unknown>; clock: Clock };

/** `requests`: accepted ones. `limited`: refused by a limit. `elsewhere`: from an address outside the caller's list. */
type UsedDay = { day: Date } & Counts;

type Counts = { requests: number; units: number; limited: number; elsewhere: number };

/** The last call from an address outside the list of the caller, and the number of such calls in the last 30 days. */
export type Elsewhere = { calls: number; last: Date; address: string };

export type CallerUsage = {
  caller: string;
  kind: 'client' | 'key';
  name: string;
  limits: OwnLimits;
  /** Units of the running day and month (UTC). */
  dayUnits: number;
  monthUnits: number;
  /** All days of the period, oldest first; the last one is today. */
  days: readonly UsedDay[];
  elsewhere: Elsewhere | null;
};

export type UsageRow = Omit<CallerUsage, 'days' | 'elsewhere'> & Counts;

const elsewhereDays = 30;

const startsOf = (clock: Clock, days: number): { since: Date; day: Date; month: Date } => {
  if (!Number.isInteger(days) || days < 1 || days > usageStoredDays)
    throw new Fault('VALIDATION_ERROR', `Usage is kept for ${usageStoredDays} days; name 1 to ${usageStoredDays}`);
  const nowMs = clock.now().getTime();
  const dayStartsMs = spanOf('day', nowMs).startsMs;
  return {
    since: new Date(dayStartsMs - (days - 1) * dayMs),
    day: new Date(dayStartsMs),
    month: new Date(spanOf('month', nowMs).startsMs),
  };
};

/** `days`: 1 to 400, today included. NOT_FOUND: there is no such client or key. */
export const reportCallerUsage = async (
  { db, clock }: Deps,
  { kind, id, days }: { kind: 'client' | 'key'; id: string; days: number },
): Promise<CallerUsage> => {
  const starts = startsOf(clock, days);
  const [found] = await findCallerLimits(db, [id]);
  if (found?.kind !== kind) throw new Fault('NOT_FOUND', `There is no ${kind} ${id}`);
  const first = new Date(Math.min(starts.since.getTime(), starts.month.getTime()));
  const counted = await listUsageDays(db, id, first);
  const unitsFrom = (since: Date): number =>
    counted.reduce((sum, { day, units }) => (day >= since ? sum + units : sum), 0);
  return {
    ...shown(found),
    dayUnits: unitsFrom(starts.day),
    monthUnits: unitsFrom(starts.month),
    days: everyDay(counted, starts.since, days),
    elsewhere: await findLastElsewhere({ db, clock }, id),
  };
};

/** Undefined days have no row: nothing was used. */
const everyDay = (counted: readonly UsageCount[], since: Date, days: number): UsedDay[] => {
  const byDay = new Map(counted.map((row) => [row.day.getTime(), row]));
  return Array.from({ length: days }, (_, i) => {
    const day = new Date(since.getTime() + i * dayMs);
    const { requests = 0, units = 0, limited = 0, elsewhere = 0 } = byDay.get(day.getTime()) ?? {};
    return { day, requests, units, limited, elsewhere };
  });
};

export const findLastElsewhere = async ({ db, clock }: Deps, id: string): Promise<Elsewhere | null> =>
  (await findElsewhere(db, id, new Date(clock.now().getTime() - elsewhereDays * dayMs))) ?? null;

/** The callers with most units in the period, most first. `limit`: rows at most. */
export const reportUsage = async (
  { db, clock }: Deps,
  { days, limit }: { days: number; limit: number },
): Promise<UsageRow[]> => {
  const starts = startsOf(clock, days);
  const totals = await listTopCallers(db, starts.since, limit);
  const ids = totals.map(({ caller }) => caller);
  const known = new Map((await findCallerLimits(db, ids)).map((one) => [one.id, one]));
  const today = new Map((await sumUnits(db, ids, starts.day)).map(({ caller, units }) => [caller, units]));
  const month = new Map((await sumUnits(db, ids, starts.month)).map(({ caller, units }) => [caller, units]));
  return totals.flatMap(({ caller, ...counts }) => {
    const found = known.get(caller);
    if (found === undefined) return [];
    return [{ ...shown(found), dayUnits: today.get(caller) ?? 0, monthUnits: month.get(caller) ?? 0, ...counts }];
  });
};

const shown = ({ id, kind, name, limits }: CallerLimits) => ({ caller: id, kind, name, limits: limits ?? {} });
