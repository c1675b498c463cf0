/**
 * What an endpoint logs in with at its receiver (interface 32): a client certificate, an OAuth client or a fixed header. It is
 * stored sealed, and never shown again but for what names it.
 */
import { X509Certificate } from 'node:crypto';
import { dayMs } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';

/** PEM; the first certificate is that of the key, others are its chain. */
export type CertificateAuth = { type: 'certificate'; certificate: string; privateKey: string };

/** A client of the receiver's authorization server (RFC 6749 section 4.4). */
export type OAuthAuth = {
  type: 'oauth';
  tokenUrl: string;
  clientId: string;
  scope: string | null;
  /** HTTP Basic, or an assertion (RFC 7523) that the key signs. `audience`: null for the token URL. */
  proof: { secret: string } | { privateKey: string; keyId: string | null; audience: string | null };
};

/** The name is lower case. */
export type HeaderAuth = { type: 'header'; name: string; value: string };

export type EndpointAuth = CertificateAuth | OAuthAuth | HeaderAuth;

/** `id`: subject of the certificate, id of the client, or name of the header. `expires`: end of the certificate, in ISO form. */
export type ShownAuth = { type: EndpointAuth['type']; id: string; expires: string | null };

export type StoredAuth = { auth: Buffer | null; authShown: ShownAuth | null };

const sealLabel = (endpointUid: string): string => `webhook-endpoint-auth/${endpointUid}`;

/** `auth` must have passed `authProblems`. */
export const sealAuth = (box: Pick<SecretBox, 'seal'>, endpointUid: string, auth: EndpointAuth | null): StoredAuth =>
  auth === null
    ? { auth: null, authShown: null }
    : { auth: box.seal(JSON.stringify(auth), sealLabel(endpointUid)), authShown: shownOf(auth) };

const shownOf = (auth: EndpointAuth): ShownAuth => {
  if (auth.type === 'header') return { type: 'header', id: auth.name, expires: null };
  if (auth.type === 'oauth') return { type: 'oauth', id: auth.clientId, expires: null };
  const { subject, serialNumber, validToDate } = new X509Certificate(auth.certificate);
  // A certificate for machines may name them in subjectAltName alone.
  const id = (subject ?? '').replaceAll('\n', ', ') || `serial number ${serialNumber}`;
  return { type: 'certificate', id, expires: validToDate.toISOString() };
};

/** chosen: a new certificate may take an authority some weeks. */
const warnedMs = 30 * dayMs;

/** Whether a certificate ends within 30 days; null where it does not, and without a certificate. `expires`: in ISO form. */
export const certificateEnds = (expires: string | null | undefined, now: Date): 'soon' | 'ended' | null => {
  if (expires === null || expires === undefined) return null;
  const leftMs = new Date(expires).getTime() - now.getTime();
  if (leftMs <= 0) return 'ended';
  return leftMs <= warnedMs ? 'soon' : null;
};

export type OpenedAuth = (endpointUid: string, sealed: Buffer) => EndpointAuth;

/** chosen: endpoints whose opened form is cached before the cache starts over. */
const cachedMax = 4_096;

/** Opens each sealed form once: the same object comes back as long as it is cached, and connections and tokens belong to it. */
export const createOpenedAuth = (box: Pick<SecretBox, 'open'>): OpenedAuth => {
  const cache = new Map<string, { sealed: Buffer; auth: EndpointAuth }>();
  return (endpointUid, sealed) => {
    const known = cache.get(endpointUid);
    if (known?.sealed.equals(sealed)) return known.auth;
    const auth = JSON.parse(box.open(sealed, sealLabel(endpointUid))) as EndpointAuth;
    if (cache.size >= cachedMax) cache.clear();
    cache.set(endpointUid, { sealed, auth });
    return auth;
  };
};
