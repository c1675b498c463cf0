/**
 * Nonces of this server (RFC 9449 section 8): a digest of the minute under a key of the installation. Every gateway
 * computes the same ones, and nothing is stored.
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '#src/platform/clock.ts';

export type ProofNonces = {
  /** For the next proof. */
  current(): string;
  /** True for the current nonce, the one before, and the next, which a gateway with a fast clock may have issued. */
  isLive(nonce: string): boolean;
};

const windowMs = 120_000;

/** `key`: 32 bytes for this purpose. */
export const createProofNonces = ({ key, clock }: { key: Buffer; clock: Clock }): ProofNonces => {
  let made: { window: number; live: [string, string, string] } | undefined;
  const nonceOf = (window: number): string =>
    createHmac('sha256', key).update(String(window)).digest().subarray(0, 18).toString('base64url');
  const live = (): [string, string, string] => {
    const window = Math.floor(clock.now().getTime() / windowMs);
    if (made?.window !== window) made = { window, live: [nonceOf(window), nonceOf(window - 1), nonceOf(window + 1)] };
    return made.live;
  };
  return { current: () => live()[0], isLive: (nonce) => live().includes(nonce) };
};
