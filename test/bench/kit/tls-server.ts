/** A TLS server for contenders of the bench, as the program makes it, with a certificate of its own. */
import type { ServerOptions } from 'node:http';
import type { Server } from 'node:https';
import { openCertificate } from '#src/platform/http/tls/open-certificate.ts';
import { createTlsServer } from '#src/platform/http/tls/tls-server.ts';
import { createLog } from '#src/platform/log.ts';
import { makeAuthority, writeCertificate } from '../../gateway/harness/make-certificate.ts';

export const createBenchTlsServer = (options: ServerOptions): Server => {
  const log = createLog({ level: 'silent', role: 'bench' });
  const { certFile, keyFile, remove } = writeCertificate(makeAuthority());
  const certificate = openCertificate({ listener: 'bench', files: { certFile, keyFile }, log });
  remove();
  return createTlsServer({ certificate, countFailure: () => undefined, log }, options);
};
