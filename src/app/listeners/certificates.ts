/** The certificates of the listeners of a process. */
import type { Server, ServerOptions } from 'node:http';
import { createServer } from 'node:http';
import { type ClientAuthorities, openClientAuthorities } from '#src/platform/http/tls/client-authorities.ts';
import {
  type CertificateState,
  type OpenCertificate,
  openCertificate,
} from '#src/platform/http/tls/open-certificate.ts';
import type { Suites } from '#src/platform/http/tls/read-certificate.ts';
import { createTlsMetrics } from '#src/platform/http/tls/tls-metrics.ts';
import { createTlsServer } from '#src/platform/http/tls/tls-server.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { Settings } from '../settings/config.ts';
import { internalFilesOf, publicFilesOf } from '../settings/tls-files.ts';

/** Makes the server of a listener, with TLS where the listener has a certificate. */
export type CreateServer = (options: ServerOptions) => Server;

export type Certificates = {
  /** Undefined: the listener speaks plain HTTP. */
  createPublicServer: CreateServer | undefined;
  createInternalServer: CreateServer | undefined;
  /** The worst state; undefined: no listener speaks TLS. */
  state(): CertificateState | undefined;
  /** Reads all files now. False: there are none. */
  reload(): boolean;
  services: Service[];
};

export const createPlainServer: CreateServer = (options) => createServer(options);

/** FAPI 2.0 section 5.2.2-1: TLS 1.2 with the suites that BCP 195 names, and with no others. */
const suitesOf = ({ gateway }: Settings): Suites => (gateway.profile === 'fapi2' ? 'named' : 'strong');

/** Throws when files cannot be used. */
export const openCertificates = (settings: Settings, metrics: Metrics, log: Logger): Certificates => {
  const host = settings.origin === undefined ? undefined : new URL(settings.origin).hostname.replace(/^\[|\]$/g, '');
  const [publicFiles, internalFiles] = [publicFilesOf(settings), internalFilesOf(settings)];
  const ofPublic =
    publicFiles && openCertificate({ listener: 'public', files: publicFiles, suites: suitesOf(settings), host, log });
  const ofInternal = internalFiles && openCertificate({ listener: 'internal', files: internalFiles, log });
  const all = [ofPublic, ofInternal].filter((one) => one !== undefined);
  const { countFailure } = all.length === 0 ? { countFailure: () => undefined } : createTlsMetrics(metrics, all);
  const takesEveryClient = settings.gateway.client_certificates === 'on';
  const serverWith = (certificate: OpenCertificate | undefined, takesEvery = false): CreateServer | undefined =>
    certificate &&
    ((options) => createTlsServer({ certificate, takesEveryClient: takesEvery, countFailure, log }, options));
  return {
    createPublicServer: serverWith(ofPublic, takesEveryClient),
    createInternalServer: serverWith(ofInternal),
    state: () => {
      const states = all.map((one) => one.state());
      return states.find((state) => state !== 'ok') ?? states[0];
    },
    reload: () => {
      for (const one of all) one.reload();
      return all.length > 0;
    },
    services: all.map(({ service }) => service),
  };
};

/** Undefined: the operator has client certificates off, or names no authority. Throws when the file cannot be used. */
export const clientAuthoritiesOf = ({ gateway, tls }: Settings, log: Logger): ClientAuthorities | undefined =>
  gateway.client_certificates === 'on' && tls.client_ca_file !== undefined
    ? openClientAuthorities(tls.client_ca_file, log)
    : undefined;
