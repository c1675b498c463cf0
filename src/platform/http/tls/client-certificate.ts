/** Facts of the certificate that a client presented in its TLS handshake. */
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** Only of a certificate that an authority of ORDERPASS_TLS_CLIENT_CA_FILE has signed: others end their connection. */
type ClientCertificate = {
  /** One attribute per line: `CN=till-1`. */
  readonly subject: string;
  readonly alternativeNames: readonly AlternativeName[];
  /** SHA-256 of the DER form as base64url: the `x5t#S256` of RFC 8705 section 3.1. */
  readonly thumbprint: string;
  /** Hexadecimal. */
  readonly serial: string;
};

/** `kind`: `DNS`, `URI`, `IP Address`, `email`, … */
type AlternativeName = { kind: string; value: string };

/** A connection has one handshake, and most requests do not need the facts: they are read at the first use. */
const known = new WeakMap<Socket, ClientCertificate | undefined>();

/** Undefined on a plain connection, when none was requested, and when the client presented none. */
export const clientCertificateOf = (socket: Socket): ClientCertificate | undefined => {
  if (!(socket instanceof TLSSocket)) return undefined;
  if (known.has(socket)) return known.get(socket);
  const presented = socket.getPeerX509Certificate();
  const facts = presented === undefined || !socket.authorized ? undefined : factsOf(presented);
  known.set(socket, facts);
  return facts;
};

const factsOf = ({ subject, subjectAltName, fingerprint256, serialNumber }: X509Certificate): ClientCertificate => ({
  subject: subject ?? '',
  alternativeNames: readAlternativeNames(subjectAltName ?? ''),
  thumbprint: Buffer.from(fingerprint256.replaceAll(':', ''), 'hex').toString('base64url'),
  serial: serialNumber,
});

/** Node joins the names by commas and writes a value that holds a comma as a JSON string. */
const namePattern = /([A-Za-z ]{1,20}):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/gy;

const readAlternativeNames = (text: string): AlternativeName[] =>
  [...text.matchAll(namePattern)].map(([, kind = '', value = '']) => ({
    kind,
    value: value.startsWith('"') ? String(JSON.parse(value)) : value,
  }));
