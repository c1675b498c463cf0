/**
 * Counts what each credential uses by the day, in memory, and writes the counts in one statement every few seconds: a request
 * pays one look-up in a Map. Counts wait while the store is unreachable. A write that was not confirmed is not repeated, so
 * no count is too high. A process that is stopped writes its counts; one that is killed loses those of the last seconds.
 * Quotas do not depend on them.
 */
import type { Kysely } from 'kysely';
import { type Clock, dayMs, hourMs } from '#src/platform/clock.ts';
import { sendOnce } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { deleteOldLeases } from './quota-store.ts';
import { addUsage, deleteOldUsage, type UsageCount } from './usage-store.ts';

export type UsageLog = {
  /** An accepted request with its units. */
  countRequest(callerId: string, units: number): void;
  /** A request that a limit refused. */
  countLimited(callerId: string): void;
  /** A call from an address that the list of the credential does not have. */
  countElsewhere(callerId: string, address: string): void;
  services: readonly Service[];
};

type UsageLogDeps = { db: Kysely<unknown>; clock: Clock; log: Logger };

const flushMs = 5_000;
const batchMax = 5_000;
/** Entries that wait for a write. Further callers are counted with a call after the next one. */
const entriesMax = 100_000;

export const usageStoredDays = 400;
/** A month has at most 31 days; the lease of a month begins with it. */
const leasesStoredDays = 70;
const expireEveryMs = hourMs;
const expiredBatchMax = 10_000;

export const createUsageLog = ({ db, clock, log }: UsageLogDeps): UsageLog => {
  let counted = new Map<string, UsageCount>();
  /** Counts of days that are over, until they are written. */
  let earlier: UsageCount[] = [];
  let dayStartsMs = 0;

  const openDay = (nowMs: number): void => {
    if (nowMs >= dayStartsMs && nowMs < dayStartsMs + dayMs) return;
    earlier.push(...counted.values());
    counted = new Map();
    dayStartsMs = Math.floor(nowMs / dayMs) * dayMs;
  };

  const entryOf = (caller: string): UsageCount | undefined => {
    openDay(clock.now().getTime());
    const known = counted.get(caller);
    if (known !== undefined || counted.size + earlier.length >= entriesMax) return known;
    const day = new Date(dayStartsMs);
    const made = { caller, day, ...noCounts };
    counted.set(caller, made);
    return made;
  };

  const flush = async (): Promise<void> => {
    // One row of a statement stands for one caller and day.
    const rows = mergeCounts(earlier, [...counted.values()]);
    earlier = [];
    counted = new Map();
    for (let i = 0; i < rows.length; i += batchMax) {
      try {
        const batch = rows.slice(i, i + batchMax);
        if (!(await sendOnce(db, (connection) => addUsage(connection, batch))))
          log.warn(
            { callers: batch.length },
            'the connection ended before the store confirmed what credentials used; it is not written again',
          );
      } catch (error) {
        log.warn({ err: error, callers: rows.length - i }, 'cannot write what credentials used; trying again');
        earlier = [...rows.slice(i), ...earlier];
        return;
      }
    }
  };

  const writer: Service = {
    name: 'usage-writer',
    run: async (signal) => {
      while (!signal.aborted) {
        await pause(flushMs, signal);
        await flush();
      }
    },
  };

  return {
    countRequest: (callerId, units) => {
      const entry = entryOf(callerId);
      if (entry === undefined) return;
      entry.requests += 1;
      entry.units += units;
    },
    countLimited: (callerId) => {
      const entry = entryOf(callerId);
      if (entry !== undefined) entry.limited += 1;
    },
    countElsewhere: (callerId, address) => {
      const entry = entryOf(callerId);
      if (entry === undefined) return;
      entry.elsewhere += 1;
      entry.elsewhereLast = clock.now();
      entry.elsewhereAddress = address;
    },
    services: [writer, createExpiry(db, clock)],
  };
};

const noCounts = {
  requests: 0,
  units: 0,
  limited: 0,
  elsewhere: 0,
  elsewhereLast: null,
  elsewhereAddress: null,
} as const satisfies Omit<UsageCount, 'caller' | 'day'>;

/** One entry per caller and day. `later`: counted after `before`. */
const mergeCounts = (before: readonly UsageCount[], later: readonly UsageCount[]): UsageCount[] => {
  const merged = new Map<string, UsageCount>();
  for (const count of [...before, ...later]) {
    const key = `${count.caller} ${count.day.getTime()}`;
    const known = merged.get(key);
    if (known === undefined) {
      merged.set(key, count);
      continue;
    }
    known.requests += count.requests;
    known.units += count.units;
    known.limited += count.limited;
    known.elsewhere += count.elsewhere;
    known.elsewhereLast = count.elsewhereLast ?? known.elsewhereLast;
    known.elsewhereAddress = count.elsewhereAddress ?? known.elsewhereAddress;
  }
  return [...merged.values()];
};

const createExpiry = (db: Kysely<unknown>, clock: Clock): Service => ({
  name: 'usage-expiry',
  run: async (signal) => {
    while (!signal.aborted) {
      const nowMs = clock.now().getTime();
      const before = new Date(nowMs - usageStoredDays * dayMs);
      while (!signal.aborted && (await deleteOldUsage(db, before, expiredBatchMax)) === expiredBatchMax);
      const leasesBefore = new Date(nowMs - leasesStoredDays * dayMs);
      while (!signal.aborted && (await deleteOldLeases(db, leasesBefore, expiredBatchMax)) === expiredBatchMax);
      await pause(expireEveryMs, signal);
    }
  },
});
