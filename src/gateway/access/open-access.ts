/** Joins the parts that decide whether a caller may call an operation: credentials, tokens, proofs, scopes, limits, audit. */
import type { Kysely } from 'kysely';
import type { PublishedKey } from '#src/contract/es256.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Audit } from '../audit/open-audit.ts';
import { type CredentialCache, createCredentialCache } from '../credentials/lookup/cache.ts';
import { createCredentialUse } from '../credentials/lookup/count-use.ts';
import type { DpopSettings } from '../dpop/config.ts';
import { createDpop, type Dpop } from '../dpop/dpop.ts';
import { type CheckAddress, createCheckAddress } from '../limits/check-address.ts';
import type { Limits } from '../limits/limits.ts';
import type { RouteTable } from '../model/route.ts';
import type { ClientCertificates } from '../request/client-certificate.ts';
import type { Exchange, Step } from '../request/exchange.ts';
import { createRequireCertificate } from '../request/require-certificate.ts';
import { type Authenticate, type Authenticator, createAuthenticator } from './authenticate.ts';
import { type BearerTokens, createBearerTokens } from './bearer-tokens.ts';
import { type CountAuthentication, countAuthentications } from './count-authentications.ts';
import { createIdentifyCaller, createRecheckCaller, type RecheckCaller } from './identify-caller.ts';
import { createAssertIdentity, createIdentifyTo, type IdentifyTo } from './identity/assert-identity.ts';
import { createLimitRate, unitsOf } from './limit-rate.ts';
import { createLimitUse } from './quotas/limit-use.ts';
import { openQuotas } from './quotas/open-quotas.ts';
import { createRecordDecision, type RecordDecision } from './record-decision.ts';
import { createNarrowCaller } from './rights/narrow-caller.ts';
import { createRequireScopes } from './rights/require-scopes.ts';

type AccessDeps = {
  settings: DpopSettings;
  origin: string;
  db: Kysely<unknown>;
  /** Connections that also listen for credential changes. */
  pool: Parameters<typeof createCredentialCache>[0]['pool'];
  /** See createEpochWatch. */
  beside: Parameters<typeof createCredentialCache>[0]['beside'];
  box: SecretBox;
  clock: Clock;
  log: Logger;
  limits: Limits;
  audit: Audit;
  /** Undefined: the operator has client certificates off. */
  certificates: ClientCertificates | undefined;
  keys: {
    find: Parameters<typeof createBearerTokens>[0]['findKey'];
    reload: () => Promise<void>;
    current: () => PublishedKey;
  };
  countAuthentication: CountAuthentication;
  /** With the current route table. */
  authenticate: Authenticate;
  /** See CountProbeDeps. */
  probed: (exchange: Exchange, callerId: string) => void;
  /** Seconds from a revocation to its refusal here. */
  observeLag: (seconds: number) => void;
};

export type Access = {
  credentials: CredentialCache;
  tokens: BearerTokens;
  /** Undefined: the operator has DPoP off. */
  dpop: Dpop | undefined;
  recordUse: (credentialId: string, address: string | undefined) => void;
  checkAddress: CheckAddress;
  decisions: RecordDecision;
  /** `upstreamNames`: names of all upstreams. Throws when the form in which an upstream learns its caller is not available. */
  forTable(table: RouteTable, upstreamNames: readonly string[]): TableAccess;
  services: Service[];
  /** Returns what is held of quotas. */
  close(): Promise<void>;
};

/** What depends on the scopes and upstreams of a route table. */
export type TableAccess = Authenticator & {
  recheckCaller: RecheckCaller;
  identifyTo: IdentifyTo;
  steps: Record<'identifyCaller' | 'requireScopes' | 'limitRate' | 'recordAllowed' | 'assertIdentity', Step>;
};

/** For credentials of connections that are open: looking at one again is no attempt. */
const uncounted = { blockedSeconds: () => undefined, countFailure: () => undefined };

export const openAccess = (deps: AccessDeps): Access => {
  const { settings, origin, db, pool, box, clock, log, limits, audit, keys } = deps;
  const { failures, wrongProofs, sourceOf } = limits;
  const { observeLag, beside } = deps;
  const onAllChanged = keys.reload;
  const credentials = createCredentialCache({
    ...{ db, pool, box, clock, log, observeLag, onAllChanged, beside, sourceOf },
  });
  const use = createCredentialUse({ db, clock, log });
  const tokens = createBearerTokens({ origin, clock, findKey: keys.find });
  const dpop = createDpop({ settings, origin, db, box, clock, budgets: { failures, wrongProofs }, sourceOf });
  const requireCertificate = createRequireCertificate(deps);
  const { recorder, fingerprint } = audit;
  const decisions = createRecordDecision({
    ...{ recorder, fingerprint, addressOf: limits.addressOf },
    authenticate: deps.authenticate,
    probed: deps.probed,
  });
  const { quotas, usage, ...quotaParts } = openQuotas({ db, clock, log });
  const checkAddress = createCheckAddress({ addressOf: limits.addressOf, noteElsewhere: usage.countElsewhere });
  const limitRate = createLimitUse({
    limitRate: createLimitRate({ limits: limits.rates, running: limits.running, sourceOf }),
    unitsOf,
    quotas,
    usage,
  });
  const forTable: Access['forTable'] = (table, upstreamNames) => {
    const parts = {
      ...{ credentials, tokens, box, clock, sourceOf },
      allScopes: table.scopes.map(({ name }) => name),
      apiKeyScopes: table.apiKeyScopes,
      profile: settings.profile,
      narrowCaller: createNarrowCaller({ origin, table }),
    };
    const authenticator = createAuthenticator({ ...parts, failures });
    const { authenticate: recheck } = createAuthenticator({ ...parts, failures: uncounted });
    const identifyTo = createIdentifyTo({
      ...{ origin, box, upstreams: upstreamNames, policies: table.upstreams },
      currentKey: keys.current,
      now: () => clock.now().getTime(),
    });
    const identifyCaller = createIdentifyCaller({
      authenticate: authenticator.authenticate,
      checkAddress,
      requireProof: dpop?.requireProof,
      requireCertificate,
      recordUse: use.record,
    });
    return {
      ...authenticator,
      identifyTo,
      recheckCaller: createRecheckCaller({ authenticate: recheck, requireCertificate, checkAddress }),
      steps: {
        identifyCaller: countAuthentications(identifyCaller, deps.countAuthentication),
        requireScopes: createRequireScopes(),
        limitRate,
        recordAllowed: decisions.allow,
        assertIdentity: createAssertIdentity(identifyTo),
      },
    };
  };
  return {
    credentials,
    tokens,
    dpop,
    recordUse: use.record,
    checkAddress,
    decisions,
    forTable,
    services: [credentials.service, use.service, ...quotaParts.services],
    close: quotaParts.close,
  };
};
