/**
 * Signatures of a delivery (interface 12.3, Standard Webhooks): `v1` HMAC-SHA256 and `v1a` Ed25519 over
 * `id.timestamp.body`, and the plain hex HMAC of the body that older integrations check.
 */
import { createHmac, type KeyObject } from 'node:crypto';
import { createHmacSha256, type HmacSha256 } from '#src/contract/hmac-sha256.ts';
import { signText } from './message-signature.ts';

type SignedParts = { id: string; timestampSeconds: number; body: string };

/** The bytes of a secret: decoded base64 after `whsec_`, otherwise its UTF-8 bytes. */
export const secretBytes = (secret: string): Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret, 'utf8');

/** The keys of both signatures of a secret; making a key costs more than signing with it. */
export type SecretKeys = { v1: HmacSha256; hex: HmacSha256 };

export const secretKeys = (secret: string): SecretKeys => ({
  v1: createHmacSha256(secretBytes(secret)),
  hex: createHmacSha256(Buffer.from(secret, 'utf8')),
});

/** What `v1` and `v1a` sign. */
export const signedText = ({ id, timestampSeconds, body }: SignedParts): string => `${id}.${timestampSeconds}.${body}`;

export const signV1 = (secret: string, parts: SignedParts): string =>
  v1Field(createHmac('sha256', secretBytes(secret)).update(signedText(parts)).digest('base64'));

/** `signature`: in base64. */
export const v1Field = (signature: string): string => `v1,${signature}`;

export const signV1a = (key: KeyObject, parts: SignedParts): string => v1aField(signText(key, signedText(parts)));

/** `signature`: in base64. */
export const v1aField = (signature: string): string => `v1a,${signature}`;

/** Lower-case hex HMAC of the raw body, keyed with the secret exactly as it was shown. */
export const signHex = (secret: string, body: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');
