/**
 * HAProxy with one thread, as an API gateway of its documentation: it verifies the ES256 signature, the issuer and the expiry
 * of the token of every request and passes the request on to the upstream over connections that it keeps.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';

const command = '/usr/sbin/haproxy';
export const hasHaproxy = existsSync(command);

/** `publicKey`: PEM. Resolves when it listens; it runs on the cores of this process. */
export const startHaproxy = async (
  upstreamUrl: string,
  { publicKey, issuer }: { publicKey: string; issuer: string },
): Promise<{ url: string; close: () => Promise<void> }> => {
  const folder = await mkdtemp(join(tmpdir(), 'orderpass-bench-haproxy-'));
  const keyFile = join(folder, 'key.pem');
  await writeFile(keyFile, publicKey);
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  await writeFile(
    file,
    `global
  nbthread 1
  maxconn 4000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 60s
  http-reuse always
frontend door
  bind 127.0.0.1:${port}
  http-request set-var(txn.bearer) http_auth_bearer
  http-request set-var(txn.issuer) http_auth_bearer,jwt_payload_query('$.iss')
  http-request set-var(txn.expires) http_auth_bearer,jwt_payload_query('$.exp','int')
  http-request set-var(txn.now) date()
  http-request deny deny_status 401 unless { var(txn.issuer) -m str ${issuer} }
  http-request deny deny_status 401 unless { var(txn.bearer),jwt_verify("ES256","${keyFile}") -m int 1 }
  http-request deny deny_status 401 if { var(txn.expires),sub(txn.now) -m int lt 0 }
  default_backend service
backend service
  server one ${new URL(upstreamUrl).host} pool-max-conn 256
`,
  );
  const child = spawn(command, ['-q', '-db', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  await until(() => isListening(port));
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
      await rm(folder, { recursive: true });
    },
  };
};

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
