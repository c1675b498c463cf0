/** Makes X.509 certificates (RFC 5280) for tests, in DER by hand: node:crypto reads certificates and signs, but makes none. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { isIP, isIPv4 } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** PEM texts. */
export type Pair = { cert: string; key: string };

type Wishes = {
  /** Common name. */
  name?: string;
  /** Of the subject alternative name: DNS names, IP addresses, and URIs; `email:`, `dns:` and `uri:` before a value name its kind. */
  names?: readonly string[];
  /** Default: since a day ago, for 30 days. */
  from?: Date;
  until?: Date;
  use?: 'client' | 'server';
  /** Of the certificate of a client: it has a critical extension that no program knows. */
  isUnknown?: boolean;
  /** Of a key of RSA. Default: a key on P-256. */
  rsaBits?: number;
  /** Digest of the signature on it. */
  digest?: 'sha256' | 'sha1';
};

export type Authority = {
  cert: string;
  issue(wishes?: Wishes): Pair;
  /** An authority that this one signed. */
  intermediate(wishes?: AuthorityWishes): Authority;
};

type AuthorityWishes = Wishes & {
  /** How many authorities may be below it. */
  pathLength?: number;
  /** Default: an authority; false: a certificate that is none. */
  isAuthority?: boolean;
  /** Its certificates must have names below elsewhere.example. */
  isConstrained?: boolean;
  /** It names the policies of its certificates, in a critical extension: any policy. */
  hasPolicies?: boolean;
};

const dayMs = 86_400_000;

/** A value of DER: tag, length, content. */
const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const bytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
};

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const text = (tag: number, value: string): Buffer => der(tag, Buffer.from(value));

/** Object identifiers, as hexadecimal content. */
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const commonName = oid('550403');
const ecdsaWith = { sha256: sequence(oid('2a8648ce3d040302')), sha1: sequence(oid('2a8648ce3d0401')) };
const uses = { server: oid('2b06010505070301'), client: oid('2b06010505070302') };
const isTrue = Buffer.from([0x01, 0x01, 0xff]);

const nameOf = (name: string): Buffer => sequence(der(0x31, sequence(commonName, text(0x0c, name))));

/** UTCTime: until 2049. */
const timeOf = (date: Date): Buffer =>
  text(
    0x17,
    `${date
      .toISOString()
      .replaceAll(/[-:T]|\.\d+/g, '')
      .slice(2)}`,
  );

const extension = (id: string, ...rest: [Buffer] | [Buffer, Buffer]): Buffer => {
  const value = rest.at(-1) as Buffer;
  return sequence(oid(id), ...rest.slice(0, -1), der(0x04, value));
};

const tags: Readonly<Record<string, number>> = { email: 0x81, dns: 0x82, uri: 0x86 };

const alternativeName = (name: string): Buffer => {
  const [, kind = '', value = ''] = /^(email|dns|uri):(.+)$/.exec(name) ?? [];
  if (kind in tags) return text(tags[kind] ?? 0, value);
  if (name.includes('://')) return text(0x86, name);
  if (isIP(name) !== 0) return der(0x87, addressBytes(name));
  return text(0x82, name);
};

const addressBytes = (address: string): Buffer => {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [before = '', after = ''] = address.split('::');
  const groupsOf = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const [first, last] = [groupsOf(before), groupsOf(after)];
  const zeros = Array<string>(8 - first.length - last.length).fill('0');
  return Buffer.from([...first, ...zeros, ...last].map((group) => group.padStart(4, '0')).join(''), 'hex');
};

/** Lines of 64 characters: OpenSSL takes no empty one at the end. */
const pem = (label: string, content: Buffer): string =>
  `-----BEGIN ${label}-----\n${content
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n')}\n-----END ${label}-----\n`;

type Keys = { publicKey: KeyObject; privateKey: KeyObject };
const makeKeys = (rsaBits?: number): Keys =>
  rsaBits === undefined
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: rsaBits });

const certify = (keys: Keys, issuer: { name: string; key: KeyObject }, wishes: Wishes, more: Buffer[]): string => {
  const { name = 'test', from = new Date(Date.now() - dayMs), until = new Date(Date.now() + 30 * dayMs) } = wishes;
  const { digest = 'sha256' } = wishes;
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(8)])),
    ecdsaWith[digest],
    nameOf(issuer.name),
    sequence(timeOf(from), timeOf(until)),
    nameOf(name),
    keys.publicKey.export({ format: 'der', type: 'spki' }),
    ...(more.length === 0 ? [] : [der(0xa3, sequence(...more))]),
  );
  const signature = sign(digest, body, issuer.key);
  return pem('CERTIFICATE', sequence(body, ecdsaWith[digest], der(0x03, Buffer.from([0]), signature)));
};

export const makeAuthority = (name = 'Test authority', wishes: AuthorityWishes = {}): Authority => {
  const own = makeKeys();
  return authorityWith(
    name,
    own,
    certify(own, { name, key: own.privateKey }, { ...wishes, name }, authorityExtensions(wishes)),
  );
};

const authorityExtensions = ({
  pathLength,
  isAuthority = true,
  isConstrained = false,
  use,
  hasPolicies = false,
}: AuthorityWishes): Buffer[] => {
  const length = pathLength === undefined ? [] : [der(0x02, Buffer.from([pathLength]))];
  const tree = der(0xa0, sequence(text(0x82, 'elsewhere.example')));
  return [
    extension('551d13', isTrue, isAuthority ? sequence(isTrue, ...length) : sequence()),
    ...(isConstrained ? [extension('551d1e', isTrue, sequence(tree))] : []),
    ...(use === undefined ? [] : [extension('551d25', sequence(uses[use]))]),
    ...(hasPolicies ? [extension('551d20', isTrue, sequence(sequence(oid('551d2000'))))] : []),
  ];
};

const authorityWith = (name: string, own: Keys, ownCert: string): Authority => {
  const issuer = { name, key: own.privateKey };
  return {
    cert: ownCert,
    intermediate: (wishes = {}) => {
      const keys = makeKeys();
      const { name: below = 'Intermediate authority' } = wishes;
      return authorityWith(below, keys, certify(keys, issuer, { ...wishes, name: below }, authorityExtensions(wishes)));
    },
    issue: (wishes = {}) => {
      const keys = makeKeys(wishes.rsaBits);
      const { names = ['localhost', '127.0.0.1'], use = 'server', isUnknown = false } = wishes;
      const cert = certify(keys, issuer, wishes, [
        extension('551d25', sequence(uses[use])),
        extension('551d11', sequence(...names.map(alternativeName))),
        ...(isUnknown ? [extension('2b0601040182370063', isTrue, sequence())] : []),
      ]);
      return { cert, key: String(keys.privateKey.export({ format: 'pem', type: 'pkcs8' })) };
    },
  };
};

export type CertificateFolder = {
  certFile: string;
  keyFile: string;
  caFile: string;
  folder: string;
  /** Replaces both files by writing into them. */
  write(pair: Pair): void;
  remove(): void;
};

/** A folder with a certificate, its key and its authority as files. */
export const writeCertificate = (authority: Authority, pair: Pair = authority.issue()): CertificateFolder => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-tls-'));
  const [certFile, keyFile, caFile] = ['server.crt', 'server.key', 'ca.crt'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const write = ({ cert, key }: Pair): void => {
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key, { mode: 0o600 });
  };
  write(pair);
  writeFileSync(caFile, authority.cert);
  return { certFile, keyFile, caFile, folder, write, remove: () => rmSync(folder, { recursive: true, force: true }) };
};
