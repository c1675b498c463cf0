/**
 * One root, many purposes: every key in use is derived from it by HKDF (RFC 5869) under a label, so a leaked key
 * reveals nothing about the others. Secrets with full entropy are stored as HMAC-SHA-256 digests. Private keys are stored
 * encrypted with AES-256-GCM and bound to a label, so one ciphertext cannot replace another.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDataFolder } from './files/make-folder.ts';

export type SecretBox = {
  /** 32 bytes for one purpose; the same label gives the same key. */
  derive(label: string): Buffer;
  /** Keyed digest of a full-entropy secret, 32 bytes. */
  digest(secret: string): Buffer;
  seal(plain: string, label: string): Buffer;
  /** Throws when the ciphertext was changed, or sealed under another label or key. */
  open(sealed: Buffer, label: string): string;
};

const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;

/** `root`: 32 random bytes. */
export const createSecretBox = (root: Buffer): SecretBox => {
  if (root.length !== keyBytes) throw new Error('the root must be 32 bytes');
  const derive = (label: string): Buffer =>
    Buffer.from(hkdfSync('sha256', root, Buffer.alloc(0), `orderpass/${label}`, keyBytes));
  const digestKey = derive('credential-digest');
  const sealKey = derive('seal');
  return {
    derive,
    digest: (secret) => createHmac('sha256', digestKey).update(secret).digest(),
    seal: (plain, label) => {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', sealKey, iv).setAAD(Buffer.from(label));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), body]);
    },
    open: (sealed, label) => {
      const decipher = createDecipheriv('aes-256-gcm', sealKey, sealed.subarray(0, ivBytes)).setAAD(Buffer.from(label));
      decipher.setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes));
      return Buffer.concat([decipher.update(sealed.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8');
    },
  };
};

/** Accepts base64, base64url or hex of exactly 32 bytes; undefined for anything else. */
export const parseMasterKey = (text: string): Buffer | undefined => {
  const value = text.trim();
  if (/^[0-9a-f]{64}$/i.test(value)) return Buffer.from(value, 'hex');
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(value)) return undefined;
  const bytes = Buffer.from(value, 'base64');
  return bytes.length === keyBytes ? bytes : undefined;
};

/**
 * The master key in the file `path`, which is created (mode 0600) if it is missing. `link` publishes the complete file, or
 * fails when another process was first, so two parallel starts agree on one key. The key is on the disk before it is returned:
 * after a loss of power nothing else could open the store that it seals.
 */
export const loadOrCreateMasterKey = (path: string): Buffer => {
  const folder = dirname(path);
  const existing = readMasterKeyFile(path);
  if (existing !== undefined) return existing;
  const madeFolder = makeDataFolder(folder);
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, `${randomBytes(keyBytes).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    chmodSync(draft, 0o600);
    flushToDisk(draft);
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  flushToDisk(folder);
  if (madeFolder !== undefined) flushToDisk(dirname(madeFolder));
  const made = readMasterKeyFile(path);
  if (made === undefined) throw new Error(`cannot read ${path}`);
  return made;
};

/** Waits until the disk has the content of a file, or the names in a folder. */
export const flushToDisk = (path: string): void => {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } catch (error) {
    // Some file systems cannot flush a folder.
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
  } finally {
    closeSync(file);
  }
};

/** Undefined when there is no file. Throws when it holds no key. */
export const readMasterKeyFile = (path: string): Buffer | undefined => {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const key = parseMasterKey(text);
  if (key === undefined) throw new Error(`${path} does not hold a master key (32 bytes as base64 or hex)`);
  return key;
};
