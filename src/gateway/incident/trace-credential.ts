/**
 * Traces a credential by its value: its issue, its use with addresses and scopes, and its refusals. The value is turned
 * into its fingerprint here and is neither stored nor shown.
 */
import { decodeJwt } from 'jose';
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { createEarlierFingerprint, createFingerprint } from '../audit/event/fingerprint.ts';
import { type FoundEvent, toFound } from '../audit/event/found-event.ts';
import type { EventFilter } from '../audit/search/filter-store.ts';
import { type IssuedUse, sumIssuedUse } from '../audit/search/issued-use.ts';
import { findEvents, type Summary, summarise } from '../audit/search/search-store.ts';
import { idOfValue, isApiKey, isClientSecret } from '../model/credential-values.ts';
import { type Claimed, findIssued } from './find-issued.ts';
import { ancestorsOf } from './issued-tokens.ts';

export type Traced = {
  kind: 'api_key' | 'client_secret' | 'client_certificate' | 'token';
  /** Key id, secret id, `client/thumbprint` or `jti`. */
  id: string;
  fingerprint: string;
  /** True: this installation issued exactly this value. Otherwise the ids are unproven claims of the value. */
  genuine: boolean;
  clientId: string | null;
  /** For a token: the secret or key for which it was issued. */
  parent: string | null;
  /** For a token: id of the token that it was exchanged from. */
  parentToken: string | null;
  issued: FoundEvent | null;
  /** Allowed requests with it. */
  calls: number;
  /** Refused requests with it, also at the OAuth endpoints. Of a flood, at least the first hundred of each minute are counted. */
  refused: number;
  /** True: there are more events of allowed requests than were read, so their figures cover only the newest. */
  partial: boolean;
  /** The same of refused requests. */
  refusedPartial: boolean;
  scopesUsed: readonly string[];
  /** At most 100: of each network the one with most requests first, so that one with many addresses does not displace the others. */
  addresses: readonly string[];
  /** There are more than are listed. */
  moreAddresses: boolean;
  firstUsed: Date | null;
  lastUsed: Date | null;
  /** Number of tokens that were issued for a secret or a certificate. */
  tokens: number;
  /** Use of those tokens; null for kinds of credentials for which no tokens are issued. */
  issuedUse: TracedUse | null;
  refusals: readonly FoundEvent[];
};

type TracedUse = {
  /** Allowed and refused requests. */
  calls: number;
  refused: number;
  /** True: not everything was read, so both are lower bounds. */
  partial: boolean;
  addresses: readonly string[];
  moreAddresses: boolean;
  firstUsed: Date | null;
  lastUsed: Date | null;
};

const refusalsShown = 20;

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive' | 'digest'> };

/** Unproven facts about a credential. `fingerprints`: of its value, the current form first. */
export type Claim = {
  kind: Traced['kind'];
  id: string;
  clientId: string | undefined;
  fingerprints: readonly [string, ...string[]];
};

/** VALIDATION_ERROR for text that does not have the format of a credential. */
export const traceCredential = async (deps: Deps, value: string): Promise<Traced> => {
  const claimed = readValue(value);
  const fingerprints = [createFingerprint(deps.box)(value), createEarlierFingerprint(deps.box)(value)] as const;
  const known = await findIssued(deps, { ...claimed, value });
  return traceClaim(deps, { ...claimed, fingerprints }, known);
};

/** `known`: undefined when the value was not issued here, or that cannot be decided. */
export const traceClaim = async (
  { db }: Pick<Deps, 'db'>,
  { kind, id, clientId, fingerprints }: Claim,
  known: { clientId: string | null } | undefined,
): Promise<Traced> => {
  // The id of a genuine value also finds events with fingerprints of earlier versions. An invented value has no allowed
  // requests.
  const byFingerprint = { fingerprint: fingerprints };
  const byValue = known === undefined ? byFingerprint : { credential: id };
  // Events have no fingerprint of a certificate, because it is no secret.
  const bySelf = kind === 'client_certificate' ? byValue : byFingerprint;
  const used = await summarise(db, kind === 'token' ? { tokenId: id } : byValue);
  const refusals = await findEvents(db, { ...bySelf, outcome: 'failure' }, refusalsShown);
  const [issued] = await findEvents(db, issueOf(kind, id), 1);
  const refused = await sumRefused(db, kind, bySelf);
  const issuedUse = getsTokens(kind) ? await sumIssuedUse(db, id) : undefined;
  return {
    kind,
    id,
    fingerprint: fingerprints[0],
    genuine: known !== undefined,
    clientId: known?.clientId ?? clientId ?? issued?.client_id ?? used.clients[0] ?? null,
    parent: kind === 'token' ? (issued?.credential_id ?? null) : null,
    parentToken: kind === 'token' && issued !== undefined ? (ancestorsOf(issued.details)[0] ?? null) : null,
    issued: issued === undefined ? null : toFound(issued),
    ...shown(used),
    refused: refused.calls,
    refusedPartial: refused.partial,
    tokens: issuedUse?.tokens ?? 0,
    issuedUse: issuedUse === undefined ? null : shownUse(issuedUse),
    refusals: refusals.map(toFound),
  };
};

/** Refused requests, and for a credential of the OAuth endpoints what these refused. */
const sumRefused = async (
  db: Kysely<unknown>,
  kind: Traced['kind'],
  bySelf: EventFilter,
): Promise<Pick<Summary, 'calls' | 'partial'>> => {
  const denied = await summarise(db, { ...bySelf, action: 'request.denied' });
  if (!getsTokens(kind)) return denied;
  const refused = await summarise(db, { ...bySelf, action: 'token.refused' });
  return { calls: denied.calls + refused.calls, partial: denied.partial || refused.partial };
};

/** True for the kinds of credentials that tokens are issued for. */
export const getsTokens = (kind: Traced['kind']): boolean => kind === 'client_secret' || kind === 'client_certificate';

const shown = (used: Summary) => ({
  calls: used.calls,
  partial: used.partial,
  scopesUsed: used.scopes,
  addresses: used.addresses,
  moreAddresses: used.moreAddresses,
  firstUsed: used.first,
  lastUsed: used.last,
});

const shownUse = ({ allowed, refused, partial, addresses, moreAddresses, first, last }: IssuedUse): TracedUse => ({
  calls: allowed,
  refused,
  partial,
  addresses,
  moreAddresses,
  firstUsed: first,
  lastUsed: last,
});

const issueOf = (kind: Traced['kind'], id: string) => {
  if (kind === 'token') return { tokenId: id, action: 'token.issued' };
  return { credential: id, action: issueActions[kind] };
};

const issueActions = {
  api_key: 'key.created',
  client_secret: 'secret.created',
  client_certificate: 'client_certificate.added',
} as const;

/** A certificate has no secret value, so it is traced by its hash alone (trace-hashed.ts). */
const readValue = (value: string): Omit<Claimed, 'value'> & Pick<Claim, 'clientId'> => {
  if (isApiKey(value)) return { kind: 'api_key', id: idOfValue(value), clientId: undefined };
  if (isClientSecret(value)) return { kind: 'client_secret', id: idOfValue(value), clientId: undefined };
  try {
    const { jti, client_id: clientId } = decodeJwt(value);
    if (typeof jti === 'string' && typeof clientId === 'string') return { kind: 'token', id: jti, clientId };
  } catch {
    // Not a JWT: refused below like every other unknown text.
  }
  throw new Fault('VALIDATION_ERROR', 'This is not an API key, a client secret or an access token');
};
