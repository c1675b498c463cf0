/**
 * Ids of requests that the gateway makes tell when they were made, so an event is found by its time and none of them needs
 * a place in an index, which would cost more than all the rest of the audit. Events with other ids are indexed. Pure.
 */
import { madeAtMs } from '../../model/request-id.ts';

/** A request is decided on within the time that its credential, or a body that may hold one, takes to arrive. */
const decidedMsMax = 5 * 60_000;
/** Clocks of two gateways. */
const skewMsMax = 60_000;

/** Whether `timesOf` finds an event of that time by any of these ids. */
export const tellTheirTime = (requestIds: readonly string[], at: Date): boolean =>
  requestIds.every((id) => isNear(id, at));

export const isNear = (requestId: string, at: Date): boolean => {
  const madeMs = madeAtMs(requestId);
  if (madeMs === undefined) return false;
  const laterMs = at.getTime() - madeMs;
  return laterMs >= -skewMsMax && laterMs <= decidedMsMax;
};

/** Between which times an event stands that is only found by its time; undefined for an id that tells none. */
export const timesOf = (requestId: string): { from: Date; to: Date } | undefined => {
  const madeMs = madeAtMs(requestId);
  return madeMs === undefined ? undefined : { from: new Date(madeMs - skewMsMax), to: new Date(madeMs + decidedMsMax) };
};
