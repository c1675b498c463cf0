/**
 * The short way of a delivery. Dispatcher and sender are of one process: what need not wait for anything is leased to this
 * worker from the beginning and handed to its sender after the commit, with no claim between. Everything else is claimed:
 * what has no place, what stands behind others that are due at its endpoint, and endpoints that are held, paced or slow.
 */
import type { Kysely } from 'kysely';
import { quick, slow } from '../pacing/concurrency-limit.ts';
import { failuresToHold } from '../pacing/rate.ts';
import type { Full, Place, Places } from '../pacing/slots.ts';
import type { ReadyEndpoint } from '../queue/claim-store.ts';
import type { NewDelivery, Subscribed } from '../queue/delivery-store.ts';
import { lockReadyRows, lookMs, settleTurns } from '../queue/schedule-store.ts';
import type { Leased } from './claim.ts';

/** The sender of this process. */
export type Sender = {
  places: Places;
  /** False at its end. */
  isOpen(): boolean;
  leaseToken(): string;
  /** Sends it; the lease counts from `leasedMs` of `performance.now()`. */
  start(delivery: Leased, place: Place, leasedMs: number): void;
  /** Its end waits for this, within a bound. */
  waitFor(work: Promise<unknown>): void;
  /** Resolves when so many attempts have ended that it is worth while to look for places, or after a moment. */
  someEnded(): Promise<void>;
};

/** Endpoints that may be handed something, as they were read, and the uids of some of them. */
export type Free = {
  endpoints: Map<string, ReadyEndpoint>;
  /** Their turn is there: something may be due, and goes first. */
  behind: Set<string>;
  /** Nobody would look at them in time, or somebody may be looking at this moment, without seeing what is added. */
  unsettled: Set<string>;
};

export const findFree = (subscribed: readonly Subscribed[], now: Date): Free => {
  const endpoints = new Map<string, ReadyEndpoint>();
  const behind = new Set<string>();
  const unsettled = new Set<string>();
  for (const one of subscribed) {
    if (!isPlain(one)) continue;
    endpoints.set(one.endpointUid, one);
    // Infinite where there is no turn to come.
    const inMs = Number(one.dueAt) - now.getTime();
    if (inMs <= 0) behind.add(one.endpointUid);
    else if (inMs < lookMs / 2 || inMs > lookMs) unsettled.add(one.endpointUid);
  }
  return { endpoints, behind, unsettled };
};

/**
 * Sees to it that endpoints that are handed something are looked at in time; where something is due after all, what was to be
 * handed over is to be claimed. Locks all turns that this transaction may write, in one sequence, as everybody does.
 */
export const settleHanded = async (
  tx: Kysely<unknown>,
  made: readonly NewDelivery[],
  { unsettled }: Free,
  now: Date,
): Promise<NewDelivery[]> => {
  const uids = new Set<string>();
  for (const { leased, endpointUid } of made) if (leased && unsettled.has(endpointUid)) uids.add(endpointUid);
  if (uids.size === 0) return [...made];
  const claimed = made.flatMap(({ first, leased, endpointUid }) => (first && !leased ? [endpointUid] : []));
  await lockReadyRows(tx, [...new Set([...uids, ...claimed])]);
  const dueAt = await settleTurns(tx, [...uids], now);
  const isDue = (uid: string): boolean => uids.has(uid) && !((dueAt.get(uid) ?? now) > now);
  return made.map((one) => (one.leased && isDue(one.endpointUid) ? { ...one, leased: false } : one));
};

const isPlain = (one: Subscribed): one is Subscribed & ReadyEndpoint =>
  one.dueAt !== null &&
  one.class !== null &&
  one.class !== slow &&
  one.gate === null &&
  one.maxPerSecond === null &&
  !one.cancelling &&
  one.failuresCount < failuresToHold;

/** Takes a place for each that may go at once; all of them are given back unless they are started. */
export const createReservation = (places: Places) => {
  const taken = new Map<string, Place>();
  return {
    taken,
    /** Undefined: it has one now. `isBehind`: others go first. */
    tryTake: (deliveryUid: string, endpoint: ReadyEndpoint, isBehind: boolean): Full | undefined => {
      if (isBehind) return { isFull: true, endpointUid: endpoint.endpointUid, isPassing: endpoint.class === quick };
      const place = places.tryTake({
        endpointUid: endpoint.endpointUid,
        endpointClass: endpoint.class,
        recoveredMs: endpoint.recovered?.getTime() ?? 0,
      });
      if ('isFull' in place) return place;
      taken.set(deliveryUid, place);
      return undefined;
    },
    giveBack: (deliveryUids: Iterable<string> = taken.keys()): void => {
      for (const uid of deliveryUids) {
        taken.get(uid)?.giveBack(undefined);
        taken.delete(uid);
      }
    },
  };
};

export type Reservation = ReturnType<typeof createReservation>;

/** In milliseconds: what may be waited for places at the beginning, and at most. */
const creditMs = 60;
const creditMsMax = 100;
/** Receivers for whom is waited take as many in a millisecond, or the others behind them would be kept for nothing. */
const endedPerMs = 2.5;
/** So much of all time may be waited in vain. */
const vainShare = 0.03;

/**
 * How long recorded events may lie for places that others have. As long as receivers take them about as fast as they could be
 * written down to be claimed, waiting is the shorter way; otherwise it soon ends.
 */
export const createPatience = (places: Pick<Places, 'endedOf'>) => {
  let leftMs = creditMs;
  let countedMs: number | undefined;
  let last: { atMs: number; full: Full; ended: number } | undefined;
  return {
    /** May events wait for this? */
    waitsFor: (full: Full, nowMs: number): boolean => {
      if (!full.isPassing) return false;
      const ended = places.endedOf(full);
      leftMs += (nowMs - (countedMs ?? nowMs)) * vainShare;
      countedMs = nowMs;
      if (last !== undefined && last.full.endpointUid === full.endpointUid)
        leftMs += Math.max(0, ended - last.ended) / endedPerMs;
      leftMs = Math.min(creditMsMax, leftMs);
      if (last !== undefined) leftMs -= nowMs - last.atMs;
      if (leftMs > 0) {
        last = { atMs: nowMs, full, ended };
        return true;
      }
      leftMs = Math.max(-creditMs, leftMs);
      last = undefined;
      return false;
    },
    /** Nothing waits for a place any more. */
    rest: (): void => {
      last = undefined;
    },
  };
};

export type Patience = ReturnType<typeof createPatience>;
