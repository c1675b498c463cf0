/**
 * What became of a credential that somebody holds in hand: who issued it, what was done with it, from where, and what was
 * refused. The value is turned into its fingerprint here; it is neither kept nor shown.
 */

import { decodeJwt } from 'jose';
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { toEcs } from '../audit/event/event.ts';
import { createEarlierFingerprint, createFingerprint } from '../audit/event/fingerprint.ts';
import { type IssuedUse, sumIssuedUse } from '../audit/search/issued-use.ts';
import { findEvents, type Summary, summarise } from '../audit/search/search-store.ts';
import { idOfValue, isApiKey, isClientSecret } from '../model/credential-values.ts';
import { findIssued } from './find-issued.ts';

export type Traced = {
  kind: 'api_key' | 'client_secret' | 'token';
  fingerprint: string;
  /** Key id, secret id or `jti`. */
  credential_id: string;
  /** This installation issued exactly this value. Otherwise the ids are only what it claims, which anybody can write. */
  genuine: boolean;
  client_id: string | null;
  /** For a token: the secret or key that it was issued for. */
  parent: string | null;
  issued: Record<string, unknown> | null;
  /** Requests with it that were let through. */
  calls: number;
  /** Requests with it that were refused; of each flood of refusals at least the first hundred of a minute. */
  refused: number;
  /** True: it has more events than were read, and what is told of its use is that of the newest. */
  partial: boolean;
  scopes_used: readonly string[];
  addresses: readonly string[];
  first_used: string | null;
  last_used: string | null;
  /** Tokens that were issued for a secret. */
  tokens: number;
  /** What was done with those tokens; null for what nothing is issued for. */
  issued_use: TracedUse | null;
  refusals: readonly Record<string, unknown>[];
};

export type TracedUse = {
  /** Requests that were let through, and refused. */
  calls: number;
  refused: number;
  /** True: there is more than was read, so that both are at least these. */
  partial: boolean;
  addresses: readonly string[];
  first_used: string | null;
  last_used: string | null;
};

const refusalsShown = 20;

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive' | 'digest'> };

/** What somebody says about a credential. `fingerprints`: of its value, the one of today first. */
export type Claim = {
  kind: Traced['kind'];
  id: string;
  clientId: string | undefined;
  fingerprints: readonly [string, ...string[]];
};

/** VALIDATION_ERROR for text that is no credential of this installation's kind. */
export const traceCredential = async (deps: Deps, value: string): Promise<Traced> => {
  const claimed = readValue(value);
  const fingerprints = [createFingerprint(deps.box)(value), createEarlierFingerprint(deps.box)(value)] as const;
  const known = await findIssued(deps, { ...claimed, value });
  return traceClaim(deps, { ...claimed, fingerprints }, known);
};

/** `known`: undefined when the value was not issued here, or nobody can tell. */
export const traceClaim = async (
  { db }: Pick<Deps, 'db'>,
  { kind, id, clientId, fingerprints }: Claim,
  known: { clientId: string | null } | undefined,
): Promise<Traced> => {
  // By its id what was done under fingerprints of earlier versions is found, too; an invented value was never let in.
  const byValue = known === undefined ? { fingerprint: fingerprints } : { credential: id };
  const used = await summarise(db, kind === 'token' ? { tokenId: id } : byValue);
  const refusals = await findEvents(db, { fingerprint: fingerprints, outcome: 'failure' }, refusalsShown);
  const [issued] = await findEvents(db, issueOf(kind, id), 1);
  const denied = await summarise(db, { fingerprint: fingerprints, action: 'request.denied' });
  const issuedUse = kind === 'client_secret' ? await sumIssuedUse(db, id) : undefined;
  return {
    kind,
    fingerprint: fingerprints[0],
    credential_id: id,
    genuine: known !== undefined,
    client_id: known?.clientId ?? clientId ?? issued?.client_id ?? used.clients[0] ?? null,
    parent: kind === 'token' ? (issued?.credential_id ?? null) : null,
    issued: issued === undefined ? null : toEcs(issued),
    ...shown(used),
    refused: denied.calls,
    partial: used.partial || denied.partial,
    tokens: issuedUse?.tokens ?? 0,
    issued_use: issuedUse === undefined ? null : shownUse(issuedUse),
    refusals: refusals.map(toEcs),
  };
};

const shown = (used: Summary) => ({
  calls: used.calls,
  partial: used.partial,
  scopes_used: used.scopes,
  addresses: used.addresses,
  first_used: used.first?.toISOString() ?? null,
  last_used: used.last?.toISOString() ?? null,
});

const shownUse = ({ allowed, refused, partial, addresses, first, last }: IssuedUse): TracedUse => ({
  ...{ calls: allowed, refused, partial, addresses },
  first_used: first?.toISOString() ?? null,
  last_used: last?.toISOString() ?? null,
});

const issueOf = (kind: Traced['kind'], id: string) => {
  if (kind === 'token') return { tokenId: id, action: 'token.issued' };
  return { credential: id, action: kind === 'api_key' ? 'key.created' : 'secret.created' };
};

const readValue = (value: string): Omit<Claim, 'fingerprints'> => {
  if (isApiKey(value)) return { kind: 'api_key', id: idOfValue(value), clientId: undefined };
  if (isClientSecret(value)) return { kind: 'client_secret', id: idOfValue(value), clientId: undefined };
  try {
    const { jti, client_id: clientId } = decodeJwt(value);
    if (typeof jti === 'string' && typeof clientId === 'string') return { kind: 'token', id: jti, clientId };
  } catch {
    // Not a JWT: refused below like everything else that is not ours.
  }
  throw new Fault('VALIDATION_ERROR', 'This is not an API key, a client secret or an access token');
};
