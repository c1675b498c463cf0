/**
 * Pure: the name by which certificates of an authority are those of one client (RFC 8705 section 2.1.2): the subject, or one
 * alternative name. Names are compared by one canonical text. A text that could be read in two ways is refused when it is
 * registered, so that no certificate matches by another reading.
 */
import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { validationFault } from '#src/contract/fault.ts';

/** What is known of a certificate. `subject`: one attribute per line as Node gives it, in the sequence of its encoding. */
export type NamedCertificate = {
  subject: string;
  alternativeNames: readonly { kind: string; value: string }[];
};

const lengthMax = 1_024;

/** Types by their names in RFC 4514, RFC 4519 and OpenSSL, in lower case → the name that OpenSSL writes. */
const attributeTypes: ReadonlyMap<string, string> = new Map(
  [
    ...['CN', 'C', 'ST', 'L', 'O', 'OU', 'DC', 'UID', 'SN', 'GN', 'title', 'street', 'postalCode'],
    ...['serialNumber', 'emailAddress', 'organizationIdentifier', 'dnQualifier', 'businessCategory'],
  ].map((name) => [name.toLowerCase(), name]),
);

type Attribute = { type: string; value: string };

/** Of one relative name: several attributes are a set, so their sequence means nothing. */
const writeRelative = (attributes: readonly Attribute[]): string =>
  attributes
    .map(({ type, value }) => `${type}=${escapeValue(value)}`)
    .sort()
    .join('+');

/** RFC 4514 section 2.4. */
const escapeValue = (value: string): string =>
  value
    .replace(/[\\",+;<>=]/g, '\\$&')
    .replace(/^[ #]/, '\\$&')
    .replace(/ $/, '\\ ');

/** Undefined: an unknown escape, bytes that are no UTF-8, an unescaped blank at an end, or a control character, which no name needs. */
const readValue = (text: string): string | undefined => {
  if (text === '' || /^[ #]/.test(text) || /(?:^|[^\\]) $/.test(text)) return undefined;
  const bytes: Buffer[] = [];
  const part = /\\([0-9A-Fa-f]{2})|\\([ "#+,;<=>\\])|([^\\"+,;<>]+)/gy;
  let end = 0;
  for (const [whole, hex, escaped, plain] of text.matchAll(part)) {
    end += whole.length;
    bytes.push(hex === undefined ? Buffer.from(escaped ?? plain ?? '') : Buffer.from(hex, 'hex'));
  }
  if (end !== text.length) return undefined;
  try {
    const value = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(bytes));
    return /\p{Cc}/u.test(value) ? undefined : value;
  } catch {
    return undefined;
  }
};

/** Splits at `mark` where no backslash stands before it. */
const splitAt = (text: string, mark: ',' | '+'): string[] => {
  const parts: string[] = [];
  let from = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === mark) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  return [...parts, text.slice(from)];
};

const readAttribute = (text: string): Attribute | undefined => {
  const equals = text.indexOf('=');
  const type = equals === -1 ? undefined : attributeTypes.get(text.slice(0, equals).toLowerCase());
  const value = readValue(text.slice(equals + 1));
  return type === undefined || value === undefined ? undefined : { type, value };
};

const readRelative = (texts: readonly string[]): string | undefined => {
  const attributes = texts.map(readAttribute);
  return attributes.every((one) => one !== undefined) ? writeRelative(attributes) : undefined;
};

/** The canonical text of a distinguished name in the form of RFC 4514: its last relative name first. */
const canonicalSubject = (text: string): string | undefined => {
  const relatives = splitAt(text, ',').map((relative) => readRelative(splitAt(relative, '+')));
  return relatives.every((one) => one !== undefined) ? relatives.join(',') : undefined;
};

/** The same of a certificate. Undefined for one without a subject, or with an attribute of an unknown type. */
const subjectOf = ({ subject }: NamedCertificate): string | undefined => {
  if (subject === '' || subject.length > lengthMax * 2) return undefined;
  const relatives = subject.split('\n').map((line) => readRelative(splitPlus(line)));
  return relatives.every((one) => one !== undefined) ? relatives.toReversed().join(',') : undefined;
};

/** Node writes blanks around the sign that joins attributes, and a backslash before one that belongs to a value. */
const splitPlus = (line: string): string[] =>
  splitAt(line, '+').map((part, index, all) =>
    part.slice(index === 0 ? 0 : 1, index === all.length - 1 ? undefined : -1),
  );

/** Prefix of a registered name → the kind as Node names it. */
const kinds: ReadonlyMap<string, string> = new Map([
  ['dns', 'DNS'],
  ['uri', 'URI'],
  ['ip', 'IP Address'],
  ['email', 'email'],
]);

const plainIp = (text: string): string | undefined => {
  if (isIPv4(text)) return text;
  return isIPv6(text) && !text.includes('%') ? new SocketAddress({ address: text, family: 'ipv6' }).address : undefined;
};

const valuePatterns: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    dns: /^(?=.{1,253}$)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*$/,
    uri: /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]{1,512}$/,
    email: /^[\x21-\x3f\x41-\x7e]{1,64}@[A-Za-z0-9.-]{1,253}$/,
  }),
);

/** Canonical form of a subject of RFC 4514, such as `CN=till-1,O=Example,C=DE`. Throws VALIDATION_ERROR. */
export const readSubjectName = (text: string): string => {
  const canonical = text.length > lengthMax ? undefined : canonicalSubject(text);
  if (canonical !== undefined) return `subject:${canonical}`;
  const types = [...attributeTypes.values()].join(', ');
  throw wrongName(
    'tls_subject',
    `must be a distinguished name of RFC 4514 without blanks around its commas, such as CN=till-1,O=Example,C=DE, with the types ${types}`,
  );
};

/** Canonical form of `dns:NAME`, `uri:URI`, `ip:ADDRESS` or `email:ADDRESS`. Throws VALIDATION_ERROR. */
export const readAlternativeName = (text: string): string => {
  const [, kind = '', value = ''] = /^([a-z]+):(.+)$/s.exec(text) ?? [];
  const canonical = kind === 'ip' ? plainIp(value) : valuePatterns.get(kind)?.test(value) ? value : undefined;
  if (canonical !== undefined) return `${kind}:${canonical}`;
  throw wrongName(
    'tls_san',
    'must be dns:NAME, uri:URI, ip:ADDRESS or email:ADDRESS, exactly as the certificate has it',
  );
};

const wrongName = (pointer: string, message: string): Error => validationFault([{ pointer, code: 'FORMAT', message }]);

/** `name`: as the functions above return it. Letters count as they are written, and a wildcard matches nothing. */
export const hasName = (certificate: NamedCertificate, name: string): boolean => {
  const [, prefix = '', wanted = ''] = /^([a-z]+):(.*)$/s.exec(name) ?? [];
  if (prefix === 'subject') return subjectOf(certificate) === wanted;
  const kind = kinds.get(prefix);
  return certificate.alternativeNames.some(
    (one) => one.kind === kind && (prefix === 'ip' ? plainIp(one.value) : one.value) === wanted,
  );
};
