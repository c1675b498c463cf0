/** The last step before forwarding: a signed statement of who calls, for this upstream, method and target only. */
import type { SignAssertion } from '#src/contract/assertion.ts';
import { mayBeAnonymous } from '../model/route.ts';
import type { Exchange, Step } from '../request/exchange.ts';

type AssertIdentityDeps = { signers: ReadonlyMap<string, SignAssertion> };

export type SignFor = (exchange: Exchange, method: string) => string;

/**
 * Empty where the upstream does not learn who calls: on a public route, and without a caller where none is needed.
 * Otherwise it throws when the route or the caller is unknown, so that no request is forwarded without an assertion.
 */
export const createSignFor = ({ signers }: AssertIdentityDeps): SignFor => {
  return ({ route, principal, target, upstreamTarget }, method) => {
    if (route?.access === 'public' || (principal === undefined && mayBeAnonymous(route))) return '';
    const sign = route === undefined ? undefined : signers.get(route.upstream);
    if (sign === undefined || principal === undefined)
      throw new Error('cannot sign an identity without a route and a caller');
    return sign(principal.asserted, { method, target: upstreamTarget ?? target });
  };
};

export const createAssertIdentity = (signFor: SignFor): Step => {
  return (exchange) => {
    exchange.assertion = signFor(exchange, exchange.method);
  };
};
