/**
 * Pure: a request id that the gateway made contains the time at which it was made. A search for such an id reads the
 * events of that time, so the id needs no index entry; an index of all ids would cost more than the rest of the audit.
 * Events with ids that callers chose are indexed.
 */
import { minuteMs } from '#src/platform/clock.ts';
import { madeAtMs } from '../../model/request-id.ts';

/** Longest time from the id to the decision: the credential, or the body that may hold one, has to arrive first. */
const decidedMsMax = 5 * minuteMs;
/** Largest difference between the clocks of two gateways. */
const skewMsMax = 60_000;

/** True when the event of time `at` is found through `timesOf` by each of these ids. */
export const tellTheirTime = (requestIds: readonly string[], at: Date): boolean =>
  requestIds.every((id) => isNear(id, at));

export const isNear = (requestId: string, at: Date): boolean => {
  const madeMs = madeAtMs(requestId);
  if (madeMs === undefined) return false;
  const laterMs = at.getTime() - madeMs;
  return laterMs >= -skewMsMax && laterMs <= decidedMsMax;
};

/** The time range of the event that holds this id; undefined for an id that contains no time. */
export const timesOf = (requestId: string): { from: Date; to: Date } | undefined => {
  const madeMs = madeAtMs(requestId);
  return madeMs === undefined ? undefined : { from: new Date(madeMs - skewMsMax), to: new Date(madeMs + decidedMsMax) };
};
