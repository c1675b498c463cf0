/**
 * Signatures of a delivery (interface 12.3, Standard Webhooks): `v1` HMAC-SHA256 and `v1a` Ed25519 over
 * `id.timestamp.body`, and the plain hex HMAC of the body that older integrations check.
 */
import { createHmac, createSecretKey, type KeyObject, sign as signWith } from 'node:crypto';

type SignedParts = { id: string; timestampSeconds: number; body: string };

/** The bytes of a secret: decoded base64 after `whsec_`, otherwise its UTF-8 bytes. */
export const secretBytes = (secret: string): Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret, 'utf8');

/** The keys of both signatures of a secret; making a key costs more than signing with it. */
export type SecretKeys = { v1: KeyObject; hex: KeyObject };

export const secretKeys = (secret: string): SecretKeys => ({
  v1: createSecretKey(secretBytes(secret)),
  hex: createSecretKey(Buffer.from(secret, 'utf8')),
});

/** The bytes that `v1` and `v1a` sign. */
export const signedBytes = ({ id, timestampSeconds, body }: SignedParts): Buffer =>
  Buffer.from(`${id}.${timestampSeconds}.${body}`);

export const signV1 = (secret: string, parts: SignedParts): string =>
  v1Of(createSecretKey(secretBytes(secret)), signedBytes(parts));

export const v1Of = (key: KeyObject, signed: Buffer): string =>
  `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;

export const signV1a = (key: KeyObject, parts: SignedParts): string => v1aOf(key, signedBytes(parts));

export const v1aOf = (key: KeyObject, signed: Buffer): string =>
  `v1a,${signWith(null, signed, key).toString('base64')}`;

/** Lower-case hex HMAC of the raw body, keyed with the secret exactly as it was shown. */
export const signHex = (secret: string, body: string): string => hexOf(createSecretKey(Buffer.from(secret)), body);

export const hexOf = (key: KeyObject, body: string): string => createHmac('sha256', key).update(body).digest('hex');
