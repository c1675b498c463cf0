/**
 * Signatures of a delivery (interface 12.3, Standard Webhooks): `v1` HMAC-SHA256 and `v1a` Ed25519 over
 * `id.timestamp.body`, and the plain hex HMAC of the body that older integrations check.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { signText } from './message-signature.ts';

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

/** What `v1` and `v1a` sign. */
export const signedText = ({ id, timestampSeconds, body }: SignedParts): string => `${id}.${timestampSeconds}.${body}`;

export const signV1 = (secret: string, parts: SignedParts): string =>
  v1Of(createSecretKey(secretBytes(secret)), signedText(parts));

export const v1Of = (key: KeyObject, signed: string): string =>
  `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;

export const signV1a = (key: KeyObject, parts: SignedParts): string => v1aField(signText(key, signedText(parts)));

/** `signature`: in base64. */
export const v1aField = (signature: string): string => `v1a,${signature}`;

/** Lower-case hex HMAC of the raw body, keyed with the secret exactly as it was shown. */
export const signHex = (secret: string, body: string): string => hexOf(createSecretKey(Buffer.from(secret)), body);

export const hexOf = (key: KeyObject, body: string): string => createHmac('sha256', key).update(body).digest('hex');
