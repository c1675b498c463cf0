/** Interface 6.2, step 8: charges the units of the operation. From here on every answer carries the rate limit fields. */

import { createFindFurtherLimits } from '../limits/further-limits.ts';
import type { FurtherLimits, RateLimits } from '../limits/rate-limits.ts';
import { addConcurrency, type RateStanding } from '../limits/rate-standing.ts';
import type { RunningRequests } from '../limits/running-requests.ts';
import type { SourceOf } from '../limits/source-address.ts';
import { rateLimited, tooManyRunning } from '../model/faults.ts';
import { mayBeAnonymous } from '../model/route.ts';
import { unitsOfRoute } from '../model/route-limits.ts';
import type { Exchange, Step } from '../request/exchange.ts';

type LimitRateDeps = {
  limits: Pick<RateLimits, 'charge' | 'look'>;
  running: Pick<RunningRequests, 'take'>;
  sourceOf: SourceOf;
};

/** What a request is charged to. */
type Charge = { caller: string; units: number; further: readonly FurtherLimits[] | undefined };

/** Units of a request once its route is known. */
export const unitsOf = ({ route }: Exchange): number => (route === undefined ? 0 : unitsOfRoute(route));

/** Requests without a credential have the limits of their source address together. */
export const createLimitRate = (deps: LimitRateDeps): Step => {
  const { limits, sourceOf } = deps;
  const furtherLimits = createFindFurtherLimits();
  return (exchange) => {
    const { route, principal } = exchange;
    if (route === undefined || (principal === undefined && !mayBeAnonymous(route)))
      throw new Error('cannot charge units before the route and the caller are known');
    const caller = principal === undefined ? `address:${sourceOf(exchange.req)}` : principal.id;
    exchange.caller = caller;
    const units = unitsOf(exchange);
    const further = furtherLimits(route, caller, exchange);
    if (principal?.limits?.concurrency !== undefined)
      return takeSlot(deps, exchange, principal.limits.concurrency, { caller, units, further });
    const standing = limits.charge(caller, units, principal?.limits, further);
    if (standing instanceof Promise) return standing.then((decided) => applyStanding(exchange, decided));
    applyStanding(exchange, standing);
  };
};

const applyStanding = (exchange: Exchange, standing: RateStanding): void => {
  exchange.rate = standing;
  if (standing.retryAfterSeconds !== undefined) throw rateLimited(standing.retryAfterSeconds, 'units');
};

/**
 * A request runs from here until its response has ended or its connection is closed, so streams and WebSockets count for as
 * long as they last. The slot comes before the charge, so that a request without a slot costs no units.
 */
const takeSlot = (deps: LimitRateDeps, exchange: Exchange, max: number, charge: Charge): void | Promise<void> => {
  const slot = deps.running.take(charge.caller, max);
  if (slot === undefined) return refuseSlot(deps, exchange, max, charge);
  exchange.res.on('close', slot.release);
  if (exchange.res.destroyed) slot.release();
  const left = max - slot.running;
  if (slot.admitted === true) return chargeWithSlot(deps, exchange, { max, left }, charge);
  return slot.admitted.then((isAdmitted) =>
    isAdmitted ? chargeWithSlot(deps, exchange, { max, left }, charge) : refuseSlot(deps, exchange, max, charge),
  );
};

const refuseSlot = (
  { limits }: LimitRateDeps,
  exchange: Exchange,
  max: number,
  { caller, units, further }: Charge,
): never => {
  const standing = limits.look(caller, units, exchange.principal?.limits, further);
  addConcurrency(standing, max, 0);
  exchange.rate = standing;
  throw tooManyRunning(max, standing.retryAfterSeconds ?? 1);
};

const chargeWithSlot = (
  { limits }: LimitRateDeps,
  exchange: Exchange,
  { max, left }: { max: number; left: number },
  { caller, units, further }: Charge,
): void | Promise<void> => {
  const apply = (standing: RateStanding): void => {
    addConcurrency(standing, max, left);
    applyStanding(exchange, standing);
  };
  const standing = limits.charge(caller, units, exchange.principal?.limits, further);
  return standing instanceof Promise ? standing.then(apply) : apply(standing);
};
