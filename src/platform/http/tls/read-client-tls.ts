/** Reads and checks the files with which this program connects to a TLS server of others. */
import type { SecureContextOptions } from 'node:tls';
import { readAuthorities, readCertificate } from './read-certificate.ts';

/** Paths of PEM files. A certificate needs its key. */
export type ClientTlsFiles = {
  caFile?: string | undefined;
  certFile?: string | undefined;
  keyFile?: string | undefined;
};

/** PEM texts. Without `ca` the authorities of Node count. */
export type ClientTls = Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>;

export type ClientTlsProblem = { file: keyof ClientTlsFiles; message: string };

/** All problems are found together; none shows bytes of a key. */
export const readClientTls = ({
  caFile,
  certFile,
  keyFile,
}: ClientTlsFiles): { tls: ClientTls; problems: ClientTlsProblem[] } => {
  const problems: ClientTlsProblem[] = [];
  const ca = caFile === undefined ? undefined : readAuthorities(caFile);
  if (typeof ca === 'string') problems.push({ file: 'caFile', message: `${caFile} ${ca}` });
  const tls = typeof ca === 'object' ? { ca } : {};
  if (certFile === undefined && keyFile === undefined) return { tls, problems };
  if (certFile === undefined) return { tls, problems: [...problems, missing('certFile')] };
  if (keyFile === undefined) return { tls, problems: [...problems, missing('keyFile')] };
  const own = readCertificate({ certFile, keyFile });
  for (const { file, message } of own.problems)
    problems.push({ file: file === 'keyFile' ? 'keyFile' : 'certFile', message });
  const { cert, key } = own.certificate?.context ?? {};
  return { tls: { ...tls, cert, key }, problems };
};

const missing = (file: keyof ClientTlsFiles): ClientTlsProblem => ({
  file,
  message: file === 'keyFile' ? 'a certificate needs its key' : 'a key needs its certificate',
});
