/** Signatures of ES256 (RFC 7518 section 3.4), ECDSA with P-256 and SHA-256, and JWTs that have one. */
import { type KeyObject, sign } from 'node:crypto';

const integerBytes = 32;

/** 64 bytes, r and s one after the other. In one call, without the promise of a library, for which a request would have to wait. */
export const signEs256 = (privateKey: KeyObject, text: string): Buffer =>
  joined(sign('sha256', Buffer.from(text), privateKey));

/**
 * r and s of a signature in DER: a sequence of two integers, with a byte for each length below 128. `dsaEncoding` gives
 * the same and takes twice as long as the signature itself.
 */
const joined = (der: Buffer): Buffer => {
  const raw = Buffer.alloc(2 * integerBytes);
  let at = 2;
  for (const end of [integerBytes, 2 * integerBytes]) {
    const length = der[at + 1] ?? 0;
    const value = der.subarray(at + 2, at + 2 + length);
    // A leading zero keeps an integer positive; a short one is filled up on the left.
    const digits = value.subarray(Math.max(0, length - integerBytes));
    digits.copy(raw, end - digits.length);
    at += 2 + length;
  }
  return raw;
};

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A private key whose public part is published under `kid`. */
export type PublishedKey = { kid: string; privateKey: KeyObject };

/** A JWT of the type `typ`. */
export const signJwt = (typ: string, claims: object, { kid, privateKey }: PublishedKey): string => {
  const input = `${encode({ alg: 'ES256', typ, kid })}.${encode(claims)}`;
  return `${input}.${signEs256(privateKey, input).toString('base64url')}`;
};
