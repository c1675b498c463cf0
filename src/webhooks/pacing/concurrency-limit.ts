/**
 * How many attempts an endpoint may have at once. The limit starts at one, doubles with each success up to a maximum, and
 * halves with each failure. The maximum depends on how long the last answer took.
 */
import { concurrency } from './bounds.ts';
import { type Groups, noGroups, type Target } from './group-shares.ts';

/** The class of an endpoint by its last answer, as the store keeps it. `unknown`: the endpoint was never tried. */
export const quick = 0;
export const unknown = 1;
export const slow = 2;
export type EndpointClass = typeof quick | typeof unknown | typeof slow;

/** What a worker keeps in memory about an endpoint that it sends to. */
export type EndpointState = {
  /** The limit of attempts at once. */
  allowed: number;
  /** Deliveries held, with or without a slot. */
  taken: number;
  /** Attempts in flight. */
  sending: number;
  /** Held deliveries that the limit allows to start and that wait for a slot. */
  asking: number;
  /** Held deliveries that wait until an attempt of this endpoint was answered. */
  waiting: (() => void)[];
  class: EndpointClass;
  /** When the endpoint last recovered, in milliseconds; 0 for never. */
  recoveredMs: number;
  /** Attempts that ended. */
  ended: number;
  /** The target that `groups` are of. */
  target: Target | undefined;
  /** The endpoints with which it shares slots. */
  groups: Groups;
};

export const newEndpointState = (endpointClass: EndpointClass, recoveredMs: number): EndpointState => ({
  allowed: 1,
  taken: 0,
  sending: 0,
  asking: 0,
  waiting: [],
  class: endpointClass,
  recoveredMs,
  ended: 0,
  target: undefined,
  groups: noGroups,
});

export type ConcurrencyLimit = {
  /** The limit of an endpoint that succeeds but does not answer promptly. */
  provenMax: number;
  /** Adjusts class and limit after an attempt; `tookMs` is infinite when no answer came. */
  adjust(endpoint: EndpointState, tookMs: number, failed: boolean): void;
  /** True when the endpoint has answered in time for a while. */
  isProven(endpoint: EndpointState): boolean;
};

/** `slowMs`: a receiver whose answer takes longer is slow. */
export const createConcurrencyLimit = ({
  perEndpointMax,
  slowMs,
}: {
  perEndpointMax: number;
  slowMs: number;
}): ConcurrencyLimit => {
  const provenMax = Math.min(perEndpointMax, concurrency.busyMax);
  const limitMax = (tookMs: number): number => (tookMs <= concurrency.promptMs ? perEndpointMax : provenMax);
  return {
    provenMax,
    adjust: (endpoint, tookMs, failed) => {
      endpoint.class = tookMs <= slowMs ? quick : slow;
      const isSlow = endpoint.class === slow;
      if (failed) endpoint.allowed = isSlow ? 1 : Math.max(1, Math.floor(endpoint.allowed / 2));
      else endpoint.allowed = Math.min(isSlow ? concurrency.slowMax : endpoint.allowed * 2, limitMax(tookMs));
    },
    isProven: (endpoint) => endpoint.class === quick && endpoint.allowed >= provenMax,
  };
};
