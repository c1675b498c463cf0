/** Interface 6.2, step 8: charges the units of the operation. From here on every answer carries the rate limit fields. */

import type { RateLimits } from '../limits/rate-limits.ts';
import type { RateStanding } from '../limits/rate-meters.ts';
import type { SourceOf } from '../limits/source-address.ts';
import { rateLimited } from '../model/faults.ts';
import { mayBeAnonymous, type Route } from '../model/route.ts';
import type { Exchange, Step } from '../request/exchange.ts';

const unitsByClass: Readonly<Record<Route['class'], number>> = { R: 1, W: 2, H: 20 };

/** Units of a request once its route is known. */
export const unitsOf = ({ route }: Exchange): number => (route === undefined ? 0 : unitsByClass[route.class]);

/** Requests without a credential have the limits of their source address together. */
export const createLimitRate = ({
  limits,
  sourceOf,
}: {
  limits: Pick<RateLimits, 'charge'>;
  sourceOf: SourceOf;
}): Step => {
  return (exchange) => {
    const { route, principal } = exchange;
    if (route === undefined || (principal === undefined && !mayBeAnonymous(route)))
      throw new Error('cannot charge units before the route and the caller are known');
    const caller = principal === undefined ? `address:${sourceOf(exchange.req)}` : principal.id;
    const standing = limits.charge(caller, unitsOf(exchange));
    if (standing instanceof Promise) return standing.then((decided) => applyStanding(exchange, decided));
    applyStanding(exchange, standing);
  };
};

const applyStanding = (exchange: Exchange, standing: RateStanding): void => {
  exchange.rate = standing;
  if (standing.retryAfterSeconds !== undefined) throw rateLimited(standing.retryAfterSeconds);
};
