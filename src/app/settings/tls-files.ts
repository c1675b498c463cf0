/** Which listeners of a role speak TLS, and with which files. */
import type { CertificateFiles } from '#src/platform/http/tls/read-certificate.ts';
import type { Settings } from './config.ts';
import { hasInternal, runsGateway } from './role-parts.ts';

/** Undefined: the role has no public listener, or it speaks plain HTTP. */
export const publicFilesOf = (settings: Settings): CertificateFiles | undefined => {
  const { cert_file: certFile, key_file: keyFile, client_ca_file: clientCaFile } = settings.tls;
  if (!runsGateway(settings) || certFile === undefined || keyFile === undefined) return undefined;
  return { certFile, keyFile, clientCaFile };
};

/** Undefined: the role has no internal listener, or it speaks plain HTTP. */
export const internalFilesOf = (settings: Settings): CertificateFiles | undefined => {
  const { cert_file: certFile, key_file: keyFile } = settings.internal_tls;
  return hasInternal(settings) && certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined;
};

/** Address of the public listener as people and links name it. */
export const publicOriginOf = ({ origin, port, tls }: Pick<Settings, 'origin' | 'port' | 'tls'>): string =>
  origin ?? `${tls.cert_file === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
