/** The metrics of TLS on the listeners of a process. */
import type { Metrics } from '../../telemetry/metrics.ts';
import type { OpenCertificate } from './open-certificate.ts';
import type { HandshakeFailure } from './tls-server.ts';

export type TlsMetrics = { countFailure: (failure: HandshakeFailure) => void };

/** `certificates`: of every listener that speaks TLS, at least one. */
export const createTlsMetrics = (metrics: Metrics, certificates: readonly OpenCertificate[]): TlsMetrics => {
  metrics.gauge(
    'tls_certificate_expires_seconds',
    'Until the first certificate of a listener expires; below 0 when it has expired',
    () => (Math.min(...certificates.map((one) => one.current().leaf.validToDate.getTime())) - Date.now()) / 1000,
    'min',
  );
  metrics.gauge(
    'tls_certificate_renewed',
    '0: the files of a certificate changed and cannot be used, so the earlier certificate is served',
    () => (certificates.some((one) => one.state() === 'not_renewed') ? 0 : 1),
    'min',
  );
  const failures = metrics.counter(
    'tls_handshake_failures_total',
    'Handshakes that failed, by reason: client_certificate, closed, plain_http, protocol, timeout',
    ['reason'],
  );
  return { countFailure: (reason) => failures.child({ reason }).inc() };
};
