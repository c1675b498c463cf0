/** What the gateway leans on in node:tls, beyond its documentation (src/gateway/answer/node-tls). */
import { readFileSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resetConnection } from '#src/gateway/answer/node-tls/reset-connection.ts';
import { type CertificateFolder, makeAuthority, writeCertificate } from '../../gateway/harness/make-certificate.ts';

const authority = makeAuthority();
let files: CertificateFolder;

beforeAll(() => {
  files = writeCertificate(authority);
});

afterAll(() => files?.remove());

test.each(['TLSv1.2', 'TLSv1.3'] as const)('a connection of %s can be reset', async (version) => {
  const take = (socket: Socket): void => {
    socket.on('error', () => undefined);
    socket.write('the start', () => resetConnection(socket));
  };
  const server = createServer({ cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) }, take);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const end = await new Promise<string | undefined>((resolve) => {
      const { port } = server.address() as AddressInfo;
      const only = { minVersion: version, maxVersion: version };
      const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca: authority.cert, ...only });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      socket.on('end', () => resolve('a whole answer')).resume();
    });
    expect(end, 'node:tls changed what src/gateway/answer/node-tls leans on: _parentWrap').toBe('ECONNRESET');
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
