/**
 * Whether a certificate may issue another one in a chain that a proxy sends (RFC 5280 sections 4.2 and 6.1). Node verifies chains
 * in handshakes only, so this reads the extensions itself. An authority with an extension that restricts its certificates in a
 * way that is not checked here, such as name constraints, issues nothing.
 */
import type { X509Certificate } from 'node:crypto';

type Value = { tag: number; content: Buffer };
type Extension = { isCritical: boolean; value: Buffer };

const [sequenceTag, booleanTag, integerTag, bitsTag, octetsTag, oidTag] = [0x30, 0x01, 0x02, 0x03, 0x04, 0x06];
/** `[3]` of a TBSCertificate. */
const extensionsTag = 0xa3;
/** Object identifiers as hexadecimal content: below 2.5.29. */
const [keyUsage, basicConstraints, extendedKeyUsage] = ['551d0f', '551d13', '551d25'];
/** Name constraints, policy mappings, policy constraints, inhibit any policy. */
const restricting: ReadonlySet<string> = new Set(['551d1e', '551d21', '551d24', '551d36']);
const known: ReadonlySet<string> = new Set([keyUsage, basicConstraints, extendedKeyUsage]);
/** Bit 5 of KeyUsage. */
const keyCertSign = 0x04;
const clientAuthUsages = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0'];
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

/** `below`: the number of authorities between this one and the certificate of the client. */
export const mayIssue = (issuer: X509Certificate, below: number, nowMs: number): boolean => {
  if (!issuer.ca || issuer.validFromDate.getTime() > nowMs || nowMs >= issuer.validToDate.getTime()) return false;
  const usages = issuer.keyUsage as readonly string[] | undefined;
  if (usages !== undefined && !clientAuthUsages.some((usage) => usages.includes(usage))) return false;
  try {
    const extensions = extensionsOf(issuer.raw);
    for (const [id, { isCritical }] of extensions)
      if (restricting.has(id) || (isCritical && !known.has(id))) return false;
    return signsCertificates(extensions.get(keyUsage)) && below <= pathLengthOf(extensions.get(basicConstraints));
  } catch {
    return false;
  }
};

/** Without the extension a key may be used for everything. */
const signsCertificates = (extension: Extension | undefined): boolean => {
  if (extension === undefined) return true;
  // The first byte is the number of unused bits.
  const bits = firstOf(extension.value, bitsTag);
  return ((bits[1] ?? 0) & keyCertSign) !== 0;
};

const pathLengthOf = (extension: Extension | undefined): number => {
  if (extension === undefined) return -1;
  const length = valuesIn(firstOf(extension.value, sequenceTag)).find(({ tag }) => tag === integerTag)?.content;
  if (length === undefined) return Number.POSITIVE_INFINITY;
  return length.length === 1 ? (length[0] ?? 0) : Number.POSITIVE_INFINITY;
};
