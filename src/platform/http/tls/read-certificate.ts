/** Reads and checks the files of a listener's certificate. All problems are found together; none shows bytes of a key. */
import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** Paths of PEM files. `clientCaFile`: undefined when no client certificate is requested. */
export type CertificateFiles = { certFile: string; keyFile: string; clientCaFile?: string | undefined };

type FileName = keyof CertificateFiles;
type FileProblem = { file: FileName; message: string };

/** The checked content of the files. */
export type Certificate = {
  /** What a TLS server is made with. */
  readonly context: SecureContextOptions;
  /** Certificate of the server itself: the first one of its file. */
  readonly leaf: X509Certificate;
  readonly requestsClients: boolean;
};

export type ReadCertificate =
  | { certificate: Certificate; problems: readonly [] }
  | { certificate: undefined; problems: readonly FileProblem[] };

/** A chain with a hundred authorities fits. */
const fileBytesMax = 1024 * 1024;

/**
 * The suites that RFC 9325 section 4.2 names for TLS 1.2, after those of TLS 1.3. All have forward secrecy and authenticated
 * encryption.
 */
const namedSuites = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
];

/** `named`: no others. `strong`: also those of the same strength, which are faster without hardware for AES. */
export type Suites = 'named' | 'strong';

const ciphersOf: Readonly<Record<Suites, string>> = {
  named: namedSuites.join(':'),
  strong: [...namedSuites, 'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'].join(':'),
};

/** A time out of the validity of the certificate is no problem here: see `validityProblem`. */
export const readCertificate = (files: CertificateFiles, suites: Suites = 'strong'): ReadCertificate => {
  const problems: FileProblem[] = [];
  const add = (file: FileName, message: string): void =>
    void problems.push({ file, message: `${files[file]} ${message}` });
  const read = <T>(file: FileName, parse: (content: Buffer) => T | string): T | undefined => {
    const content = readBounded(files[file] ?? '');
    const parsed = typeof content === 'string' ? content : parse(content);
    if (typeof parsed !== 'string') return parsed;
    add(file, parsed);
    return undefined;
  };
  const chain = read('certFile', parseChain);
  const key = read('keyFile', parseKey);
  const authorities = files.clientCaFile === undefined ? undefined : read('clientCaFile', parseAuthorities);
  const [leaf] = chain?.certificates ?? [];
  if (leaf !== undefined && key !== undefined && !leaf.checkPrivateKey(key.object))
    add('keyFile', `is not the key of the first certificate in ${files.certFile}`);
  if (problems.length > 0 || chain === undefined || key === undefined || leaf === undefined)
    return { certificate: undefined, problems };
  const context = contextOf(chain.pem, key.pem, authorities?.pem, ciphersOf[suites]);
  const refused = contextProblem(context);
  if (refused !== undefined) return { certificate: undefined, problems: [{ file: 'certFile', message: refused }] };
  return { certificate: { context, leaf, requestsClients: authorities !== undefined }, problems: [] };
};

const contextOf = (cert: Buffer, key: Buffer, ca: Buffer | undefined, ciphers: string): SecureContextOptions => ({
  cert,
  key,
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  ciphers,
  // A client could make the server compute handshakes on one connection again and again.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  // Every certificate of the file is trusted as it is, an intermediate authority without its root too. Servers of Node 24 ignore
  // the option; client-authorities.ts checks such certificates where they count.
  ...(ca === undefined ? undefined : { ca, allowPartialTrustChain: true }),
});

/** OpenSSL has limits of its own, for example on the length of keys. */
const contextProblem = (context: SecureContextOptions): string | undefined => {
  try {
    createSecureContext(context);
    return undefined;
  } catch (error) {
    return `is refused by OpenSSL: ${error instanceof Error ? error.message : String(error)}`;
  }
};

/** A text is the problem. A named pipe would block the process, so only regular files are opened. */
const readBounded = (path: string): Buffer | string => {
  try {
    const found = statSync(path);
    if (!found.isFile()) return 'is not a regular file';
    return found.size > fileBytesMax ? `has more than ${fileBytesMax} bytes` : readFileSync(path);
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
};

type Chain = { pem: Buffer; certificates: readonly X509Certificate[] };

const certificatePattern = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

const parseChain = (pem: Buffer): Chain | string => {
  try {
    const certificates = (pem.toString('latin1').match(certificatePattern) ?? []).map(
      (text) => new X509Certificate(text),
    );
    return certificates.length === 0 ? 'holds no certificate in PEM form' : { pem, certificates };
  } catch {
    return 'holds a certificate that cannot be read';
  }
};

const parseAuthorities = (pem: Buffer): Chain | string => {
  const chain = parseChain(pem);
  if (typeof chain === 'string') return chain;
  const other = chain.certificates.find(({ ca }) => !ca);
  return other === undefined ? chain : `holds the certificate of ${oneLine(other.subject)}, which is no authority`;
};

/** PEM of the authorities in a file; a text is the problem. */
export const readAuthorities = (path: string): Buffer | string => {
  const content = readBounded(path);
  const parsed = typeof content === 'string' ? content : parseAuthorities(content);
  return typeof parsed === 'string' ? parsed : parsed.pem;
};

const parseKey = (pem: Buffer): { pem: Buffer; object: KeyObject } | string => {
  try {
    return { pem, object: createPrivateKey(pem) };
  } catch (error) {
    const code: unknown = Reflect.get(Object(error), 'code');
    return code === 'ERR_MISSING_PASSPHRASE'
      ? 'holds a key with a passphrase; store it without one'
      : 'holds no private key in PEM form';
  }
};

const oneLine = (subject: string | undefined): string => (subject ?? '').replaceAll('\n', ', ');

/** Undefined within the validity of the certificate. */
export const validityProblem = ({ leaf }: Certificate, nowMs: number): string | undefined => {
  if (nowMs >= leaf.validToDate.getTime()) return `the certificate expired on ${leaf.validToDate.toISOString()}`;
  if (nowMs < leaf.validFromDate.getTime())
    return `the certificate is not valid before ${leaf.validFromDate.toISOString()}`;
  return undefined;
};

/** Groups may read the key: containers get it by their group. Undefined: no other user may. */
export const keyFileProblem = ({ keyFile }: CertificateFiles): string | undefined =>
  ((statSync(keyFile, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) === 0
    ? undefined
    : `${keyFile} is readable by every user of this machine; take that right away (chmod o-r)`;
