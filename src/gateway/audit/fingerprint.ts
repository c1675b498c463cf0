/** One name for a credential that says nothing about it: whoever holds the value can compute it here, nobody else can. */
import { createHmacSha256 } from '#src/contract/hmac-sha256.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';

export type Fingerprint = (value: string) => string;

/** 128 bits of HMAC-SHA-256 in hex; the same for API keys, client secrets and tokens. */
export const createFingerprint = (box: Pick<SecretBox, 'derive'>): Fingerprint => {
  const mac = createHmacSha256(box.derive('audit-fingerprint'));
  return (value) => mac(value, 'hex').slice(0, 32);
};
