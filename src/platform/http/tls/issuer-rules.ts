/**
 * Whether the certificates of a chain that a proxy sends may have their places in it (RFC 5280 sections 4.2 and 6.1). Node verifies
 * chains in handshakes only, so this reads the extensions itself. An authority with an extension that restricts its certificates in
 * a way that is not checked here, such as name constraints, issues nothing.
 */
import type { X509Certificate } from 'node:crypto';
import { hasStrongKey } from './strength.ts';

type Value = { tag: number; content: Buffer };
type Extension = { isCritical: boolean; value: Buffer };

const [sequenceTag, booleanTag, integerTag, bitsTag, octetsTag, oidTag] = [0x30, 0x01, 0x02, 0x03, 0x04, 0x06];
/** `[3]` of a TBSCertificate. */
const extensionsTag = 0xa3;
/** Object identifiers as hexadecimal content: below 2.5.29. */
const [keyUsage, basicConstraints, extendedKeyUsage] = ['551d0f', '551d13', '551d25'];
const nameConstraints = '551d1e';
/** Policy mappings, policy constraints, inhibit any policy. */
const policyRules = ['551d21', '551d24', '551d36'];
const checked = [keyUsage, basicConstraints, extendedKeyUsage];
/** Alternative names, lists of revoked certificates, policies: OpenSSL knows them too, and they restrict no certificate below. */
const informing = ['551d11', '551d1f', '551d20'];

type Rules = { known: ReadonlySet<string>; restricting: ReadonlySet<string> };
const ofChain: Rules = { known: new Set(checked), restricting: new Set([nameConstraints, ...policyRules]) };
/** The operator trusts an authority of the file as it is, so its policies count for nothing, as in a handshake. */
const ofFile: Rules = {
  known: new Set([...checked, ...informing, ...policyRules]),
  restricting: new Set([nameConstraints]),
};

/** Bits of the first byte of KeyUsage. */
const [digitalSignature, keyAgreement, keyCertSign] = [0x80, 0x08, 0x04];
const clientAuth = '1.3.6.1.5.5.7.3.2';
const lengthBytesMax = 3;

/** Throws when the bytes are no list of values in DER. */
const valuesIn = (bytes: Buffer): Value[] => {
  const values: Value[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const count = first < 0x80 ? 0 : first & 0x7f;
    if (first === 0x80 || count > lengthBytesMax) throw new Error('a length in a certificate cannot be read');
    const length = count === 0 ? first : bytes.readUIntBE(at + 2, count);
    const from = at + 2 + count;
    if (from + length > bytes.length) throw new Error('a value in a certificate is cut off');
    values.push({ tag, content: bytes.subarray(from, from + length) });
    at = from + length;
  }
  return values;
};

const firstOf = (bytes: Buffer, tag: number): Buffer => {
  const [value] = valuesIn(bytes);
  if (value?.tag !== tag) throw new Error('a certificate has another form');
  return value.content;
};

const extensionsOf = (raw: Buffer): Map<string, Extension> => {
  const found = new Map<string, Extension>();
  const body = firstOf(firstOf(raw, sequenceTag), sequenceTag);
  const list = valuesIn(body).find(({ tag }) => tag === extensionsTag);
  for (const { content } of list === undefined ? [] : valuesIn(firstOf(list.content, sequenceTag))) {
    const parts = valuesIn(content);
    const id = parts.find(({ tag }) => tag === oidTag)?.content.toString('hex') ?? '';
    const value = parts.find(({ tag }) => tag === octetsTag)?.content;
    if (value === undefined || found.has(id)) throw new Error('an extension has another form, or is there twice');
    found.set(id, { value, isCritical: parts.some(({ tag, content: on }) => tag === booleanTag && on[0] !== 0) });
  }
  return found;
};

/**
 * `below`: the number of authorities between this one and the certificate of the client. `from`: the operator names the authority
 * in a file, or a proxy sends it.
 */
export const mayIssue = (issuer: X509Certificate, below: number, nowMs: number, from: 'file' | 'chain'): boolean => {
  if (!issuer.ca || !hasStrongKey(issuer)) return false;
  if (issuer.validFromDate.getTime() > nowMs || nowMs >= issuer.validToDate.getTime()) return false;
  return follows(
    issuer,
    from === 'file' ? ofFile : ofChain,
    (extensions) =>
      isUsed(extensions.get(keyUsage), keyCertSign) && below <= pathLengthOf(extensions.get(basicConstraints)),
  );
};

/** Digests in which collisions are found, so another certificate could have the same signature: MD2, MD4, MD5, SHA-1. */
const weakSignatures: ReadonlySet<string> = new Set([
  ...['2a864886f70d010102', '2a864886f70d010103', '2a864886f70d010104', '2a864886f70d010105'],
  ...['2a8648ce3d0401', '2a8648ce380403'],
]);
/** RSASSA-PSS names its digest in its parameters; without them it is SHA-1. */
const pss = '2a864886f70d01010a';
/** SHA-256, SHA-384, SHA-512: `2.16.840.1.101.3.4.2.1` to `.3`. */
const sha2 = /60864801650304020[1-3]/;

/** The digest of the signature on the certificate is strong. False also for a certificate that cannot be read. */
export const hasStrongSignature = ({ raw }: X509Certificate): boolean => {
  try {
    const algorithm = valuesIn(firstOf(raw, sequenceTag))[1]?.content ?? Buffer.alloc(0);
    const id = firstOf(algorithm, oidTag).toString('hex');
    return id === pss ? sha2.test(algorithm.toString('hex')) : !weakSignatures.has(id);
  } catch {
    return false;
  }
};

/** The certificate may be that of a client, its key is strong, and it has no critical extension that is unknown here. */
export const mayAuthenticate = (certificate: X509Certificate): boolean =>
  !certificate.ca &&
  hasStrongKey(certificate) &&
  follows(certificate, ofFile, (extensions) => isUsed(extensions.get(keyUsage), digitalSignature | keyAgreement));

type Check = (extensions: Map<string, Extension>) => boolean;

/** False also for extensions that cannot be read. */
const follows = (certificate: X509Certificate, { known, restricting }: Rules, check: Check): boolean => {
  // Usages are optional (RFC 5280 section 4.2.1.12); a certificate that lists some must list that of clients.
  const usages = certificate.keyUsage as readonly string[] | undefined;
  if (usages !== undefined && !usages.includes(clientAuth)) return false;
  try {
    const extensions = extensionsOf(certificate.raw);
    for (const [id, { isCritical }] of extensions)
      if (restricting.has(id) || (isCritical && !known.has(id))) return false;
    return check(extensions);
  } catch {
    return false;
  }
};

/** For one of the purposes. Without the extension a key may be used for everything. */
const isUsed = (extension: Extension | undefined, purposes: number): boolean => {
  if (extension === undefined) return true;
  // The first byte is the number of unused bits.
  return ((firstOf(extension.value, bitsTag)[1] ?? 0) & purposes) !== 0;
};

const pathLengthOf = (extension: Extension | undefined): number => {
  if (extension === undefined) return -1;
  const length = valuesIn(firstOf(extension.value, sequenceTag)).find(({ tag }) => tag === integerTag)?.content;
  if (length === undefined) return Number.POSITIVE_INFINITY;
  return length.length === 1 ? (length[0] ?? 0) : Number.POSITIVE_INFINITY;
};
