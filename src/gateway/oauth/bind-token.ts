/**
 * What a new token is bound to: a key (RFC 9449 section 5), or a certificate (RFC 8705 section 3), by which the client may also have
 * proven itself (section 2).
 */
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { ClientCertificate } from '#src/platform/http/tls/client-certificate.ts';
import { type ClientRecord, liveCertificate } from '../credentials/lookup/records.ts';
import { hasName } from '../credentials/state/certificate-name.ts';
import type { Dpop } from '../dpop/dpop.ts';
import type { RulesOf } from '../dpop/profile.ts';
import { type ClientCertificates, isUsable } from '../request/client-certificate.ts';
import { proofsOf } from '../request/read-proof.ts';
import type { CountFailure } from './limit-failures.ts';
import { invalidField, invalidRequest, OAuthRefusal } from './oauth-answers.ts';
import { tokenPath } from './token-issuer.ts';

/**
 * Resolves with the thumbprint of that key, or undefined for an unbound token. Rejects with OAuthRefusal. `client`: it is
 * authenticated already, so wrong proofs count as its own failures. `byCertificate`: by a certificate, to which the token is bound
 * otherwise.
 */
export type BindToken = (
  ctx: Pick<Context, 'req' | 'set'>,
  client: ClientRecord,
  byCertificate: boolean,
) => Promise<string | undefined>;

export type BindTokenDeps = {
  /** Undefined when the operator has it off; then proofs are ignored like any unknown header. */
  dpop: Pick<Dpop, 'verifyProof' | 'freshNonce' | 'nonceProblem'> | undefined;
  countFailure: CountFailure;
  rulesOf: RulesOf;
};

export const createBindToken = ({ dpop, countFailure, rulesOf }: BindTokenDeps): BindToken => {
  return async (ctx, client, byCertificate) => {
    const { clientId } = client;
    const rules = rulesOf(client);
    const isRequired = client.dpopRequired || (rules.boundTokensOnly && !byCertificate && !client.certificateRequired);
    if (dpop === undefined) {
      if (isRequired) throw invalidRequest('This client takes tokens bound by DPoP only, which is off here');
      return undefined;
    }
    const [proof, second] = proofsOf(ctx.req.rawHeaders);
    if (proof === undefined && !isRequired) return undefined;
    tellNonce(ctx, dpop.freshNonce());
    if (proof === undefined) throw invalidProof('This client must send a DPoP proof');
    if (second !== undefined) throw invalidProof('Send one DPoP proof');
    const result = await dpop.verifyProof(proof, { rules, method: 'POST', path: tokenPath });
    if (!('error' in result)) return result.jkt;
    tellNonce(ctx, result.nonce);
    // A missing nonce is part of the protocol (RFC 9449 section 8), so it is not counted as a failure.
    if (result.error !== 'use_dpop_nonce') await countFailure(ctx.req, clientId);
    throw invalidProof(result.text, result.error);
  };
};

/**
 * Throws use_dpop_nonce for a proof without a live nonce, where one is needed, before an assertion counts as used: libraries
 * repeat the request with a new proof and the same assertion (RFC 9449 section 8 changes the proof only).
 */
export const createRequireNonce =
  ({ dpop }: Pick<BindTokenDeps, 'dpop'>) =>
  (ctx: Pick<Context, 'req' | 'set'>): void => {
    const [proof, second] = proofsOf(ctx.req.rawHeaders);
    const problem = proof === undefined || second !== undefined ? undefined : dpop?.nonceProblem(proof);
    if (problem === undefined) return;
    tellNonce(ctx, problem.nonce);
    throw invalidProof(problem.text, problem.error);
  };

/** Every answer carries the nonce of the next proof. */
const tellNonce = (ctx: Pick<Context, 'set'>, nonce: string | undefined): void => {
  if (nonce !== undefined) ctx.set('dpop-nonce', nonce);
};

const invalidProof = (text: string, error = 'invalid_dpop_proof'): OAuthRefusal => new OAuthRefusal(error, 400, text);

export type CertificateProofDeps = {
  /** Undefined: the operator has certificates off. */
  certificates: ClientCertificates | undefined;
  clock: Clock;
};

/** Throws invalid_request for a field of a proxy that cannot be read. */
export const presentedCertificate = (
  { certificates }: Pick<CertificateProofDeps, 'certificates'>,
  req: IncomingMessage,
): ClientCertificate | undefined => {
  try {
    return certificates?.of(req);
  } catch (error) {
    const [problem] = error instanceof Fault ? (error.errors ?? []) : [];
    throw problem === undefined ? error : invalidField(problem.pointer, problem.code, problem.message);
  }
};

/**
 * True when the certificate is one of the client: registered by its thumbprint (self_signed_tls_client_auth, section 2.2), or
 * of the client's name and signed by an authority of the operator (tls_client_auth, section 2.1).
 */
export const isOfClient = (
  { certificates, clock }: CertificateProofDeps,
  record: ClientRecord,
  certificate: ClientCertificate,
): boolean => {
  const nowMs = clock.now().getTime();
  if (!isUsable(certificate, nowMs)) return false;
  if (liveCertificate(record, certificate.thumbprint, nowMs)) return true;
  const { certificateName: name } = record;
  if (name === null || record.certificates.some(({ thumbprint }) => thumbprint === certificate.thumbprint))
    return false;
  return hasName(certificate, name) && certificates?.isVerified(certificate, nowMs) === true;
};

/**
 * Thumbprint of the certificate that the new token is bound to; undefined: it is bound to none. Throws invalid_request for a
 * client that takes only such tokens and presents no certificate of its own. `authenticated`: the certificate by which the client
 * proved itself. `jkt`: the token is bound to a key already (RFC 9449), so it can be used where no certificate is requested.
 */
export const bindCertificate = (
  deps: CertificateProofDeps,
  req: IncomingMessage,
  record: ClientRecord,
  authenticated: ClientCertificate | undefined,
  jkt: string | undefined,
): string | undefined => {
  if (!record.certificateRequired) return jkt === undefined ? authenticated?.thumbprint : undefined;
  const presented = authenticated ?? presentedCertificate(deps, req);
  if (presented === undefined)
    throw invalidRequest('This client takes tokens bound to a certificate only; present one');
  const isKnown = record.certificates.length > 0 || record.certificateName !== null;
  const fits = isKnown ? isOfClient(deps, record, presented) : isUsable(presented, deps.clock.now().getTime());
  if (!fits) throw invalidRequest('The presented certificate is not a valid one of this client');
  return presented.thumbprint;
};
