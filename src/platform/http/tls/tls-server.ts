/** An HTTP/1.1 server over TLS whose certificate can change while it runs. */
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { Logger } from '../../log.ts';
import type { OpenCertificate } from './open-certificate.ts';

/** Why a handshake failed. closed: the client went away, as probes of load balancers do. */
export type HandshakeFailure = 'client_certificate' | 'closed' | 'plain_http' | 'protocol' | 'timeout';

type TlsServerDeps = {
  certificate: OpenCertificate;
  /**
   * Every client certificate is taken in the handshake, since the program checks it where it counts; otherwise one that no named
   * authority has signed ends the connection.
   */
  takesEveryClient?: boolean;
  countFailure: (failure: HandshakeFailure) => void;
  log: Logger;
};

/** From the connection to the end of the handshake; the time for a head begins after it. */
const handshakeTimeoutMs = 10_000;

export const createTlsServer = (deps: TlsServerDeps, options: ServerOptions): Server => {
  const { certificate, takesEveryClient = false } = deps;
  const { context, requestsClients } = certificate.current();
  const server = createServer({
    ...options,
    ...context,
    handshakeTimeout: handshakeTimeoutMs,
    // HTTP/2 is off: see src/gateway/README.md.
    ALPNProtocols: ['http/1.1'],
    requestCert: requestsClients || takesEveryClient,
    // A client without a certificate is accepted, so a wrong certificate is refused below.
    rejectUnauthorized: false,
  });
  // The context counts for new handshakes; open connections keep theirs.
  certificate.onChange((changed) => server.setSecureContext(changed.context));
  // node:https would answer a broken handshake as if it were a broken request.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error, socket) => fail(deps, socket, error, failureOf(error)));
  if (takesEveryClient) server.prependListener('secureConnection', forgetErrors);
  else if (requestsClients) server.prependListener('secureConnection', (socket) => refuseUnverified(deps, socket));
  return server;
};

/**
 * OpenSSL leaves the error of a certificate whose signature is wrong in the list of its thread. The next read of this or another
 * connection would be taken for a failed one. Node empties the list when it reads a certificate.
 */
const forgetErrors = (socket: TLSSocket): void => void socket.getPeerX509Certificate();

const refuseUnverified = (deps: TlsServerDeps, socket: TLSSocket): void => {
  if (socket.authorized || socket.getPeerX509Certificate() === undefined) return;
  const error = new Error(`the client certificate is refused: ${String(socket.authorizationError)}`);
  fail(deps, socket, error, 'client_certificate');
};

const failureOf = ({ code }: NodeJS.ErrnoException): HandshakeFailure => {
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'closed';
  if (code === 'ERR_SSL_HTTP_REQUEST') return 'plain_http';
  return code === 'ERR_TLS_HANDSHAKE_TIMEOUT' ? 'timeout' : 'protocol';
};

/** Repetitions of one error are counted in the log, so that scanners do not fill it (`log/repeats.ts`). */
const fail = ({ countFailure, log }: TlsServerDeps, socket: TLSSocket, err: Error, failure: HandshakeFailure): void => {
  countFailure(failure);
  if (failure !== 'closed') log.warn({ err, address: socket.remoteAddress }, 'a TLS handshake failed');
  socket.destroy();
};
