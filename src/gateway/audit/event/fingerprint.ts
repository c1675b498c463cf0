/**
 * One name for a credential that says nothing about it: whoever holds the value can compute it here, nobody else can. It is
 * made of the value's SHA-256, so that a browser can ask for it without sending the value: the values hold 128 random bits
 * and more, so nobody finds one by its digest, and the key of the fingerprint never leaves.
 */
import { hash } from 'node:crypto';
import { createHmacSha256 } from '#src/contract/hmac-sha256.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';

export type Fingerprint = (value: string) => string;

const hexLength = 32;

/** 128 bits of HMAC-SHA-256 in hex; the same for API keys, client secrets and tokens. */
export const createFingerprint = (box: Pick<SecretBox, 'derive'>): Fingerprint => {
  const ofHash = createFingerprintOfHash(box);
  return (value) => ofHash(hash('sha256', value, 'hex'));
};

/** The same from SHA-256 of the value, in lower-case hex. */
export const createFingerprintOfHash = (box: Pick<SecretBox, 'derive'>): Fingerprint => {
  const mac = createHmacSha256(box.derive('audit-fingerprint-of-sha256'));
  return (sha256) => mac(sha256, 'hex').slice(0, hexLength);
};

/** As events of earlier versions have it: made of the value itself, so only who sends the value finds them. */
export const createEarlierFingerprint = (box: Pick<SecretBox, 'derive'>): Fingerprint => {
  const mac = createHmacSha256(box.derive('audit-fingerprint'));
  return (value) => mac(value, 'hex').slice(0, hexLength);
};
