/**
 * The certificate that the sender of a request has proven to hold the key of: that of its TLS connection, or the one that a
 * proxy of the operator names in `Client-Cert`, with its chain in `Client-Cert-Chain` (RFC 9440). A connection of such a proxy is never read for a certificate of its
 * own, since that is the certificate of the proxy. The field of everybody else is a claim without proof and is not read at all.
 */
import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type FaultDetail, validationFault } from '#src/contract/fault.ts';
import type { ClientAuthorities } from '#src/platform/http/tls/client-authorities.ts';
import {
  type ClientCertificate,
  certificateFacts,
  clientCertificateOf,
} from '#src/platform/http/tls/client-certificate.ts';
import { hasStrongKey } from '#src/platform/http/tls/strength.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import { createAddressList, plainAddress } from '../limits/address-list.ts';
import type { CertificateSettings } from './certificate-config.ts';

export type ClientCertificates = {
  /**
   * Undefined: none was presented. Throws VALIDATION_ERROR when a proxy sends a field that cannot be read. Nothing of the
   * certificate is checked yet.
   */
  of(req: IncomingMessage): ClientCertificate | undefined;
  /** An authority of ORDERPASS_TLS_CLIENT_CA_FILE stands for the certificate. */
  isVerified(certificate: ClientCertificate, nowMs: number): boolean;
  /** There are authorities, so clients may be known by a name. */
  readonly hasAuthorities: boolean;
};

const fieldName = 'client-cert';
const chainName = 'client-cert-chain';
/** chosen: authorities between a client and the root; real chains have one or two. */
const chainMax = 5;
/** A proxy carries the requests of many clients on one connection. */
const readMax = 2_000;

/** Undefined: the operator has it off. */
export const createClientCertificates = (
  settings: Pick<CertificateSettings, 'client_certificates' | 'client_certificate_proxies'>,
  authorities: ClientAuthorities | undefined,
): ClientCertificates | undefined => {
  if (settings.client_certificates === 'off') return undefined;
  const proxies = createAddressList(settings.client_certificate_proxies);
  const hasProxies = settings.client_certificate_proxies.length > 0;
  const isProxy = (address: string | undefined): boolean => {
    const plain = hasProxies && address !== undefined ? plainAddress(address) : undefined;
    return plain !== undefined && proxies.has(plain);
  };
  const read = createRecentMap<string, ClientCertificate>(readMax);
  return {
    of: (req) => {
      if (!isProxy(req.socket.remoteAddress)) return clientCertificateOf(req.socket);
      const field = fieldOf(req.rawHeaders, fieldName);
      if (field === undefined) return undefined;
      const chain = fieldOf(req.rawHeaders, chainName);
      // Neither part contains a line feed.
      const name = chain === undefined ? field : `${field}\n${chain}`;
      const known = read.get(name);
      if (known !== undefined) return known;
      const certificate = certificateFacts(readField(field, 'Client-Cert'), false, readChain(chain));
      read.set(name, certificate);
      return certificate;
    },
    isVerified: ({ isVerified, x509, chain }, nowMs) =>
      authorities !== undefined && (isVerified || authorities.haveSigned(x509, nowMs, chain)),
    hasAuthorities: authorities !== undefined,
  };
};

/** It may prove a client: it is valid now, and its key is too long to be computed (FAPI 2.0, section 5.4.1-2). */
export const isUsable = (certificate: ClientCertificate, nowMs: number): boolean =>
  isValidAt(certificate, nowMs) && hasStrongKey(certificate.x509);

/** RFC 9440 section 2.1: the notBefore and notAfter of the certificate count wherever it is used. */
export const isValidAt = ({ validFromMs, validToMs }: ClientCertificate, nowMs: number): boolean =>
  validFromMs <= nowMs && nowMs < validToMs;

type FieldName = 'Client-Cert' | 'Client-Cert-Chain';

const refuse = (pointer: FieldName, code: FaultDetail['code'], message: string): Error =>
  validationFault([{ pointer, code, message }]);

/** Of two fields node joins the values; another parser may use one of them. An empty value counts as absent. */
const fieldOf = (rawHeaders: readonly string[], wanted: typeof fieldName | typeof chainName): string | undefined => {
  let found: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    const value = rawHeaders[i + 1] ?? '';
    // Frameworks of proxies read `_` as `-`, so a caller could have smuggled the other spelling past the proxy.
    if (name.length !== wanted.length || name.toLowerCase() !== wanted || value === '') continue;
    if (found !== undefined)
      throw refuse(wanted === fieldName ? 'Client-Cert' : 'Client-Cert-Chain', 'DUPLICATE', 'must not be sent twice');
    found = value;
  }
  return found;
};

/** A Byte Sequence of RFC 9651 section 3.3.5 with its padding, without parameters. */
const byteSequence = /^:((?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?):$/;

const readField = (field: string, name: FieldName): X509Certificate => {
  const text = byteSequence.exec(field)?.[1];
  if (text === undefined) throw refuse(name, 'FORMAT', 'must be one certificate as a Byte Sequence of RFC 9440');
  const der = Buffer.from(text, 'base64');
  const certificate = parseDer(der);
  // Trailing bytes, PEM, and base64 with unused bits would give one certificate several texts.
  if (certificate === undefined || !certificate.raw.equals(der) || der.toString('base64') !== text)
    throw refuse(name, 'FORMAT', 'holds no X.509 certificate in DER form');
  return certificate;
};

/** RFC 9440 section 2.3: a List of Byte Sequences, the issuer of the client's certificate first. */
const readChain = (field: string | undefined): X509Certificate[] => {
  if (field === undefined) return [];
  const parts = field.split(',').map((part) => part.trim());
  if (parts.length > chainMax) throw refuse('Client-Cert-Chain', 'FORMAT', `has more than ${chainMax} certificates`);
  return parts.map((part) => readField(part, 'Client-Cert-Chain'));
};

const parseDer = (der: Buffer): X509Certificate | undefined => {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
};
