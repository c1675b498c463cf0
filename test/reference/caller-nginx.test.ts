/** The configuration of nginx on /docs/callers, with its paths replaced, behind a gateway with a certificate of its own. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeAuthority } from '../gateway/harness/make-certificate.ts';
import { openDoor, sendRequest } from '../gateway/harness/public-door.ts';
import { freePort } from '../support/free-port.ts';
import { root } from '../support/program.ts';
import { until } from '../support/until.ts';

const nginx = '/usr/sbin/nginx';
const isInstalled = existsSync(nginx);
if (!isInstalled) process.stderr.write('skipped: nginx is not installed (Debian: apt-get install nginx-light)\n');

const startNginx = async (folder: string, port: number) => {
  const text = readFileSync(join(root, 'src/app/reference/snippets/caller/nginx.conf'), 'utf8')
    .replace('listen 8443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replaceAll('/etc/nginx/', `${folder}/`)
    .replace('/srv/files', `${folder}/files`);
  writeFileSync(join(folder, 'site.conf'), text);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path ${folder}/${each};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/nginx.pid; user root; events { worker_connections 64; }
     http { access_log off; error_log ${folder}/error.log; ${paths.join(' ')} include ${folder}/site.conf; }`,
  );
  const child = spawn(nginx, ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  return async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
};

test.skipIf(!isInstalled)(
  'A-197 nginx with the lines of the page takes the gateway alone, and reads the scopes of the caller',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'orderpass-nginx-'));
    mkdirSync(join(folder, 'files'));
    writeFileSync(join(folder, 'files', 'prices.csv'), 'a,1\n');
    const [service, gateway] = [makeAuthority('Services'), makeAuthority('Gateways')];
    const pairs = { service: service.issue(), gateway: gateway.issue({ use: 'client', name: 'orderpass' }) };
    writeFileSync(join(folder, 'service.pem'), pairs.service.cert);
    writeFileSync(join(folder, 'service.key'), pairs.service.key);
    writeFileSync(join(folder, 'gateway.pem'), gateway.cert);
    writeFileSync(join(folder, 'services.pem'), service.cert);
    writeFileSync(join(folder, 'own.pem'), pairs.gateway.cert);
    writeFileSync(join(folder, 'own.key'), pairs.gateway.key);
    const port = await freePort();
    const url = `https://127.0.0.1:${port}`;
    const stop = await startNginx(folder, port);
    const caFile = join(folder, 'services.pem');
    const tls = { caFile, certFile: join(folder, 'own.pem'), keyFile: join(folder, 'own.key') };
    const route = { method: 'GET', scopes: [] };
    const door = await openDoor('http://127.0.0.1:9', {
      table: {
        upstreams: {
          files: { addresses: [url], identity: 'headers', tls },
          stranger: { addresses: [url.replace('127.0.0.1', 'localhost')], identity: 'headers', tls: { caFile } },
        },
      },
      moreRoutes: [
        { ...route, id: 'files', path: '/files/*', stripPrefix: '/files', upstream: 'files' },
        { ...route, id: 'stranger', path: '/stranger/*', stripPrefix: '/stranger', upstream: 'stranger' },
      ],
    });
    try {
      const ask = (target: string, headers: Record<string, string>) =>
        sendRequest(door.url, 'GET', target, { headers });
      await until(async () => (await ask('/files/prices.csv', door.asKey)).status === 200);
      const reader = await door.clientWith(['read:orders', 'read:menu']);
      const found = await ask('/files/prices.csv', reader);
      expect([found.text, found.headers['x-seen-caller']]).toEqual(['a,1\n', reader['x-client-id']]);
      const forged = { ...(await door.clientWith(['read:menu'])), 'x-orderpass-scopes': 'read:orders' };
      expect((await ask('/files/prices.csv', forged)).status).toBe(403);
      // Without the certificate of the gateway nginx refuses before it reads a field.
      expect((await ask('/stranger/prices.csv', reader)).status).toBe(400);
    } finally {
      await door.close();
      await stop();
      rmSync(folder, { recursive: true });
    }
  },
);
