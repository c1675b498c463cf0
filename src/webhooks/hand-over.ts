/**
 * The short way of a delivery. Dispatcher and sender are of one process: what need not wait for anything is leased to this
 * worker from the beginning and handed to its sender after the commit, with no claim between. Everything else is claimed:
 * what has no place, what stands behind others that are due at its endpoint, and endpoints that are held, paced or slow.
 */
import type { Kysely } from 'kysely';
import type { Leased } from './claim.ts';
import type { ReadyEndpoint } from './claim-store.ts';
import type { Subscribed } from './delivery-store.ts';
import { failuresToHold } from './pace.ts';
import { type Full, type Place, type Places, slow } from './places.ts';
import { lookMs, settleTurns } from './ready-store.ts';

/** The sender of this process. */
export type Sender = {
  places: Places;
  /** False at its end. */
  isOpen(): boolean;
  /** Sends it; the lease counts from `leasedMs` of `performance.now()`. */
  start(delivery: Leased, place: Place, leasedMs: number): void;
  /** Its end waits for this, within a bound. */
  waitFor(work: Promise<unknown>): void;
  /** Resolves when so many attempts have ended that it is worth while to look for places, or after a moment. */
  someEnded(): Promise<void>;
};

/** Endpoints that may be handed something: nothing of what they are waits for its turn there. */
export const findFree = async (
  tx: Kysely<unknown>,
  endpoints: readonly Subscribed[],
  now: Date,
): Promise<Map<string, ReadyEndpoint>> => {
  const plain = new Map<string, ReadyEndpoint>();
  const unsettled: string[] = [];
  // Near its turn another worker may be looking at it at this moment, without seeing what is added now.
  const [from, to] = [now.getTime() + lookMs / 2, now.getTime() + lookMs];
  for (const one of endpoints) {
    if (!isPlain(one)) continue;
    plain.set(one.endpointUid, one);
    const dueMs = Number(one.dueAt);
    if (!(dueMs > from && dueMs <= to)) unsettled.push(one.endpointUid);
  }
  const settled = await settleTurns(tx, unsettled, now);
  for (const uid of unsettled) {
    const dueAt = settled.get(uid);
    if (dueAt === undefined || dueAt <= now) plain.delete(uid);
  }
  return plain;
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
    /** Undefined: it has one now. */
    tryTake: (deliveryUid: string, endpoint: ReadyEndpoint): Full | undefined => {
      const place = places.tryTake({
        endpointUid: endpoint.endpointUid,
        endpointClass: endpoint.class,
        recoveredMs: endpoint.recovered?.getTime() ?? 0,
      });
      if ('isFull' in place) return place;
      taken.set(deliveryUid, place);
      return undefined;
    },
    giveBack: (deliveryUids: Iterable<string> = [...taken.keys()]): void => {
      for (const uid of deliveryUids) {
        taken.get(uid)?.giveBack(undefined);
        taken.delete(uid);
      }
    },
  };
};

export type Reservation = ReturnType<typeof createReservation>;

/** In milliseconds: what may be waited for places at the beginning, and at most. */
const creditMs = 40;
const creditMsMax = 100;
/** Receivers for whom is waited take as many in a millisecond, or the others behind them would be kept for nothing. */
const endedPerMs = 2.5;
/** Whoever waited in vain does not wait again before that. */
const pauseMs = 1_000;

/**
 * How long recorded events may lie for places that others have. As long as receivers take them about as fast as they could be
 * written down to be claimed, waiting is the shorter way; otherwise it soon ends.
 */
export const createPatience = (places: Pick<Places, 'endedOf'>) => {
  let leftMs = creditMs;
  let pausedUntilMs = 0;
  let last: { atMs: number; full: Full; ended: number } | undefined;
  const rest = (): void => {
    leftMs = creditMs;
    last = undefined;
  };
  return {
    /** May events wait for this? */
    waitsFor: (full: Full, nowMs: number): boolean => {
      if (!full.isPassing || nowMs < pausedUntilMs) return false;
      const ended = places.endedOf(full);
      if (last !== undefined) {
        const gone = last.full.endpointUid === full.endpointUid ? Math.max(0, ended - last.ended) : 0;
        leftMs = Math.min(creditMsMax, leftMs + gone / endedPerMs) - (nowMs - last.atMs);
      }
      last = { atMs: nowMs, full, ended };
      if (leftMs > 0) return true;
      pausedUntilMs = nowMs + pauseMs;
      rest();
      return false;
    },
    /** Nothing waits for a place any more. */
    rest,
  };
};

export type Patience = ReturnType<typeof createPatience>;
