/**
 * Time-based one-time codes (RFC 6238) with SHA-1, six digits and 30 seconds, which every authenticator app supports.
 * Pure.
 */
import { createHmac } from 'node:crypto';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';

export const totpSecretBytes = 20;
const stepSeconds = 30;
const digits = 6;
/** Steps by which the clocks may differ. */
const stepsAround = 1;

const stepOf = (now: Date): number => Math.floor(now.getTime() / 1000 / stepSeconds);

/** The code of a step (RFC 4226, 5.3). */
const codeOfStep = (secret: Buffer, step: number): string => {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0x0f;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits).padStart(digits, '0');
};

/**
 * The current step that a code belongs to; undefined when there is none. The caller must refuse a step that was used.
 */
export const stepOfCode = (secret: Buffer, code: string, now: Date): number | undefined => {
  const given = Buffer.from(code.replaceAll(/\s/g, ''));
  const current = stepOf(now);
  let found: number | undefined;
  for (let step = current - stepsAround; step <= current + stepsAround; step += 1) {
    if (equalInConstantTime(given, codeOfStep(secret, step))) found = step;
  }
  return found;
};

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648, without padding. */
export const base32 = (bytes: Buffer): string => {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? []).map((group) => alphabet[Number.parseInt(group.padEnd(5, '0'), 2)]).join('');
};

/** The otpauth address that authenticator apps read from the QR code. */
export const totpAddress = (secret: Buffer, email: string): string =>
  `otpauth://totp/${encodeURIComponent(`Orderpass:${email}`)}?secret=${base32(secret)}&issuer=Orderpass&digits=${digits}&period=${stepSeconds}`;
