/**
 * Signatures of a delivery (interface 12.3, Standard Webhooks): `v1` HMAC-SHA256 and `v1a` Ed25519 over
 * `id.timestamp.body`, and the plain hex HMAC of the body that older integrations check.
 */
import { createHmac, type KeyObject, sign as signWith } from 'node:crypto';

export type SignedParts = { id: string; timestampSeconds: number; body: string };

/** `whsec_` + base64 stands for the decoded bytes; any other secret for its UTF-8 bytes. */
export const secretBytes = (secret: string): Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret, 'utf8');

const signedText = ({ id, timestampSeconds, body }: SignedParts): string => `${id}.${timestampSeconds}.${body}`;

export const signV1 = (secret: string, parts: SignedParts): string =>
  `v1,${createHmac('sha256', secretBytes(secret)).update(signedText(parts)).digest('base64')}`;

export const signV1a = (key: KeyObject, parts: SignedParts): string =>
  `v1a,${signWith(null, Buffer.from(signedText(parts)), key).toString('base64')}`;

/** Lower-case hex over the raw body, keyed with the secret string exactly as it was shown. */
export const signHex = (secret: string, body: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');
