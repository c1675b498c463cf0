/**
 * Counts what each caller called by hour and route, in memory: a request pays two look-ups in Maps. Counts wait while the
 * store cannot be reached. A process that is killed loses those of the last seconds.
 */
import { hourMs } from '#src/platform/clock.ts';
import type { HourCount } from './hour-store.ts';
import type { Outcome } from './request-entry.ts';

export type HourCounts = {
  /** False: there is no room for a further caller or route until the next write. `route`: '' for none. */
  count(caller: string, route: string, outcome: Outcome, nowMs: number): boolean;
  /** Everything that was counted since the last call. */
  take(): HourCount[];
  /** Counts that could not be written: they go with the next write. */
  keep(counts: readonly HourCount[]): void;
};

/** Callers with routes and hours that wait for a write. */
const entriesMax = 100_000;

export const createHourCounts = (): HourCounts => {
  let byCaller = new Map<string, Map<string, HourCount>>();
  /** Of hours that are over, and of writes that failed. */
  let earlier: HourCount[] = [];
  let entries = 0;
  let hourStartsMs = 0;

  const openHour = (nowMs: number): void => {
    if (nowMs >= hourStartsMs && nowMs < hourStartsMs + hourMs) return;
    for (const routes of byCaller.values()) earlier.push(...routes.values());
    byCaller = new Map();
    hourStartsMs = Math.floor(nowMs / hourMs) * hourMs;
  };

  const add = (caller: string, route: string, routes: Map<string, HourCount> | undefined): HourCount | undefined => {
    if (entries >= entriesMax) return undefined;
    entries += 1;
    const made = { caller, hour: new Date(hourStartsMs), route, reads: 0, writes: 0, refused: 0, failed: 0 };
    if (routes === undefined) byCaller.set(caller, new Map([[route, made]]));
    else routes.set(route, made);
    return made;
  };

  return {
    count: (caller, route, outcome, nowMs) => {
      openHour(nowMs);
      const routes = byCaller.get(caller);
      const entry = routes?.get(route) ?? add(caller, route, routes);
      if (entry === undefined) return false;
      entry[outcome] += 1;
      return true;
    },
    take: () => {
      const all = earlier;
      for (const routes of byCaller.values()) all.push(...routes.values());
      earlier = [];
      byCaller = new Map();
      entries = 0;
      return merge(all);
    },
    keep: (counts) => {
      earlier.push(...counts);
      entries += counts.length;
    },
  };
};

/** One entry for each caller, hour and route, as one statement needs them. */
const merge = (counts: readonly HourCount[]): HourCount[] => {
  const merged = new Map<string, HourCount>();
  for (const count of counts) {
    const key = `${count.caller} ${count.hour.getTime()} ${count.route}`;
    const known = merged.get(key);
    if (known === undefined) {
      merged.set(key, count);
      continue;
    }
    known.reads += count.reads;
    known.writes += count.writes;
    known.refused += count.refused;
    known.failed += count.failed;
  }
  return [...merged.values()];
};
