/**
 * A fingerprint names a credential in the audit and reveals nothing about it. It is an HMAC of the value's SHA-256, so
 * a browser can ask for it by the SHA-256 alone, without sending the value. Values hold at least 128 random bits, so a
 * digest does not lead back to its value. The HMAC key never leaves this installation.
 */
import { hash } from 'node:crypto';
import { createHmacSha256 } from '#src/contract/hmac-sha256.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';

export type Fingerprint = (value: string) => string;

const hexLength = 32;

/** Returns 128 bits of HMAC-SHA-256 in hex, computed alike for API keys, client secrets and tokens. */
export const createFingerprint = (box: Pick<SecretBox, 'derive'>): Fingerprint => {
  const ofHash = createFingerprintOfHash(box);
  return (value) => ofHash(hash('sha256', value, 'hex'));
};

/** The same fingerprint from the SHA-256 of the value, in lower-case hex. */
export const createFingerprintOfHash = (box: Pick<SecretBox, 'derive'>): Fingerprint => {
  const mac = createHmacSha256(box.derive('audit-fingerprint-of-sha256'));
  return (sha256) => mac(sha256, 'hex').slice(0, hexLength);
};

/**
 * The fingerprint in events of earlier versions. It is made of the value itself and cannot be computed from the
 * SHA-256.
 */
export const createEarlierFingerprint = (box: Pick<SecretBox, 'derive'>): Fingerprint => {
  const mac = createHmacSha256(box.derive('audit-fingerprint'));
  return (value) => mac(value, 'hex').slice(0, hexLength);
};
