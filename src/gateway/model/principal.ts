/** The caller behind a credential. Immutable; shared by all requests of one cached credential. */
import type { AssertedCaller } from '#src/contract/assertion.ts';
import type { OwnLimits } from './own-limits.ts';
import type { Route } from './route.ts';

export type CredentialKind = 'api_key' | 'api_client' | 'bearer';

export type Principal = {
  kind: CredentialKind;
  /** Key id or client id: the unit of limits, idempotency and the audit. */
  id: string;
  /** Id of the presented credential, for its last use: key id, secret id, or client id for a token. */
  credentialId: string;
  /** `jti`, of a token only. */
  tokenId?: string;
  /** Thumbprint of the key that the token is bound to (RFC 9449), of a bound token only. */
  jkt?: string;
  /** Thumbprint of the certificate that it is bound to (RFC 8705), of such a token only. */
  x5t?: string;
  /** Its client was switched to the FAPI 2.0 profile; missing: the rules of the gateway hold. */
  fapi2Required?: boolean;
  /** Limits beside the scopes, of a narrowed token only (interface 30). */
  narrow?: Narrowing;
  /** Tenants that the credential reaches now, and those of them whose API access is off. */
  tenants: readonly string[];
  tenantsDisabled: readonly string[];
  /** Tenant -> its cell, of tenants outside the default cell; missing: it has none. */
  cells?: ReadonlyMap<string, string>;
  scopes: ReadonlySet<string>;
  /** Its own limits beside the defaults; missing: it has none. */
  limits?: OwnLimits;
  /** Id under which its quotas are counted, of the successor of a key; missing: `id`. */
  quotaOf?: string;
  /** Networks that it may be used from, as CIDR; missing: from everywhere. */
  allowIp?: readonly string[];
  /** The identity that upstreams get. One object for all tokens of a client with the same scopes, like the lists above. */
  asserted: AssertedCaller;
};

export type Narrowing = {
  /** The claim `authorization_details`; undefined: it has none. */
  details: readonly unknown[] | undefined;
  /** Audiences of the services that the token is for; undefined: it is for the whole server. */
  audiences: readonly string[] | undefined;
  /** Ids of the tokens that it was exchanged from, its parent first. */
  ancestors: readonly string[];
  /** What the details limit it to, for refusals. */
  text: string;
  /** The caller with the tenants that it has for a route. Throws the refusal of a route that the token does not reach. */
  callerFor(route: Route): Principal;
  isOpen(route: Route): boolean;
  /** Each of its details for the route names tenants; where none is for the route, each of them does. */
  namesTenants(route: Route | undefined): boolean;
  /** Throws the refusal of a token for other services. `upstream`: the one that gets the request. */
  requireUpstream(upstream: string): void;
  /** Throws the same where the gateway itself answers. */
  requireWhole(): void;
};
