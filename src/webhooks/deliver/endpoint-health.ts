/** What a batch of attempts says about the health and the breaker of their endpoints. Pure. */
import { failuresToHold, holdMs } from '../pacing/breaker.ts';
import type { EndpointClass } from '../pacing/concurrency-limit.ts';
import type { AttemptRecord, Health, HealthChange, ScheduleChange } from '../queue/attempt-store.ts';
import type { DueEndpoint } from '../queue/claim-store.ts';

export type AttemptResult = {
  attempt: AttemptRecord;
  /** As it was when the lease was taken. */
  endpoint: DueEndpoint;
  /** The class of the endpoint by this attempt. */
  endpointClass: EndpointClass;
  /** When the lease ends, as of `performance.now()`. */
  leaseEndMs: number;
};

/** The health of each endpoint by a batch of attempts, in the order of their end. Failures before a success do not count. */
export const healthChangesOf = (batch: readonly AttemptResult[]): HealthChange[] => {
  const changes = new Map<string, HealthChange>();
  const sorted = batch.toSorted((left, right) => left.attempt.ended.getTime() - right.attempt.ended.getTime());
  for (const { attempt } of sorted) {
    const { endpointUid } = attempt.delivery;
    const known = changes.get(endpointUid) ?? {
      endpointUid,
      lastSuccess: null,
      failuresCount: 0,
      firstFailure: null,
      lastFailure: null,
    };
    changes.set(
      endpointUid,
      attempt.failure === null
        ? { ...known, lastSuccess: attempt.ended, failuresCount: 0, firstFailure: null }
        : {
            ...known,
            failuresCount: known.failuresCount + 1,
            firstFailure: known.firstFailure ?? attempt.ended,
            lastFailure: attempt.ended,
          },
    );
  }
  return [...changes.values()];
};

/** What the claims of all workers have to know of endpoints whose class or breaker has changed. */
export const scheduleChangesOf = (
  batch: readonly AttemptResult[],
  changes: readonly HealthChange[],
  failing: readonly Health[],
): ScheduleChange[] => {
  const last = new Map(batch.map((made) => [made.endpoint.endpointUid, made]));
  const failures = new Map(failing.map(({ endpointUid, failuresCount }) => [endpointUid, failuresCount]));
  return changes.flatMap(({ endpointUid, lastFailure, lastSuccess }) => {
    const made = last.get(endpointUid);
    if (made === undefined) return [];
    const heldMs = holdMs(failures.get(endpointUid) ?? 0);
    const gate = heldMs === 0 || lastFailure === null ? null : new Date(lastFailure.getTime() + heldMs);
    const recovered = made.endpoint.failuresCount >= failuresToHold && heldMs === 0 ? lastSuccess : null;
    if (gate === null && recovered === null && made.endpoint.class === made.endpointClass) return [];
    return [{ endpointUid, class: made.endpointClass, gate, recovered }];
  });
};
