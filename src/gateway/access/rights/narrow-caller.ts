/**
 * The caller of a narrowed token: for each route it decides once whether the token reaches it, and with which tenants. The
 * decisions are shared by all tokens of a client with the same scopes and limits, so a request costs one lookup.
 */
import { limitedTo, otherAudience } from '../../model/faults.ts';
import type { Narrowing, Principal } from '../../model/principal.ts';
import { ownUpstream, type Route, type RouteTable } from '../../model/route.ts';
import { identityPolicyOf } from '../../model/upstream-identity.ts';
import { upstreamsBehind } from '../../model/upstream-policy.ts';
import { type AccessDetail, allowsRoute, detailsText, fromClaim } from './access-details.ts';
import type { TokenLimits } from './token-limits.ts';

/** What tokens with the same scopes and limits share. */
export type SharedReach = {
  /** With every tenant of the limits. */
  base: Principal;
  /** The caller as the route gets it. `details`, `audience`: which limit refuses it. */
  callerOf(route: Route): Principal | 'details' | 'audience';
  /** The upstream may get requests with the token. */
  isFor(upstream: string): boolean;
  /** See Narrowing. */
  namesTenants(route: Route | undefined): boolean;
  /** What the token is limited to, by its details. */
  text: string;
};

/**
 * Makes a caller with some of the tenants of its record; undefined: with all of them. Throws when none is left. `text`: what the
 * token is limited to.
 */
type MakeCaller = (tenants: ReadonlySet<string> | undefined, text: string) => Principal;

export type NarrowCaller = {
  /** Undefined: the token has limits that this server does not understand, or is for no service that it has. */
  share(limits: TokenLimits, make: MakeCaller): SharedReach | undefined;
};

type NarrowCallerDeps = {
  origin: string;
  table: Pick<RouteTable, 'tenantWords' | 'upstreams' | 'routes'>;
};

export const createNarrowCaller = ({ origin, table }: NarrowCallerDeps): NarrowCaller => {
  const { list } = table.tenantWords;
  const audienceOf = createAudienceOf(origin, table);
  return {
    share: ({ details: claims, audiences }, make) => {
      const details = claims?.map((claim) => fromClaim(claim, list));
      if (details?.includes(undefined)) return undefined;
      const known = details as readonly AccessDetail[] | undefined;
      if (audiences !== undefined && !knownAudiences(origin, table).some((one) => audiences.includes(one)))
        return undefined;
      const isFor = (upstream: string): boolean => audiences === undefined || audiences.includes(audienceOf(upstream));
      return shareReach({
        details: known,
        isFor,
        make,
        text: known === undefined ? '' : detailsText(known, list),
        table,
      });
    },
  };
};

/** Audiences that a token can be limited to: those of the services that are absolute URIs (RFC 8707 section 2). */
export const knownAudiences = (origin: string, table: Pick<RouteTable, 'upstreams' | 'routes'>): readonly string[] => {
  const audienceOf = createAudienceOf(origin, table);
  const names = new Set(table.routes.flatMap(({ upstream }) => upstreamsBehind(upstream, table.upstreams)));
  return [...new Set([...names].map(audienceOf))].filter((audience) => audience !== origin && isResource(audience));
};

/** An absolute URI without a fragment. */
const isResource = (text: string): boolean => /^[a-z][a-z0-9+.-]*:[^#\s]+$/i.test(text) && URL.canParse(text);

/** Operations of the gateway itself are for tokens of the whole server. */
const createAudienceOf =
  (origin: string, { upstreams }: Pick<RouteTable, 'upstreams'>) =>
  (upstream: string): string =>
    upstream === ownUpstream ? origin : identityPolicyOf(upstream, upstreams[upstream]?.identity).audience;

/** They list what the client did for all of its tenants, so an object that names tenants does not open them. */
const clientWide: ReadonlySet<string> = new Set(['whoami.requests', 'whoami.usage']);

const opens = (detail: AccessDetail, route: Route): boolean =>
  allowsRoute(detail, route) && (detail.tenants === undefined || !clientWide.has(route.id));

type Shared = {
  details: readonly AccessDetail[] | undefined;
  isFor: (upstream: string) => boolean;
  make: MakeCaller;
  text: string;
  table: Pick<RouteTable, 'upstreams'>;
};

const shareReach = ({ details, isFor, make, text, table }: Shared): SharedReach => {
  const base = make(tenantsOf(details ?? [{}]), text);
  const decided = new Map<Route, ReturnType<SharedReach['callerOf']>>();
  const byTenants = new Map<string, Principal>();
  const decide = (route: Route): ReturnType<SharedReach['callerOf']> => {
    if (!upstreamsBehind(route.upstream, table.upstreams).some(isFor)) return 'audience';
    if (details === undefined) return base;
    const open = details.filter((detail) => opens(detail, route));
    if (open.length === 0) return 'details';
    const tenants = tenantsOf(open);
    const kept = tenants === undefined ? base.tenants : base.tenants.filter((tenant) => tenants.has(tenant));
    if (kept.length === base.tenants.length) return base;
    // The objects for this operation name tenants that the client has lost.
    if (kept.length === 0) return 'details';
    const key = kept.join(' ');
    const caller = byTenants.get(key) ?? make(new Set(kept), text);
    byTenants.set(key, caller);
    return caller;
  };
  return {
    base,
    text,
    isFor,
    namesTenants: (route) => {
      const open = route === undefined ? [] : (details ?? []).filter((detail) => opens(detail, route));
      return tenantsOf(open.length === 0 ? (details ?? [{}]) : open) !== undefined;
    },
    callerOf: (route) => {
      const before = decided.get(route);
      if (before !== undefined) return before;
      const decision = decide(route);
      decided.set(route, decision);
      return decision;
    },
  };
};

/** Undefined: one of the objects allows every tenant. */
const tenantsOf = (details: readonly AccessDetail[]): ReadonlySet<string> | undefined => {
  const lists = details.map(({ tenants }) => tenants);
  return lists.includes(undefined) ? undefined : new Set(lists.flatMap((tenants) => tenants ?? []));
};

/** The caller of one token. `ofToken`: the members that are the token's own. */
export const narrowedCaller = (
  shared: SharedReach,
  limits: TokenLimits,
  ofToken: Pick<Principal, 'tokenId' | 'jkt' | 'x5t'>,
): Principal => {
  const { base } = shared;
  let variants: Map<Principal, Principal> | undefined;
  const variantOf = (caller: Principal): Principal => {
    variants ??= new Map([[base, principal]]);
    const variant = variants.get(caller) ?? Object.freeze({ ...caller, ...ofToken, narrow });
    variants.set(caller, variant);
    return variant;
  };
  const otherService = (): Error => otherAudience(base.id, limits.audiences ?? []);
  const narrow: Narrowing = {
    details: limits.details,
    audiences: limits.audiences,
    ancestors: limits.ancestors,
    text: shared.text,
    isOpen: (route) => typeof shared.callerOf(route) === 'object',
    namesTenants: shared.namesTenants,
    callerFor: (route) => {
      const caller = shared.callerOf(route);
      if (caller === base) return principal;
      if (caller === 'audience') throw otherService();
      if (caller === 'details') throw limitedTo(base.id, shared.text);
      return variantOf(caller);
    },
    requireUpstream: (upstream) => {
      if (!shared.isFor(upstream)) throw otherService();
    },
    requireWhole: () => {
      if (limits.audiences !== undefined) throw otherService();
    },
  };
  const principal: Principal = Object.freeze({ ...base, ...ofToken, narrow });
  return principal;
};
