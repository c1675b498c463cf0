/** Describes a credential to its holder: its grant, its end and the tenants that it reaches. */
import { decodeJwt } from 'jose';
import type { Kysely } from 'kysely';
import { isSandboxId } from '#src/contract/sandbox.ts';
import type { Clock } from '#src/platform/clock.ts';
import { findLastElsewhere } from '../access/quotas/report-usage.ts';
import { idOfValue } from '../model/credential-values.ts';
import { limitNames } from '../model/own-limits.ts';
import type { Principal } from '../model/principal.ts';
import type { TenantWords } from '../model/route.ts';
import { isoSeconds } from '../model/traced-fault.ts';
import type { Exchange } from '../request/exchange.ts';
import { readCredential } from '../request/read-credential.ts';
import { readClientName, readKeyFacts, readSecretFacts, readTenantFacts } from './credential-facts-store.ts';

type DescribeDeps = { db: Kysely<unknown>; clock: Clock; tenantWords: TenantWords };

const tenantsMax = 100;

/** The member `credential` of interface 11.5. */
export const describeCredential = async (
  { db, clock, tenantWords }: DescribeDeps,
  exchange: Exchange,
  principal: Principal,
): Promise<Record<string, unknown>> => {
  const { limits, allowIp } = principal;
  const [life, tenants, elsewhere] = await Promise.all([
    lifeOf(db, exchange, principal),
    readTenantFacts(db, principal.tenants, tenantsMax),
    // It counts the calls of the client for all of its tenants.
    principal.narrow?.namesTenants(exchange.route) === true ? null : findLastElsewhere({ db, clock }, principal.id),
  ]);
  const { list, facts: names } = tenantWords;
  return {
    kind: principal.kind,
    id: principal.id,
    name: life.name,
    sandbox: isSandboxId(principal.id),
    scopes: [...principal.scopes],
    [list]: tenants.map(({ id, apiEnabled, facts }) => ({
      uid: id,
      ...Object.fromEntries(names.map((name) => [name, facts[name] ?? null])),
      api_enabled: apiEnabled,
    })),
    [`${list}_count`]: principal.tenants.length,
    issued_iso: isoOrNull(life.issued),
    expires_iso: isoOrNull(life.expires),
    retiring_iso: isoOrNull(life.retiring),
    limits: Object.fromEntries(limitNames.map((name) => [name, limits?.[name] ?? null])),
    allow_ip: allowIp ?? null,
    narrowed: narrowedOf(principal),
    refused_elsewhere:
      elsewhere === null
        ? null
        : { calls: elsewhere.calls, last_iso: isoSeconds(elsewhere.last), last_address: elsewhere.address },
  };
};

/** What limits a narrowed token (interface 30). */
const narrowedOf = ({ narrow }: Principal): Record<string, unknown> | null =>
  narrow === undefined
    ? null
    : {
        authorization_details: narrow.details ?? null,
        resource: narrow.audiences ?? null,
        ancestors: narrow.ancestors,
      };

type Life = { name: string | null; issued: Date | null; expires: Date | null; retiring: Date | null };

/** A secret with an end is being replaced by another one; the client itself does not end. */
const lifeOf = async (db: Kysely<unknown>, { req, search, dpop }: Exchange, { kind, id }: Principal): Promise<Life> => {
  if (kind === 'api_key') {
    const facts = await readKeyFacts(db, id);
    return { name: facts?.name ?? null, issued: facts?.issued ?? null, expires: facts?.ends ?? null, retiring: null };
  }
  const presented = readCredential(req.rawHeaders, search, dpop);
  if (presented.kind === 'client') {
    const facts = await readSecretFacts(db, id, idOfValue(presented.secret));
    return { name: facts?.name ?? null, issued: facts?.issued ?? null, expires: null, retiring: facts?.ends ?? null };
  }
  const name = (await readClientName(db, id)) ?? null;
  if (presented.kind !== 'bearer') return { name, issued: null, expires: null, retiring: null };
  // Verified on the way here; only read now.
  const { iat, exp } = decodeJwt(presented.token);
  return { name, issued: dateOf(iat), expires: dateOf(exp), retiring: null };
};

const dateOf = (seconds: number | undefined): Date | null => (seconds === undefined ? null : new Date(seconds * 1000));

const isoOrNull = (date: Date | null): string | null => (date === null ? null : isoSeconds(date));
