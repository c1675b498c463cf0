/** A witness (C2SP tlog-witness) with checks of its own: signatures, sizes, and consistency by RFC 9162 section 2.1.4.2. */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { createServer } from 'node:http';
import { closeServer, listen } from '../../harness/public-door.ts';

type Tree = { size: number; root: string };

export type Witness = {
  url: string;
  vkey: string;
  /** Signs checkpoints of this log, by this key. */
  trust(origin: string, vkey: string): void;
  /** True when the note has a signature of this witness that verifies. */
  hasSigned(note: string): boolean;
  /** Sizes of the checkpoints that it signed, in their order. */
  sizes(): number[];
  /** Requests with a proof that does not hold. */
  refused(): number;
  close(): Promise<void>;
};

const name = 'witness.test/one';
const sha = (...parts: (Buffer | string)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();

const keyOf = (raw: Buffer): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' });

/** RFC 9162 section 2.1.4.2. */
const isConsistent = (old: Tree, now: Tree, path: readonly Buffer[]): boolean => {
  if (old.size === 0) return path.length === 0;
  if (old.size === now.size) return path.length === 0 && old.root === now.root;
  const isPower = Number.isInteger(Math.log2(old.size));
  const proof = isPower ? [Buffer.from(old.root, 'base64'), ...path] : [...path];
  let [fn, sn] = [old.size - 1, now.size - 1];
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  const first = proof.shift();
  if (first === undefined) return false;
  let [fr, sr] = [first, first];
  for (const hash of proof) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [sha('\u0001', hash, fr), sha('\u0001', hash, sr)];
      while (fn !== 0 && fn % 2 === 0) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
    } else sr = sha('\u0001', sr, hash);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && fr.toString('base64') === old.root && sr.toString('base64') === now.root;
};

export const startWitness = async (): Promise<Witness> => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  const kind = Buffer.concat([Buffer.of(4), raw]);
  const id = sha(`${name}\n`, kind).subarray(0, 4);
  const logs = new Map<string, { key: KeyObject; tree: Tree }>();
  const sizes: number[] = [];
  let refused = 0;

  const answer = (body: string): { status: number; text: string } => {
    const [, head = '', note = ''] = /^(.*?)\n\n(.*)$/s.exec(body) ?? [];
    const [first = '', ...path] = head.split('\n');
    const [, text = '', signatures = ''] = /^(.*?\n)\n(.*)$/s.exec(note) ?? [];
    const [origin = '', size = '', root = ''] = text.split('\n');
    const log = logs.get(origin);
    if (log === undefined) return { status: 404, text: '' };
    const isSigned = signatures.split('\n').some((line) => {
      const [, by, signature = ''] = line.split(' ');
      return by === origin && verify(null, Buffer.from(text), log.key, Buffer.from(signature, 'base64').subarray(4));
    });
    if (!isSigned) return { status: 403, text: '' };
    const old = Number(first.replace(/^old /, ''));
    const now = { size: Number(size), root };
    if (old > now.size) return { status: 400, text: '' };
    if (old !== log.tree.size) return { status: 409, text: `${log.tree.size}\n` };
    const hashes = path.map((line) => Buffer.from(line, 'base64'));
    if (!isConsistent(log.tree, now, hashes)) {
      refused += 1;
      return { status: 422, text: '' };
    }
    log.tree = now;
    sizes.push(now.size);
    const time = Buffer.alloc(8);
    const seconds = Math.floor(Date.now() / 1000);
    time.writeBigUInt64BE(BigInt(seconds));
    const signed = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), privateKey);
    return { status: 200, text: `— ${name} ${Buffer.concat([id, time, signed]).toString('base64')}\n` };
  };

  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const { status, text } = request.url === '/prefix/add-checkpoint' ? answer(body) : { status: 404, text: '' };
      response.writeHead(status).end(text);
    });
  });
  const url = `${await listen(server)}/prefix/`;
  return {
    url,
    vkey: `${name}+${id.toString('hex')}+${kind.toString('base64')}`,
    trust: (origin, vkey) => {
      const key = Buffer.from(vkey.split('+').slice(2).join('+'), 'base64').subarray(1);
      logs.set(origin, { key: keyOf(key), tree: { size: 0, root: '' } });
    },
    hasSigned: (note) => {
      const [, text = '', signatures = ''] = /^(.*?\n)\n(.*)$/s.exec(note) ?? [];
      const mine = signatures.split('\n').find((line) => line.startsWith(`— ${name} `));
      const bytes = Buffer.from(mine?.split(' ')[2] ?? '', 'base64');
      if (bytes.length < 12) return false;
      const signed = `cosignature/v1\ntime ${bytes.readBigUInt64BE(4)}\n${text}`;
      return verify(null, Buffer.from(signed), publicKey, bytes.subarray(12));
    },
    sizes: () => [...sizes],
    refused: () => refused,
    close: () => closeServer(server),
  };
};
