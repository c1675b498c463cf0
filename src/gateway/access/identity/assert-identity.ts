/** The last step before forwarding: what tells the upstream who calls, in the form that the upstream's policy names. */
import type { AssertedCaller } from '#src/contract/assertion.ts';
import { assertionKeyLabel, createAssertionSigner } from '#src/contract/assertion.ts';
import type { PublishedKey } from '#src/contract/es256.ts';
import { assertionHeader } from '#src/contract/headers.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { mayBeAnonymous } from '../../model/route.ts';
import { type IdentityPolicy, identityPolicyOf, ownAudienceProblem } from '../../model/upstream-identity.ts';
import type { UpstreamPolicy } from '../../model/upstream-policy.ts';
import { type Exchange, type Step, upstreamNameOf } from '../../request/exchange.ts';
import { createIdentityFields } from './identity-fields.ts';
import { createIdentityTokens } from './identity-token.ts';

/** Header fields for the upstream, as a flat list of names and values. */
type Identify = (caller: AssertedCaller, request: { method: string; target: string }) => readonly string[];

/** `method`: as the upstream gets it. */
export type IdentifyTo = (exchange: Exchange, method: string) => readonly string[];

const nothing: readonly string[] = [];

type IdentifyDeps = {
  /** Issuer of the tokens. */
  origin: string;
  /** Names of all upstreams, and the policies of those that the file of routes names. */
  upstreams: readonly string[];
  policies: Readonly<Record<string, UpstreamPolicy>>;
  box: Pick<SecretBox, 'derive'>;
  currentKey: () => PublishedKey;
  now: () => number;
};

/**
 * Nothing where the upstream does not learn who calls: on a public route, and without a caller where none is needed.
 * Otherwise it throws when the route or the caller is unknown, so that no request is forwarded without its identity.
 */
export const createIdentifyTo = (deps: IdentifyDeps): IdentifyTo => {
  const forms = new Map(
    deps.upstreams.map((name) => [name, identifyBy(deps, name, identityPolicyOf(name, deps.policies[name]?.identity))]),
  );
  return (exchange, method) => {
    const { route, principal, target, upstreamTarget } = exchange;
    if (route?.access === 'public' || (principal === undefined && mayBeAnonymous(route))) return nothing;
    const identify = forms.get(upstreamNameOf(exchange) ?? '');
    if (identify === undefined || principal === undefined)
      throw new Error('cannot state an identity without a route and a caller');
    return identify(principal.asserted, { method, target: upstreamTarget ?? target });
  };
};

const identifyBy = (deps: IdentifyDeps, name: string, { kind, header, audience }: IdentityPolicy): Identify => {
  const { origin, box, currentKey, now } = deps;
  switch (kind) {
    case 'none':
      return () => nothing;
    case 'headers':
      return createIdentityFields();
    case 'jwt': {
      if (audience === origin) throw new Error(ownAudienceProblem(name));
      const tokenFor = createIdentityTokens({ issuer: origin, audience, currentKey, now });
      const scheme = header === 'authorization' ? 'Bearer ' : '';
      return (caller) => [header, scheme + tokenFor(caller)];
    }
    case 'assertion': {
      const sign = createAssertionSigner({ key: box.derive(assertionKeyLabel(name)), audience: name, now });
      return (caller, request) => [assertionHeader, sign(caller, request)];
    }
  }
};

export const createAssertIdentity = (identifyTo: IdentifyTo): Step => {
  return (exchange) => {
    exchange.identity = identifyTo(exchange, exchange.method);
  };
};
