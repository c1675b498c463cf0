/** One name for a credential that says nothing about it: whoever holds the value can compute it here, nobody else can. */
import { createHmac, createSecretKey } from 'node:crypto';
import type { SecretBox } from '#src/platform/secret-box.ts';

export type Fingerprint = (value: string) => string;

/** 128 bits of HMAC-SHA-256 in hex; the same for API keys, client secrets and tokens. */
export const createFingerprint = (box: Pick<SecretBox, 'derive'>): Fingerprint => {
  const key = createSecretKey(box.derive('audit-fingerprint'));
  return (value) => createHmac('sha256', key).update(value).digest('hex').slice(0, 32);
};
