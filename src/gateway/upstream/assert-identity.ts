/** The last step before forwarding: a signed statement of who calls, for this upstream, method and target only. */
import type { AssertedCaller, SignAssertion } from '#src/contract/assertion.ts';
import type { Exchange, Step } from '../exchange.ts';
import type { Principal } from '../principal.ts';

type AssertIdentityDeps = { signers: ReadonlyMap<string, SignAssertion> };

export type SignFor = (exchange: Exchange, method: string) => string;

/** Throws when there is nothing to sign or nobody to sign for: a request without an assertion is never forwarded. */
export const createSignFor = ({ signers }: AssertIdentityDeps): SignFor => {
  // One principal serves many requests, so its lists are made once.
  const callers = new WeakMap<Principal, AssertedCaller>();
  const callerOf = (principal: Principal): AssertedCaller => {
    const known = callers.get(principal);
    if (known !== undefined) return known;
    const caller: AssertedCaller = {
      kind: principal.kind,
      id: principal.id,
      tenants: [...principal.tenants],
      tenants_disabled: [...principal.tenantsDisabled],
      scopes: [...principal.scopes],
    };
    callers.set(principal, caller);
    return caller;
  };
  return ({ route, principal, target }, method) => {
    const sign = route === undefined ? undefined : signers.get(route.upstream);
    if (sign === undefined || principal === undefined) throw new Error('cannot assert an identity');
    return sign(callerOf(principal), { method, target });
  };
};

export const createAssertIdentity = (signFor: SignFor): Step => {
  return (exchange) => {
    exchange.assertion = signFor(exchange, exchange.method);
  };
};
