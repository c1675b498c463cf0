/** The endpoints that a worker remembers, by uid. Once they are as many as it may remember, the one that was used last comes last. */
import { remembered } from './bounds.ts';
import { type EndpointClass, type EndpointState, newEndpointState } from './concurrency-limit.ts';
import type { GroupShares, Target } from './group-shares.ts';

/**
 * `recoveredMs`: when the endpoint last recovered; its limit starts at one again after that. `target`: without it the endpoint shares
 * its slots with no group.
 */
export type Asking = { endpointUid: string; endpointClass: EndpointClass; recoveredMs: number; target?: Target };

type EndpointStates = Map<string, EndpointState>;

/** The state of an endpoint, brought up to date with what the store knows. */
export const updateEndpointState = (
  endpoints: EndpointStates,
  { endpointUid, endpointClass, recoveredMs, target }: Asking,
  shares: Pick<GroupShares, 'groupsOf'>,
): EndpointState => {
  const known = endpoints.get(endpointUid);
  const endpoint = known ?? newEndpointState(endpointClass, recoveredMs);
  if (known === undefined || endpoints.size >= remembered.endpointsMax) {
    endpoints.delete(endpointUid);
    endpoints.set(endpointUid, endpoint);
    forgetIdle(endpoints);
  }
  endpoint.class = endpointClass;
  if (endpoint.recoveredMs !== recoveredMs) endpoint.allowed = 1;
  endpoint.recoveredMs = recoveredMs;
  if (target !== undefined && (endpoint.target?.url !== target.url || endpoint.target.tenant !== target.tenant)) {
    endpoint.target = { tenant: target.tenant, url: target.url };
    endpoint.groups = shares.groupsOf(target);
  }
  return endpoint;
};

/** Forgets the endpoint that was idle for longest, once there are too many. */
const forgetIdle = (endpoints: EndpointStates): void => {
  if (endpoints.size <= remembered.endpointsMax) return;
  for (const [uid, endpoint] of endpoints) {
    if (endpoint.taken > 0) continue;
    endpoints.delete(uid);
    return;
  }
};

export const isAtLimit = ({ sending, asking, allowed }: EndpointState): boolean => sending + asking >= allowed;

/** The next delivery that waits for the limit of its endpoint starts, or waits for a slot. */
export const startNext = (endpoint: EndpointState): void => {
  if (!isAtLimit(endpoint)) endpoint.waiting.shift()?.();
};
