/** Joins the OAuth server with the audit, the limits and the store. */
import type { Middleware } from 'koa';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Kv } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Access, TableAccess } from '../access/open-access.ts';
import type { Audit } from '../audit/open-audit.ts';
import { createRevokeToken } from '../credentials/change/revoke-token.ts';
import type { FetchDocument } from '../credentials/trust/fetch-document.ts';
import { createIssuerKeys } from '../credentials/trust/issuer-keys.ts';
import { createVerifyWorkload } from '../credentials/trust/verify-workload.ts';
import { createRulesOf, type Profile, profiles } from '../dpop/profile.ts';
import { markProofUsed } from '../dpop/used-proof-store.ts';
import type { InChangeTurn } from '../limits/change-turns.ts';
import type { Limits } from '../limits/limits.ts';
import { createThrottle } from '../limits/throttle.ts';
import type { RouteTable } from '../model/route.ts';
import type { TokenRefusal } from '../model/traced-fault.ts';
import type { ClientCertificates } from '../request/client-certificate.ts';
import { createAuditOAuth } from './audit-oauth.ts';
import type { OAuthSettings } from './config.ts';
import type { SigningKeys } from './keys/signing-keys.ts';
import { createCountFailure, createLimitFailures } from './limit-failures.ts';
import { countExchange } from './narrow/exchange-store.ts';
import { inExchangeTurn } from './narrow/exchange-turns.ts';
import { createOAuth } from './oauth.ts';
import { tokenPath } from './token-issuer.ts';
import { markAssertionUsed } from './used-assertion-store.ts';

type OpenOAuthDeps = {
  settings: OAuthSettings & { realm: string; profile: Profile; mtls_origin?: string | undefined };
  origin: string;
  /** With the current route table. */
  allScopes: () => readonly string[];
  table: () => RouteTable;
  inspectToken: TableAccess['inspectToken'];
  db: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  log: Logger;
  kv: Kv;
  keys: SigningKeys;
  fetchDocument: FetchDocument;
  access: Pick<Access, 'credentials' | 'tokens' | 'dpop' | 'recordUse' | 'checkAddress'>;
  /** Undefined: the operator has client certificates off. */
  certificates: ClientCertificates | undefined;
  audit: Pick<Audit, 'recorder' | 'fingerprint'>;
  limits: Pick<Limits, 'failures' | 'sourceOf' | 'addressOf'>;
  inChangeTurn: InChangeTurn;
  /** Paths that are resources of their own (RFC 9728). */
  resources: readonly string[];
  /** 'issued', or the error. */
  countToken: (outcome: string) => void;
  /** As in OAuthDeps. */
  tokenRefused: (refusal: TokenRefusal) => void;
  /** Path below /.well-known/ -> body: public documents of other parts. */
  moreDocuments?: Readonly<Record<string, () => string>> | undefined;
};

export const openOAuth = (deps: OpenOAuthDeps): Middleware => {
  const { settings, origin, db, box, clock, log, kv, keys, access, limits } = deps;
  const rulesOf = createRulesOf(settings.profile);
  return createOAuth({
    origin,
    box,
    clock,
    settings,
    realm: settings.realm,
    log,
    keys,
    allScopes: deps.allScopes,
    credentials: access.credentials,
    tokens: access.tokens,
    inspectToken: deps.inspectToken,
    acceptsBoundTokens: access.dpop !== undefined,
    recordUse: access.recordUse,
    checkAddress: access.checkAddress,
    dpop: access.dpop,
    certificates: deps.certificates,
    mtlsOrigin: settings.mtls_origin,
    rules: profiles[settings.profile],
    rulesOf,
    revokeToken: createRevokeToken({ db, box, clock }),
    inChangeTurn: deps.inChangeTurn,
    sourceOf: limits.sourceOf,
    limitFailures: createLimitFailures(limits),
    countFailure: createCountFailure(limits),
    tokenRefused: deps.tokenRefused,
    countToken: deps.countToken,
    audit: createAuditOAuth({ origin, ...deps.audit, addressOf: limits.addressOf, countToken: deps.countToken }),
    throttleIntrospection: createThrottle({ kv, name: 'introspect', callsMax: 600, windowSeconds: 60 }),
    assertions: {
      clock,
      issuer: origin,
      tokenEndpoint: origin + tokenPath,
      rulesOf,
      markUsed: (assertion, now) => markAssertionUsed(db, assertion, now),
    },
    verifyWorkload: createVerifyWorkload({
      db,
      clock,
      keys: createIssuerKeys(deps),
      // One table remembers what is used once: proofs of keys, and assertions of issuers.
      markUsed: (used, now) => markProofUsed(db, used, now),
    }),
    countExchange: inExchangeTurn((root, exchangesMax, now) => countExchange(db, root, exchangesMax, now)),
    table: deps.table,
    resources: deps.resources,
    moreDocuments: deps.moreDocuments,
  });
};
