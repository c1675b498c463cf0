/** Checks what an endpoint shall log in with, before it is stored. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { isSignatureField } from '../signing/message-signature.ts';
import type { CertificateAuth, EndpointAuth, HeaderAuth, OAuthAuth } from './endpoint-auth.ts';

/** `member`: of the parameter `auth`. */
type AuthProblem = { member: string; message: string };

const problem = (member: string, message: string): AuthProblem => ({ member, message });

/** What is wrong; empty when nothing is. The token URL is checked over the network instead. */
export const authProblems = (auth: EndpointAuth): AuthProblem[] => {
  switch (auth.type) {
    case 'certificate':
      return certificateProblems(auth);
    case 'oauth':
      return oauthProblems(auth);
    case 'header':
      return headerProblems(auth);
  }
};

const readCertificate = (pem: string): X509Certificate | undefined => {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
};

/** Undefined for anything but a private key in PEM without a password. */
const readKey = (pem: string): KeyObject | undefined => {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
};

const keyText = 'must be a private key in PEM, without a password';

const certificateProblems = ({ certificate, privateKey }: CertificateAuth): AuthProblem[] => {
  const [read, key] = [readCertificate(certificate), readKey(privateKey)];
  const problems: AuthProblem[] = [];
  if (read === undefined)
    problems.push(problem('certificate', 'must be a certificate in PEM, with its chain after it where there is one'));
  if (key === undefined) problems.push(problem('private_key', keyText));
  if (read === undefined || key === undefined) return problems;
  if (!read.checkPrivateKey(key)) return [problem('private_key', 'is not the key of the certificate')];
  const { validFromDate, validToDate } = read;
  // TLS goes by the clock of the machine too.
  const now = new Date();
  if (validToDate <= now) return [problem('certificate', `expired at ${validToDate.toISOString()}`)];
  if (validFromDate > now) return [problem('certificate', `is valid from ${validFromDate.toISOString()} on`)];
  try {
    createSecureContext({ cert: certificate, key: privateKey });
  } catch (error) {
    const reason = error instanceof Error && 'reason' in error ? String(error.reason) : 'it is refused';
    return [problem('certificate', `cannot be used for TLS: ${reason}`)];
  }
  return [];
};

const oauthProblems = ({ proof }: OAuthAuth): AuthProblem[] => {
  if ('secret' in proof) return [];
  const key = readKey(proof.privateKey);
  if (key === undefined) return [problem('private_key', keyText)];
  return assertionAlgorithm(key) === undefined
    ? [problem('private_key', 'must be a key for EdDSA (Ed25519), ES256 (P-256) or PS256 (RSA, 2048 bits at least)')]
    : [];
};

/** The JWS algorithm of an assertion that the key signs. */
export const assertionAlgorithm = (key: KeyObject): 'EdDSA' | 'ES256' | 'PS256' | undefined => {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'ed25519') return 'EdDSA';
  if (key.asymmetricKeyType === 'ec') return namedCurve === 'prime256v1' ? 'ES256' : undefined;
  return key.asymmetricKeyType === 'rsa' && modulusLength >= 2048 ? 'PS256' : undefined;
};

/** Fields of the connection and of the message itself (RFC 9110 section 7.6.1, RFC 9112). */
const refusedNames: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'host', 'expect', 'date', 'via'],
  ...['http2-settings', 'max-forwards', 'user-agent', 'forwarded'],
]);
const refusedPrefixes = ['content-', 'webhook-', 'signature', 'proxy-', 'x-orderpass-', 'x-forwarded-'] as const;

const isRefusedName = (name: string): boolean =>
  refusedNames.has(name) || isSignatureField(name) || refusedPrefixes.some((prefix) => name.startsWith(prefix));

const headerProblems = ({ name, value }: HeaderAuth): AuthProblem[] => [
  ...(isRefusedName(name) ? [problem('name', 'is the name of another header')] : []),
  // Other characters are changed or refused on the way (RFC 9110 section 5.5).
  ...(/^[\x20-\x7e]+$/.test(value) ? [] : [problem('value', 'must be visible ASCII characters and spaces')]),
];
