/**
 * Keeps denials without delaying a request: they are queued in memory and written in batches, at most 200 ms later. The
 * queue is bounded, in total and per caller; denials beyond the bounds are dropped. No answer depends on it.
 */
import type { Kysely } from 'kysely';
import { type Clock, dayMs, hourMs } from '#src/platform/clock.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import type { NoteDenial } from '../answer/write-answer.ts';
import { type Denial, denialOf, type KeptDenial, shownTo } from './denial.ts';
import { type DenialRow, deleteDenials, findDenial, upsertDenials } from './denial-store.ts';
import { listPredecessors } from './requests/request-store.ts';

export type DenialLog = {
  note: NoteDenial;
  /**
   * The newest denial with that id of this caller, or of a key that it replaced; undefined when there is none. `tenants`: of a
   * caller that reads denials about these alone.
   */
  find(callerId: string, requestId: string, tenants?: readonly string[]): Promise<Denial | undefined>;
  services: Service[];
};

/** The newest denial with that id of one of the callers, as it is stored: a gateway writes it a moment after the refusal. Undefined after a week. */
export const readDenial = async (
  { db, clock }: Pick<DenialLogDeps, 'db' | 'clock'>,
  callers: readonly string[],
  requestId: string,
): Promise<Denial | undefined> => {
  const kept = await findKept({ db, clock }, callers, requestId);
  return kept && shownTo(kept, undefined);
};

const findKept = async (
  { db, clock }: Pick<DenialLogDeps, 'db' | 'clock'>,
  callers: readonly string[],
  requestId: string,
): Promise<KeptDenial | undefined> =>
  (await findDenial(db, callers, requestId, new Date(clock.now().getTime() - keptMs)))?.denial;

type DenialLogDeps = { db: Kysely<unknown>; clock: Clock; log: Logger };

const keptMs = 7 * dayMs;
const writeEveryMs = 150;
const batchMax = 500;
const queueMax = 10_000;
/** A caller that only fails could fill the disk in a week; the first thousands of an hour are enough to find the cause. */
const perCallerMax = 3_000;
const perCallerMs = hourMs;
const expireEveryMs = hourMs;

export const createDenialLog = ({ db, clock, log }: DenialLogDeps): DenialLog => {
  let queue = new Map<string, DenialRow>();
  /** Being written, and not readable in the store yet. */
  let writing = new Map<string, DenialRow>();
  let counts = new Map<string, number>();
  let countsUntilMs = 0;

  const hasRoom = (callerId: string, nowMs: number): boolean => {
    // What a hanging store still writes comes back to the queue when the attempt fails.
    if (queue.size + writing.size >= queueMax) return false;
    // Before it began: a clock that was ahead is set back.
    if (nowMs >= countsUntilMs || nowMs < countsUntilMs - perCallerMs) {
      counts = new Map();
      countsUntilMs = nowMs + perCallerMs;
    }
    const count = (counts.get(callerId) ?? 0) + 1;
    counts.set(callerId, count);
    return count <= perCallerMax;
  };

  const note: NoteDenial = (exchange, fault, by) => {
    const at = clock.now();
    const found = denialOf(exchange, fault, by, at);
    if (found === undefined || !hasRoom(found.callerId, at.getTime())) return;
    const { callerId, denial } = found;
    queue.set(keyOf(callerId, denial.request_id), { caller: callerId, requestId: denial.request_id, at, denial });
  };

  const writeQueued = async (): Promise<void> => {
    while (queue.size > 0) {
      const taken = queue;
      queue = new Map();
      writing = taken;
      const rows = [...taken.values()];
      try {
        for (let i = 0; i < rows.length; i += batchMax) await upsertDenials(db, rows.slice(i, i + batchMax));
      } catch (error) {
        log.warn(
          { err: error, denials: rows.length },
          'cannot write denials; they are tried again after a lost connection',
        );
        // Writing a row twice changes nothing. A batch that the store refuses must not stop the next ones.
        if (isTransient(error)) queue = new Map([...taken, ...queue]);
        throw error;
      } finally {
        writing = new Map();
      }
    }
  };

  const writer: Service = {
    name: 'denial-writer',
    run: async (signal) => {
      while (!signal.aborted) {
        await pause(writeEveryMs, signal);
        await writeQueued();
      }
    },
  };

  return {
    note,
    find: async (callerId, requestId, tenants) => {
      const callers = await listPredecessors(db, callerId);
      const waiting = newestOf(
        [queue, writing],
        callers.map((caller) => keyOf(caller, requestId)),
      );
      const kept = waiting?.denial ?? (await findKept({ db, clock }, callers, requestId));
      return kept && shownTo(kept, tenants);
    },
    services: [writer, createExpiry({ db, clock })],
  };
};

const createExpiry = ({ db, clock }: Pick<DenialLogDeps, 'db' | 'clock'>): Service => ({
  name: 'denial-expiry',
  run: async (signal) => {
    while (!signal.aborted) {
      const before = new Date(clock.now().getTime() - keptMs);
      while (!signal.aborted && (await deleteDenials(db, before, batchMax)) === batchMax);
      await pause(expireEveryMs, signal);
    }
  },
});

const keyOf = (callerId: string, requestId: string): string => `${callerId} ${requestId}`;

/** `places`: the later ones count only where an earlier one has nothing. */
const newestOf = (places: readonly ReadonlyMap<string, DenialRow>[], keys: readonly string[]): DenialRow | undefined =>
  keys
    .flatMap((key) => places.flatMap((place) => place.get(key) ?? []).slice(0, 1))
    .toSorted((left, right) => right.at.getTime() - left.at.getTime())[0];
