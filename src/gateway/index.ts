/**
 * The public door: OAuth server, access policy and proxy in front of any upstream.
 *
 * Owns credentials and tokens, the route table with its scopes, the three error dialects, and everything that must be true
 * of a request before an upstream sees it. It leaves to the service behind: parameters, idempotency, the operation itself.
 * It knows no word of that service's trade; those stand in config/routes.json only.
 *
 * The way through: front (id, head) -> own-paths (health, oauth/) or pipeline: routing/match-route -> edge/check-version ->
 * access/identify-caller -> access/require-scopes -> access/limit-rate (limits/) -> edge/limit-body -> whoami/answer-self or
 * upstream/assert-identity -> upstream/forward -> upstream/relay-answer or upstream/translate-errors. Whatever refuses throws a Fault (faults.ts), which edge/write-answer
 * renders (edge/dialects). assemble.ts joins the parts.
 */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { loadMigrations } from '#src/platform/db/migrate.ts';
import { createMemoryKv, type Kv } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createAuthenticator } from './access/authenticate.ts';
import { createBearerTokens } from './access/bearer-tokens.ts';
import { assemble, type PublicDoor } from './assemble.ts';
import { type GatewaySettings, loadRouteTable, routesFileOf } from './config.ts';
import { createCredentialCache } from './credentials/credential-cache.ts';
import { readEpoch } from './credentials/credential-epoch-store.ts';
import { createLimits } from './limits/limits.ts';
import { createLimitFailures } from './oauth/limit-failures.ts';
import { createOAuth } from './oauth/oauth.ts';
import { openSigningKeys } from './oauth/signing-keys.ts';
import { createDenialLog } from './whoami/denial-log.ts';

export { type GatewaySettings, gatewaySettings } from './config.ts';
export { type Credentials, createCredentials } from './credentials/credentials.ts';
export { gatewayServerOptions, onClientError } from './edge/client-error.ts';

export const gatewayMigrations = loadMigrations('gateway', new URL('./migrations/', import.meta.url));

export type GatewayDeps = {
  settings: GatewaySettings;
  /** Public address: issuer of tokens and base of links. */
  origin: string;
  db: Kysely<unknown>;
  pool: Pool;
  box: SecretBox;
  clock: Clock;
  log: Logger;
  /** Name in the route table -> address. */
  upstreams: Readonly<Record<string, string>>;
  /** Default: limits are this process's own. */
  kv?: Kv;
};

/** To be served with `gatewayServerOptions`; `handler` for `request`, `continueHandler` for `checkContinue`. */
export type Gateway = PublicDoor & { services: Service[] };

/** Rejects when the route table cannot be used or the store cannot be read. */
export const createGateway = async (deps: GatewayDeps): Promise<Gateway> => {
  const { settings, origin, db, pool, box, clock, log } = deps;
  const table = loadRouteTable(routesFileOf(settings), Object.keys(deps.upstreams));
  const allScopes = table.scopes.map(({ name }) => name);
  const keys = await openSigningKeys({ db, box, clock });
  const credentials = createCredentialCache({ db, pool, box, log, onChange: keys.reload });
  const kv = deps.kv ?? createMemoryKv();
  const limits = createLimits(settings, kv);
  const denials = createDenialLog({ db, clock, log });
  const { failures, sourceOf } = limits;
  const authenticate = createAuthenticator({
    credentials,
    tokens: createBearerTokens({ origin, clock, findKey: keys.find }),
    box,
    clock,
    failures,
    sourceOf,
    allScopes,
    apiKeyScopes: table.apiKeyScopes,
  });
  const oauth = createOAuth({
    origin,
    box,
    clock,
    settings,
    allScopes,
    keys,
    credentials,
    realm: settings.realm,
    limitFailures: createLimitFailures({ failures, sourceOf }),
    log,
  });
  const door = assemble({
    settings,
    origin,
    table,
    upstreams: deps.upstreams,
    box,
    clock,
    log,
    authenticate,
    oauth,
    limits: limits.rates,
    denials,
    db,
    sharedHealth: kv.health,
    checkStore: async () => {
      await readEpoch(db);
    },
  });
  const close = async (): Promise<void> => {
    limits.close();
    await door.close();
  };
  return { ...door, close, services: [credentials.service, ...denials.services] };
};
