/** Certificates by which clients prove themselves and to which their tokens are bound (RFC 8705). */
import { X509Certificate } from 'node:crypto';
import { Fault, validationFault } from '#src/contract/fault.ts';
import { certificateFacts } from '#src/platform/http/tls/client-certificate.ts';
import { hasStrongKey } from '#src/platform/http/tls/strength.ts';
import { clientKeyName } from '../show/show-credentials.ts';
import { readAlternativeName, readSubjectName } from '../state/certificate-name.ts';
import * as store from '../state/certificate-store.ts';
import { assertFound, type CredentialsDeps, found } from '../state/credentials-deps.ts';
import { insertStateChange } from '../state/state-store.ts';
import { change, noteChange, only, revoking, type Tx } from './change.ts';

/** One of the two. `pem`: one certificate; its key has no place here. `thumbprint`: SHA-256 of the DER form, as hexadecimal or base64url. */
export type GivenCertificate = { pem: string } | { thumbprint: string };

export type AddedCertificate = { clientId: string; thumbprint: string; expires: Date | null };

/** One of the two, as the certificate has it. */
export type GivenName = { tlsSubject: string } | { tlsSan: string };

/** Registered certificates of one client, for rotation and for several machines. */
const certificatesMax = 20;
/**
 * chosen: what was removed is remembered, since it may have the name of the client for years. It is a bound on what is read with
 * the client, and daily rotation reaches it after years.
 */
const removedMax = 1_000;
const pemLengthMax = 65_536;

/** Canonical name of model/certificate-name.ts. Throws VALIDATION_ERROR. */
export const readCertificateName = (given: GivenName): string =>
  'tlsSubject' in given ? readSubjectName(given.tlsSubject) : readAlternativeName(given.tlsSan);

export const certificateChanges = (deps: CredentialsDeps) => ({
  /**
   * Registers a certificate beside the earlier ones, which stay valid. It ends when it expires, or at `expires` if that is sooner.
   * CONFLICT: it is registered already, or the client has 20.
   */
  addClientCertificate: async (
    clientId: string,
    given: GivenCertificate,
    expires: Date | null = null,
    tx?: Tx,
  ): Promise<AddedCertificate> => {
    const now = deps.clock.now();
    const read = 'pem' in given ? readPem(given.pem, now) : { ...readThumbprint(given.thumbprint), end: null };
    const end = earlier(read.end, expires);
    if (end !== null && end.getTime() <= now.getTime()) throw wrong('the end is in the past');
    const { thumbprint, subject } = read;
    return change(deps, tx, only(clientId), async (inner) => {
      const count = found(await store.countCertificates(inner, clientId), 'client', clientId);
      if (count >= certificatesMax)
        throw new Fault('CONFLICT', `The client has ${count} certificates; remove one first`);
      await store.forgetOldestRemoved(inner, clientId, removedMax);
      const row = { clientId, thumbprint, subject, created: now, expires: end };
      if (!(await store.insertCertificate(inner, row)))
        throw new Fault('CONFLICT', `The client has the certificate ${thumbprint} already`);
      await noteChange(deps, inner, {
        action: 'client_certificate.added',
        client_id: clientId,
        credential_id: clientKeyName(clientId, thumbprint),
        details: JSON.stringify({ subject, expires: end?.toISOString() ?? null }),
      });
      return { clientId, thumbprint, expires: end };
    });
  },

  /** Ends the certificate and every token that is bound to it. */
  removeClientCertificate: (clientId: string, given: string, tx?: Tx): Promise<void> =>
    change(deps, tx, revoking(clientId), async (inner) => {
      const { thumbprint } = readThumbprint(given);
      const isKnown = await store.markCertificateRevoked(inner, clientId, thumbprint, deps.clock.now());
      assertFound(isKnown, 'certificate', thumbprint);
      const credential = clientKeyName(clientId, thumbprint);
      const actor = deps.actor ?? 'system';
      // The history knows certificates as keys of the client.
      const state = { kind: 'client_key', credential, state: 'revoked', reason: 'removed' } as const;
      await insertStateChange(inner, { ...state, actor, at: deps.clock.now() });
      const about = { client_id: clientId, credential_id: credential, reason: state.reason };
      await noteChange(deps, inner, { action: 'client_certificate.removed', ...about });
    }),

  /** The name by which certificates of the operator's authorities are those of the client; null: none are. Tokens stay valid. */
  setClientCertificateName: (clientId: string, given: GivenName | null, tx?: Tx): Promise<void> =>
    change(deps, tx, revoking(clientId), async (inner) => {
      const name = given === null ? null : readCertificateName(given);
      assertFound(await store.updateCertificateName(inner, clientId, name), 'client', clientId);
      const details = JSON.stringify({ certificate_name: name });
      await noteChange(deps, inner, { action: 'client.rights_changed', client_id: clientId, details });
    }),

  /** While it is required, tokens that are not bound to a certificate are refused; afterwards they are valid again. */
  setClientCertificateRequired: (clientId: string, isRequired: boolean, tx?: Tx): Promise<void> =>
    change(deps, tx, only(clientId), async (inner) => {
      assertFound(await store.updateCertificateRequired(inner, clientId, isRequired), 'client', clientId);
      const details = JSON.stringify({ certificate_required: isRequired });
      await noteChange(deps, inner, { action: 'client.rights_changed', client_id: clientId, details });
    }),
});

const earlier = (one: Date | null, other: Date | null): Date | null => {
  if (one === null || other === null) return one ?? other;
  return one.getTime() < other.getTime() ? one : other;
};

const wrong = (message: string): Fault => validationFault([{ pointer: 'certificate', code: 'FORMAT', message }]);

/** Facts of a certificate before it is registered. Throws VALIDATION_ERROR as the registration does. */
export const readGivenCertificate = (
  pem: string,
  now: Date,
): { thumbprint: string; subject: string; expires: Date } => {
  const { thumbprint, subject, end } = readPem(pem, now);
  if (end.getTime() <= now.getTime()) throw wrong('the certificate has ended');
  return { thumbprint, subject, expires: end };
};

const readPem = (pem: string, now: Date): { thumbprint: string; subject: string; end: Date } => {
  if (pem.includes('PRIVATE KEY')) throw wrong('the file holds a private key; give the certificate alone');
  const [text, second] =
    pem.length > pemLengthMax ? [] : (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []);
  if (text === undefined || second !== undefined) throw wrong('must be one certificate in PEM form');
  const certificate = parse(text);
  if (certificate.validToDate.getTime() <= now.getTime()) throw wrong('the certificate has expired');
  if (!hasStrongKey(certificate)) throw wrong('the key is too short: RSA needs 2,048 bits, and an elliptic curve 224');
  const { thumbprint, subject } = certificateFacts(certificate, false);
  return { thumbprint, subject: subject.split('\n').join(', ').slice(0, 300), end: certificate.validToDate };
};

const parse = (pem: string): X509Certificate => {
  try {
    return new X509Certificate(pem);
  } catch {
    throw wrong('the certificate cannot be read');
  }
};

/** Hexadecimal is what OpenSSL shows, with or without colons; base64url is the form of RFC 8705. */
const readThumbprint = (text: string): { thumbprint: string; subject: string } => {
  const hex = text.replaceAll(':', '');
  if (/^[0-9A-Fa-f]{64}$/.test(hex)) return { thumbprint: Buffer.from(hex, 'hex').toString('base64url'), subject: '' };
  if (/^[A-Za-z0-9_-]{43}$/.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text)
    return { thumbprint: text, subject: '' };
  throw wrong(
    'the thumbprint must be the SHA-256 of the certificate, as 64 hexadecimal digits or 43 characters of base64url',
  );
};
