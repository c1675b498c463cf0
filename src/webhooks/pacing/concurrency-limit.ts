/** How many deliveries an endpoint may be sent at once, by what its answers say of it. */

/** As the store keeps it: what an endpoint's last answer said of it. */
export const quick = 0;
export const unknown = 1;
export const slow = 2;
export type EndpointClass = typeof quick | typeof unknown | typeof slow;

/** What a worker knows of an endpoint that it sends to. */
export type Known = {
  /** At once. */
  allowed: number;
  taken: number;
  sending: number;
  waiting: (() => void)[];
  class: EndpointClass;
  recoveredMs: number;
  ended: number;
};

export const newcomer = (endpointClass: EndpointClass, recoveredMs: number): Known => ({
  allowed: 1,
  taken: 0,
  sending: 0,
  waiting: [],
  class: endpointClass,
  recoveredMs,
  ended: 0,
});

/** A receiver that answers late all the time gets that many at once. */
const slowAllowed = 2;
/** One that lets its sender wait longer than that is at work, and gets no more than so many. */
const swiftMs = 100;
const busyAllowed = 8;

/** `slowMs`: a receiver that takes longer is a slow one. */
export const createAllowance = ({ perEndpointMax, slowMs }: { perEndpointMax: number; slowMs: number }) => {
  const provenMax = Math.min(perEndpointMax, busyAllowed);
  const boundOf = (tookMs: number): number => (tookMs <= swiftMs ? perEndpointMax : provenMax);
  return {
    provenMax,
    /** After an answer, or none. */
    judge: (endpoint: Known, tookMs: number, failed: boolean): void => {
      endpoint.class = tookMs <= slowMs ? quick : slow;
      if (failed) endpoint.allowed = endpoint.class === slow ? 1 : Math.max(1, Math.floor(endpoint.allowed / 2));
      else endpoint.allowed = Math.min(endpoint.class === slow ? slowAllowed : endpoint.allowed * 2, boundOf(tookMs));
    },
    /** It answers in time, and has done so for a while. */
    isProven: ({ class: endpointClass, allowed }: Known): boolean => endpointClass === quick && allowed >= provenMax,
  };
};
