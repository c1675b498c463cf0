/**
 * HMAC-SHA-256 (RFC 2104) of many texts under one key. Every proxied request signs an assertion, verifies it and names its
 * credential by a fingerprint, and every delivery has two signatures. The `Hmac` object of node:crypto costs more than its two
 * hashes, and once more when it is collected: test/bench/hmac.ts took 5.2 µs here and 8.7 µs there for each signature.
 * test/platform/parity/hmac.test.ts compares both.
 */
import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';

const blockBytes = 64;
const macBytes = 32;
/** Longer texts go through node:crypto. */
const textLengthMax = 8_192;
const bytesPerUnitMax = 3;

/** What is hashed, for all keys: a signature is made in one step, so no two use these at once. */
const inner = Buffer.alloc(blockBytes + textLengthMax * bytesPerUnitMax);
const outer = Buffer.alloc(blockBytes + macBytes);

/** The MAC of the text in UTF-8. */
export type HmacSha256 = (text: string, encoding: 'base64' | 'base64url' | 'hex') => string;

/** A key that is longer than a block is hashed first (RFC 2104, section 2). */
export const createHmacSha256 = (key: Buffer): HmacSha256 => {
  const block = Buffer.alloc(blockBytes);
  block.set(key.length > blockBytes ? hash('sha256', key, 'buffer') : key);
  const innerPad = block.map((byte) => byte ^ 0x36);
  const outerPad = block.map((byte) => byte ^ 0x5c);
  let keyObject: KeyObject | undefined;
  return (text, encoding) => {
    if (text.length > textLengthMax) {
      keyObject ??= createSecretKey(key);
      return createHmac('sha256', keyObject).update(text).digest(encoding);
    }
    inner.set(innerPad);
    outer.set(outerPad);
    const end = blockBytes + inner.write(text, blockBytes, 'utf8');
    outer.write(hash('sha256', inner.subarray(0, end), 'binary'), blockBytes, 'latin1');
    return hash('sha256', outer, encoding);
  };
};
