/** Pure: checkpoints of a tree (C2SP tlog-checkpoint) as signed notes (C2SP signed-note) with Ed25519. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { SecretBox } from '#src/platform/secret-box.ts';

export type Checkpoint = { origin: string; size: number; root: Buffer };

export type CheckpointKey = {
  /** Name of the key and first line of every checkpoint. */
  origin: string;
  /** The public key in the form that verifiers of signed notes read: name+hash+key. */
  vkey: string;
  write(size: number, root: Buffer): string;
  /** Undefined when the text is no checkpoint that this key signed. */
  read(text: string): Checkpoint | undefined;
};

const label = 'audit-checkpoint';
/** RFC 8410: the head of an Ed25519 private key in PKCS #8; the 32 bytes of the key follow. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');
const algorithm = Buffer.from([1]);
const keyIdBytes = 4;
const publicBytes = 32;
const textMax = 10_000;

/** The key is derived from the root of the installation, which the master key seals, so a new master key keeps it. */
export const openCheckpointKey = (box: Pick<SecretBox, 'derive'>): CheckpointKey => {
  const der = Buffer.concat([pkcs8Head, box.derive(label)]);
  const secret = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(secret);
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-publicBytes);
  const origin = `orderpass-audit-${createHash('sha256').update(raw).digest('hex').slice(0, 16)}`;
  const id = createHash('sha256').update(`${origin}\n`).update(algorithm).update(raw).digest().subarray(0, keyIdBytes);
  return {
    origin,
    vkey: `${origin}+${id.toString('hex')}+${Buffer.concat([algorithm, raw]).toString('base64')}`,
    write: (size, root) => {
      const text = `${origin}\n${size}\n${root.toString('base64')}\n`;
      const signature = Buffer.concat([id, sign(null, Buffer.from(text), secret)]);
      return `${text}\n— ${origin} ${signature.toString('base64')}\n`;
    },
    read: (text) => readNote(text, { origin, id, publicKey }),
  };
};

type Reader = { origin: string; id: Buffer; publicKey: KeyObject };

/** Signatures by other keys, such as those of witnesses, are ignored. */
const readNote = (note: string, { origin, id, publicKey }: Reader): Checkpoint | undefined => {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || note.length > textMax) return undefined;
  const text = note.slice(0, end + 1);
  const isSigned = note
    .slice(end + 2)
    .split('\n')
    .some((line) => {
      const [dash, name, signature, ...more] = line.split(' ');
      if (dash !== '—' || name !== origin || signature === undefined || more.length > 0) return false;
      const bytes = Buffer.from(signature, 'base64');
      return (
        bytes.subarray(0, keyIdBytes).equals(id) &&
        verify(null, Buffer.from(text), publicKey, bytes.subarray(keyIdBytes))
      );
    });
  const [first, size = '', root = ''] = text.split('\n');
  if (!isSigned || first !== origin || !/^(0|[1-9]\d{0,14})$/.test(size)) return undefined;
  return { origin, size: Number(size), root: Buffer.from(root, 'base64') };
};
