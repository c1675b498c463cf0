/** RFC 8705 section 2: client authentication by a certificate, and the certificate that a new token is bound to. */
import type { IncomingMessage } from 'node:http';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { ClientCertificate } from '#src/platform/http/tls/client-certificate.ts';
import { type ClientRecord, liveCertificate } from '../credentials/lookup/records.ts';
import { hasName } from '../credentials/state/certificate-name.ts';
import { type ClientCertificates, isValidAt } from '../request/client-certificate.ts';
import { invalidField, invalidRequest } from './oauth-answers.ts';

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
  if (!isValidAt(certificate, nowMs)) return false;
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
  const fits = isKnown ? isOfClient(deps, record, presented) : isValidAt(presented, deps.clock.now().getTime());
  if (!fits) throw invalidRequest('The presented certificate is not a valid one of this client');
  return presented.thumbprint;
};
