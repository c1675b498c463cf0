/**
 * The formats of the credentials that callers hold. All are base62, so a double click selects the whole value and no
 * transport changes it.
 *
 *   key     opk_ <id 12> _ <random 43> <checksum 6>      key id    = opk_<id>
 *   secret  ops_ <id 12> _ <random 43> <checksum 6>      secret id = ops_<id>
 *   client  opc_ <id 24> <checksum 6>
 *
 * Those of a sandbox have `test_` after the prefix: opk_test_<id 12>_<random 43><checksum 6>. It is part of what the checksum and the
 * stored digest cover, so a value cannot be turned into one of the other kind.
 *
 * 43 base62 characters hold 256 random bits. The checksum is the CRC-32 of the text before it. It proves nothing, because
 * anyone can compute it, but a mistyped, cut or invented value is refused without asking the store, and scanners can
 * distinguish a leaked key from a random word. The id part is public: it names the key in lists and logs.
 */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { isSandboxId, sandboxMark } from '#src/contract/sandbox.ts';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
const randomLength = 43;
const checksumLength = 6;
const clientIdLength = 24;

export type IssuedValue = { id: string; value: string };

const base62 = (number: bigint, length: number): string => {
  let rest = number;
  let text = '';
  for (let i = 0; i < length; i += 1) {
    text = `${digits[Number(rest % 62n)]}${text}`;
    rest /= 62n;
  }
  return text;
};

const random62 = (bytes: number, length: number): string =>
  base62(BigInt(`0x${randomBytes(bytes).toString('hex')}`), length);

const checksumOf = (text: string): string => base62(BigInt(crc32(text)), checksumLength);

const markOf = (isSandbox: boolean): string => (isSandbox ? sandboxMark : '');

const issue = (prefix: 'opk_' | 'ops_', isSandbox: boolean): IssuedValue => {
  // 71 bits make the id unique without asking the store. The id is independent of the random part.
  const id = `${prefix}${markOf(isSandbox)}${random62(9, idLength)}`;
  const body = `${id}_${random62(32, randomLength)}`;
  return { id, value: body + checksumOf(body) };
};

export const newApiKey = (isSandbox = false): IssuedValue => issue('opk_', isSandbox);
export const newClientSecret = (isSandbox = false): IssuedValue => issue('ops_', isSandbox);

export const newClientId = (isSandbox = false): string => {
  const body = `opc_${markOf(isSandbox)}${random62(18, clientIdLength)}`;
  return body + checksumOf(body);
};

/** Names what a client trusts; it is no secret and in no value of a caller. */
export const newTrustId = (): string => `trs_${random62(9, idLength)}`;

const valueLength = 4 + idLength + 1 + randomLength + checksumLength;

/**
 * Checks characters, format and checksum; only the store knows whether the value was issued. Most garbage fails the length check.
 */
const isWellFormed = (text: string, prefix: string, length: number): boolean =>
  (text.length === length || (text.length === length + sandboxMark.length && isSandboxId(text))) &&
  text.startsWith(prefix) &&
  /^[0-9A-Za-z_]+$/.test(text) &&
  checksumOf(text.slice(0, -checksumLength)) === text.slice(-checksumLength);

export const isApiKey = (text: string): boolean => isWellFormed(text, 'opk_', valueLength);
export const isClientSecret = (text: string): boolean => isWellFormed(text, 'ops_', valueLength);
export const isClientId = (text: string): boolean => isWellFormed(text, 'opc_', 4 + clientIdLength + checksumLength);

/** Public id of a key or secret, from its value. */
export const idOfValue = (value: string): string =>
  value.slice(0, 4 + (isSandboxId(value) ? sandboxMark.length : 0) + idLength);
