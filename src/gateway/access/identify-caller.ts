/**
 * Interface 6.2, steps 5 and 6: finds the presented credential and its caller. It also searches the body for a token, which
 * RFC 6750 allows and this server refuses, since a token decides the dialect of the refusal.
 */

import type { Socket } from 'node:net';
import { Fault } from '#src/contract/fault.ts';
import type { RequireProof } from '../dpop/require-proof.ts';
import type { CheckAddress } from '../limits/check-address.ts';
import { addressNotAllowed, tokenInBody } from '../model/faults.ts';
import type { Principal } from '../model/principal.ts';
import { denialRoute, mayBeAnonymous, ownUpstream } from '../model/route.ts';
import type { Exchange, Step } from '../request/exchange.ts';
import { formHoldsToken, jsonHoldsToken } from '../request/find-token.ts';
import { announcesBody, mediaTypeOf } from '../request/limit-body.ts';
import { readBodyPrefix } from '../request/read-body-prefix.ts';
import { type Presented, readCredential } from '../request/read-credential.ts';
import type { RequireCertificate } from '../request/require-certificate.ts';
import type { Authenticate } from './authenticate.ts';
import type { Admitted } from './ended-principal.ts';
import { createRequireScopes } from './rights/require-scopes.ts';

export type IdentifyCallerDeps = {
  /** Returns a promise only when it has to wait; a promise costs the hot path a turn of the event loop. */
  authenticate: Authenticate;
  /** Undefined: tokens bound to a key are not accepted. */
  requireProof: RequireProof | undefined;
  requireCertificate: RequireCertificate;
  checkAddress: CheckAddress;
  /** Called for each accepted credential of a request that a caller sent, with the address of the peer. */
  recordUse: (credentialId: string, address: string | undefined) => void;
};

/** A caller with API access off may still use whoami (interface 3.2), and an ended one may read its denials. */
const admittedTo = ({ route }: Exchange): Admitted => {
  if (route?.upstream !== ownUpstream) return 'live';
  return route.id === denialRoute ? 'ended' : 'disabled';
};

const searchedBytesMax = 64 * 1024;

export const createIdentifyCaller = (deps: IdentifyCallerDeps): Step => {
  const { authenticate, requireProof, requireCertificate, checkAddress, recordUse } = deps;
  /** Last, so that the answer tells only the holder of a right credential where it may be used from. */
  const accept = (exchange: Exchange, principal: Principal): void => {
    const elsewhere = checkAddress(principal, exchange.req);
    if (elsewhere !== undefined) throw addressNotAllowed(principal, elsewhere);
    exchange.principal = principal;
    // That of a tool call was counted with the request that brought it.
    if (exchange.within === undefined) recordUse(principal.credentialId, exchange.req.socket.remoteAddress);
  };
  const requireBinding = (exchange: Exchange, presented: Presented, principal: Principal): void | Promise<void> => {
    const { id, jkt, x5t, tokenId, fapi2Required = false } = principal;
    if (x5t === undefined && jkt === undefined) return accept(exchange, principal);
    if (isProvenBy(exchange.within, principal)) return accept(exchange, principal);
    if (x5t !== undefined) requireCertificate(exchange.req, x5t);
    if (jkt === undefined) return accept(exchange, principal);
    if (presented.kind !== 'bearer' || tokenId === undefined || requireProof === undefined)
      throw new Error('a bound token was accepted without its DPoP scheme');
    return requireProof(exchange, presented.token, { clientId: id, tokenId, jkt, fapi2Required }).then(() =>
      accept(exchange, principal),
    );
  };
  const identify = (exchange: Exchange, presented: Presented): void | Promise<void> => {
    const found = authenticate(presented, exchange.req, admittedTo(exchange));
    if (!(found instanceof Promise)) return requireBinding(exchange, presented, found);
    return found.then((principal) => requireBinding(exchange, presented, principal));
  };
  // A caller sends the same credential with all requests of a connection.
  const lastOn = new WeakMap<Socket, Presented>();
  return (exchange) => {
    const { req } = exchange;
    const before = lastOn.get(req.socket);
    const presented = readCredential(req.rawHeaders, exchange.search, exchange.dpop, before);
    if (presented !== before) lastOn.set(req.socket, presented);
    exchange.presented = presented;
    if (presented.kind === 'none' && mayBeAnonymous(exchange.route)) return;
    if (!announcesBody(exchange) || !mayHoldToken(exchange, presented)) return identify(exchange, presented);
    return refuseTokenInBody(exchange).then(() => identify(exchange, presented));
  };
};

/**
 * A proof is for one request (RFC 9449 section 11.1): that of a tool call came with the request that brought the call, as did
 * its certificate.
 */
const isProvenBy = (outer: Exchange | undefined, { tokenId }: Principal): boolean =>
  tokenId !== undefined && outer?.principal?.tokenId === tokenId;

const formType = 'application/x-www-form-urlencoded';

/**
 * Only on routes for JSON: there a form is refused in any case, so its body may be read here. JSON beside a credential is
 * left for the upstream. On every other route a body is data of the upstream and never a credential.
 */
const mayHoldToken = ({ req, route }: Exchange, presented: Presented): boolean => {
  if (route?.body !== 'json') return false;
  const type = mediaTypeOf(req.headers['content-type']);
  return type === formType || (type === 'application/json' && presented.kind === 'none');
};

const refuseTokenInBody = async (exchange: Exchange): Promise<void> => {
  const timeoutMs = exchange.route?.timeouts.bodyMs ?? 0;
  const prefix = await readBodyPrefix(exchange, searchedBytesMax, timeoutMs);
  exchange.body = prefix.length === 0 ? 'empty' : 'seen';
  // Names and structure are ASCII, so the bytes may be read as Latin-1: broken UTF-8 cannot hide a name.
  const text = prefix.toString('latin1');
  const isForm = mediaTypeOf(exchange.req.headers['content-type']) === formType;
  exchange.tokenInBody = isForm ? formHoldsToken(text) : jsonHoldsToken(text);
  if (exchange.tokenInBody) throw tokenInBody();
};

/**
 * Rejects when a new request with the credential of this one would be refused, and when its caller lost rights of `before`, which
 * the upstream was sent. Returns the caller as it is now. For connections that stay open.
 */
export type RecheckCaller = (exchange: Exchange, before: Principal) => Promise<Principal>;

/** `authenticate`: it must not count a credential that ended meanwhile as an attempt. */
export const createRecheckCaller = ({
  authenticate,
  requireCertificate,
  checkAddress,
}: Pick<IdentifyCallerDeps, 'authenticate' | 'requireCertificate' | 'checkAddress'>): RecheckCaller => {
  const requireScopes = createRequireScopes();
  return async (exchange, before) => {
    const presented = readCredential(exchange.req.rawHeaders, exchange.search, exchange.dpop);
    const principal = await authenticate(presented, exchange.req);
    if (principal.x5t !== undefined) requireCertificate(exchange.req, principal.x5t);
    const elsewhere = checkAddress(principal, exchange.req);
    if (elsewhere !== undefined) throw addressNotAllowed(principal, elsewhere);
    const current = { ...exchange, principal };
    // It limits a narrowed caller to the route, as `before` is.
    await requireScopes(current);
    if (hasLost(before, current.principal)) throw new Fault('UNAUTHORIZED', 'The caller lost rights');
    return current.principal;
  };
};

/** The lists are compared only after a change, since all callers of one record share them. */
const hasLost = (before: Principal, now: Principal): boolean =>
  (before.tenants !== now.tenants && !includesAll(now.tenants, before.tenants)) ||
  (before.tenantsDisabled !== now.tenantsDisabled && !includesAll(before.tenantsDisabled, now.tenantsDisabled)) ||
  (before.scopes !== now.scopes && !includesAll(now.scopes, before.scopes));

const includesAll = (names: Iterable<string>, wanted: Iterable<string>): boolean => {
  const known = new Set(names);
  for (const name of wanted) if (!known.has(name)) return false;
  return true;
};
