/** Pure: what a witness signs, by C2SP tlog-cosignature (cosignature/v1 with Ed25519). */
import { type KeyObject, verify } from 'node:crypto';
import { ed25519Of, noteKeyId, openNote, signaturesIn } from '../signed-note.ts';

export type WitnessKey = { vkey: string; name: string; id: Buffer; key: KeyObject };

/** Type of a cosignature in a verifier key. */
const kind = Buffer.from([4]);
const publicBytes = 32;
const timeBytes = 8;
const signatureBytes = 64;

/** Undefined when the text is no verifier key of a witness: NAME+ID+BASE64 of the type and the public key. */
export const readWitnessKey = (vkey: string): WitnessKey | undefined => {
  const [, name = '', id = '', key = ''] = /^([^\s+]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/.exec(vkey) ?? [];
  const bytes = Buffer.from(key, 'base64');
  const raw = bytes.subarray(1);
  if (raw.length !== publicBytes || bytes[0] !== kind[0] || noteKeyId(name, kind, raw).toString('hex') !== id)
    return undefined;
  return { vkey, name, id: Buffer.from(id, 'hex'), key: ed25519Of(raw) };
};

/** The cosignature of this witness among the lines, over a checkpoint; undefined when there is none that verifies. */
export const findCosignature = (witness: WitnessKey, checkpoint: string, lines: string): string | undefined => {
  const text = openNote(checkpoint)?.text;
  const found = signaturesIn(lines).find(
    ({ name, id, signature }) =>
      name === witness.name && id.equals(witness.id) && signature.length === timeBytes + signatureBytes,
  );
  if (text === undefined || found === undefined) return undefined;
  const seconds = found.signature.readBigUInt64BE(0);
  const signed = Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);
  if (!verify(null, signed, witness.key, found.signature.subarray(timeBytes))) return undefined;
  return `— ${found.name} ${Buffer.concat([found.id, found.signature]).toString('base64')}\n`;
};
