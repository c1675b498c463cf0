/**
 * HMAC-SHA-256 (RFC 2104) of short texts under one key, at half the time that node's Hmac object takes: two one-shot
 * hashes make no object, and the key's two blocks are prepared once.
 */
import { createHmac, createSecretKey, hash } from 'node:crypto';

const blockBytes = 64;
const macBytes = 32;
/** Longer texts go the ordinary way. */
const textLengthMax = 8_192;
const bytesPerUnitMax = 3;

/** Of the text's UTF-8. */
export type HmacSha256 = (text: string, encoding: 'base64url' | 'hex') => string;

/** `key`: at most 64 bytes. */
export const createHmacSha256 = (key: Buffer): HmacSha256 => {
  if (key.length > blockBytes) throw new Error('the key is longer than a block');
  const keyObject = createSecretKey(key);
  const inner = Buffer.alloc(blockBytes + textLengthMax * bytesPerUnitMax, 0x36);
  const outer = Buffer.alloc(blockBytes + macBytes, 0x5c);
  for (const [i, byte] of key.entries()) {
    inner[i] = 0x36 ^ byte;
    outer[i] = 0x5c ^ byte;
  }
  return (text, encoding) => {
    if (text.length > textLengthMax) return createHmac('sha256', keyObject).update(text).digest(encoding);
    const end = blockBytes + inner.write(text, blockBytes, 'utf8');
    outer.write(hash('sha256', inner.subarray(0, end), 'binary'), blockBytes, 'latin1');
    return hash('sha256', outer, encoding);
  };
};
