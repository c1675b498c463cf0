/** Facts of the certificate that a client presented in its TLS handshake, or that a proxy names for it. */
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

export type ClientCertificate = {
  /** One attribute per line: `CN=till-1`. */
  readonly subject: string;
  readonly alternativeNames: readonly AlternativeName[];
  /** SHA-256 of the DER form as base64url: the `x5t#S256` of RFC 8705 section 3.1. */
  readonly thumbprint: string;
  /** Hexadecimal. */
  readonly serial: string;
  readonly validFromMs: number;
  readonly validToMs: number;
  /** The TLS library found a chain to an authority of the listener's file. False: nothing is known of its authority. */
  readonly isVerified: boolean;
  readonly x509: X509Certificate;
  /** What a proxy sent beside it: each signed the one before it. Nothing of them is checked. */
  readonly chain: readonly X509Certificate[];
};

/** `kind`: `DNS`, `URI`, `IP Address`, `email`, … */
type AlternativeName = { kind: string; value: string };

/** A connection has one handshake, and most requests do not need the facts: they are read at the first use. */
const known = new WeakMap<Socket, ClientCertificate | undefined>();

/** Undefined on a plain connection, when none was requested, and when the client presented none. */
export const clientCertificateOf = (socket: Socket): ClientCertificate | undefined => {
  if (known.has(socket)) return known.get(socket);
  if (!(socket instanceof TLSSocket)) return undefined;
  const presented = socket.getPeerX509Certificate();
  const facts = presented && certificateFacts(presented, socket.authorized);
  known.set(socket, facts);
  return facts;
};

export const certificateFacts = (
  x509: X509Certificate,
  isVerified: boolean,
  chain: readonly X509Certificate[] = [],
): ClientCertificate => ({
  subject: x509.subject ?? '',
  alternativeNames: readAlternativeNames(x509.subjectAltName ?? ''),
  thumbprint: Buffer.from(x509.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url'),
  serial: x509.serialNumber,
  validFromMs: x509.validFromDate.getTime(),
  validToMs: x509.validToDate.getTime(),
  isVerified,
  x509,
  chain,
});

/** Node joins the names by commas and writes a value that holds a comma as a JSON string. */
const namePattern = /([A-Za-z ]{1,20}):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/gy;

const readAlternativeNames = (text: string): AlternativeName[] =>
  [...text.matchAll(namePattern)].map(([, kind = '', value = '']) => ({
    kind,
    value: value.startsWith('"') ? String(JSON.parse(value)) : value,
  }));
