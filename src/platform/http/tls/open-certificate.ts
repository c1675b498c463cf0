/**
 * The certificate of a listener while it runs. Its files are looked at once a second by path, which notices a rename and a
 * changed symbolic link as it notices a write, on every file system. New files are checked whole. Files that cannot be used
 * change nothing: the listener continues with the certificate that it has. A certificate that is refused for its dates alone
 * is tried again every 10 s, since it becomes valid, and the clock of a machine may be set, without a change of the files.
 */
import { isIP } from 'node:net';
import { watchFiles } from '../../files/watch-files.ts';
import type { Logger } from '../../log.ts';
import type { Service } from '../../supervisor.ts';
import {
  type Certificate,
  type CertificateFiles,
  keyFileProblem,
  readCertificate,
  type Suites,
  validityProblem,
} from './read-certificate.ts';

/** not_renewed: the files changed and cannot be used, so the earlier certificate is served. */
export type CertificateState = 'ok' | 'not_renewed' | 'expired';

export type OpenCertificate = {
  current(): Certificate;
  state(): CertificateState;
  /** `changed` is called with each new certificate. */
  onChange(changed: (certificate: Certificate) => void): void;
  /** Reads the files now. */
  reload(): void;
  /** Looks at the files until its signal is aborted. */
  service: Service;
};

type CertificateDeps = {
  /** For the log: `public` or `internal`. */
  listener: string;
  files: CertificateFiles;
  /** Default: `strong`. */
  suites?: Suites;
  /** Host that clients use; undefined: the names of the certificate are not compared. */
  host?: string | undefined;
  log: Logger;
};

/** Throws with every problem of the files. */
export const openCertificate = ({ listener, files, suites, host, log }: CertificateDeps): OpenCertificate => {
  const first = readCertificate(files, suites);
  if (first.certificate === undefined) throw new Error(first.problems.map(({ message }) => message).join('; '));
  let certificate: Certificate = first.certificate;
  let isRefused = false;
  let isOutsideDates = false;
  const paths = [files.certFile, files.keyFile, files.clientCaFile].filter((path) => path !== undefined);
  const listeners: ((certificate: Certificate) => void)[] = [];

  const refuse = (reason: string): void => {
    isRefused = true;
    log.error({ listener, err: new Error(reason) }, 'the new certificate is not used; the earlier one is served');
  };

  const reload = (): void => {
    isOutsideDates = false;
    const read = readCertificate(files, suites);
    if (read.certificate === undefined) return refuse(read.problems.map(({ message }) => message).join('; '));
    if (isSame(read.certificate, certificate)) {
      isRefused = false;
      return;
    }
    const invalid = validityProblem(read.certificate, Date.now());
    if (invalid !== undefined) {
      isOutsideDates = true;
      return refuse(invalid);
    }
    certificate = read.certificate;
    isRefused = false;
    for (const changed of listeners) changed(certificate);
    log.warn({ listener, valid_until: certificate.leaf.validToDate }, 'a new certificate is served');
    warnAbout(certificate, files, host, { log, listener });
  };

  warnAbout(certificate, files, host, { log, listener });
  return {
    current: () => certificate,
    state: () => {
      if (isRefused) return 'not_renewed';
      return Date.now() < certificate.leaf.validToDate.getTime() ? 'ok' : 'expired';
    },
    onChange: (changed) => void listeners.push(changed),
    reload,
    service: {
      name: `certificate of the ${listener} listener`,
      run: (signal) =>
        watchFiles(
          () => paths,
          reload,
          signal,
          () => !isOutsideDates,
        ),
    },
  };
};

const isSame = ({ context: a }: Certificate, { context: b }: Certificate): boolean =>
  (['cert', 'key', 'ca'] as const).every((name) => String(a[name]) === String(b[name]));

/** None of this keeps a program from its start: clients refuse such a certificate themselves, and a new one is noticed. */
const warnAbout = (
  certificate: Certificate,
  files: CertificateFiles,
  host: string | undefined,
  { log, listener }: Pick<CertificateDeps, 'log' | 'listener'>,
): void => {
  const invalid = validityProblem(certificate, Date.now());
  const open = keyFileProblem(files);
  for (const problem of [invalid, open]) if (problem !== undefined) log.warn({ listener }, problem);
  const { leaf } = certificate;
  const isNamed = host === undefined || (isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host)) !== undefined;
  if (!isNamed) log.warn({ listener, names: leaf.subjectAltName }, `the certificate does not name ${host}`);
};
