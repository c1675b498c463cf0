/** Pure: checkpoints of a tree (C2SP tlog-checkpoint) as signed notes (C2SP signed-note) with Ed25519. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { SecretBox } from '#src/platform/secret-box.ts';

export type Checkpoint = { origin: string; size: number; root: Buffer };

/** Verifies checkpoints of one key. */
export type CheckpointVerifier = {
  /** The public key in the form that verifiers of signed notes read: name+hash+key. */
  vkey: string;
  /** The 32 bytes of the public key. */
  publicKey: Buffer;
  /** Undefined when the text is no checkpoint that this key signed. */
  read(text: string): Checkpoint | undefined;
};

export type CheckpointKey = CheckpointVerifier & {
  /** Name of every key of the log, and first line of every checkpoint. A rotation of the key keeps it. */
  origin: string;
  /** The key that is derived from the root of the installation, in use without a key of the settings or before one. */
  derived: CheckpointVerifier;
  write(size: number, root: Buffer): string;
  /** A verifier of another key of this log. */
  verifierOf(publicKey: Buffer): CheckpointVerifier;
};

/** A line of signatures of a signed note. */
export type NoteSignature = { name: string; id: Buffer; signature: Buffer };

const label = 'audit-checkpoint';
/** RFC 8410: the heads of an Ed25519 key in PKCS #8 and in SPKI; the 32 bytes of the key follow. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiHead = Buffer.from('302a300506032b6570032100', 'hex');
const algorithm = Buffer.from([1]);
const keyIdBytes = 4;
const publicBytes = 32;
const textMax = 10_000;

const rawOf = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-publicBytes);

/** The Ed25519 key of 32 bytes. */
export const ed25519Of = (raw: Buffer): KeyObject =>
  createPublicKey({ key: Buffer.concat([spkiHead, raw]), format: 'der', type: 'spki' });

/** Key id of C2SP signed-note: name, algorithm and key. */
export const noteKeyId = (name: string, kind: Buffer, raw: Buffer): Buffer =>
  createHash('sha256').update(`${name}\n`).update(kind).update(raw).digest().subarray(0, keyIdBytes);

/** True for a private Ed25519 key in PEM, without a passphrase. */
export const isEd25519Pem = (pem: string): boolean => {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'ed25519';
  } catch {
    return false;
  }
};

/**
 * `pem`: the private key of the settings. Without it the key is derived from the root of the installation, which the master key
 * seals, so a new master key keeps it. The name of the log comes from the derived key in both cases.
 */
export const openCheckpointKey = (box: Pick<SecretBox, 'derive'>, pem?: string): CheckpointKey => {
  const der = Buffer.concat([pkcs8Head, box.derive(label)]);
  const derived = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const secret = pem === undefined ? derived : createPrivateKey(pem);
  const origin = `orderpass-audit-${createHash('sha256').update(rawOf(derived)).digest('hex').slice(0, 16)}`;
  const verifierOf = (raw: Buffer): CheckpointVerifier => {
    const id = noteKeyId(origin, algorithm, raw);
    const publicKey = ed25519Of(raw);
    return {
      publicKey: raw,
      vkey: `${origin}+${id.toString('hex')}+${Buffer.concat([algorithm, raw]).toString('base64')}`,
      read: (text) => readSigned(text, { origin, id, publicKey }),
    };
  };
  const raw = rawOf(secret);
  const id = noteKeyId(origin, algorithm, raw);
  return {
    ...verifierOf(raw),
    origin,
    derived: verifierOf(rawOf(derived)),
    verifierOf,
    write: (size, root) => {
      const text = `${origin}\n${size}\n${root.toString('base64')}\n`;
      const signature = Buffer.concat([id, sign(null, Buffer.from(text), secret)]);
      return `${text}\n— ${origin} ${signature.toString('base64')}\n`;
    },
  };
};

/** The key that the settings have now: the same object until they have another one. */
export const createReadKey = (
  box: Pick<SecretBox, 'derive'>,
  readPem: () => string | undefined,
): (() => CheckpointKey) => {
  let pem = readPem();
  let key = openCheckpointKey(box, pem);
  return () => {
    const now = readPem();
    if (now !== pem) {
      key = openCheckpointKey(box, now);
      pem = now;
    }
    return key;
  };
};

/** The text and the signatures of a signed note; undefined when it is none. Lines of another form are left out. */
export const openNote = (note: string): { text: string; signatures: NoteSignature[] } | undefined => {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || note.length > textMax) return undefined;
  return { text: note.slice(0, end + 1), signatures: signaturesIn(note.slice(end + 2)) };
};

/** The signatures of lines such as `— NAME BASE64`. */
export const signaturesIn = (lines: string): NoteSignature[] =>
  lines.split('\n').flatMap((line) => {
    const [dash, name, signature, ...more] = line.split(' ');
    if (dash !== '—' || name === undefined || signature === undefined || more.length > 0) return [];
    const bytes = Buffer.from(signature, 'base64');
    return [{ name, id: bytes.subarray(0, keyIdBytes), signature: bytes.subarray(keyIdBytes) }];
  });

type Reader = { origin: string; id: Buffer; publicKey: KeyObject };

/** Signatures by other keys, such as those of witnesses, are ignored. */
const readSigned = (note: string, { origin, id, publicKey }: Reader): Checkpoint | undefined => {
  const opened = openNote(note);
  if (opened === undefined) return undefined;
  const { text, signatures } = opened;
  const isSigned = signatures.some(
    (one) => one.name === origin && one.id.equals(id) && verify(null, Buffer.from(text), publicKey, one.signature),
  );
  const [first, size = '', root = ''] = text.split('\n');
  if (!isSigned || first !== origin || !/^(0|[1-9]\d{0,14})$/.test(size)) return undefined;
  return { origin, size: Number(size), root: Buffer.from(root, 'base64') };
};
