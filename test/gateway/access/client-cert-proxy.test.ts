/** Client certificates behind a real HAProxy with config/haproxy-client-cert.cfg (interface 26, RFC 9440). */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';
import { type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { type CertificateFolder, makeAuthority, type Pair, writeCertificate } from '../harness/make-certificate.ts';
import { type ClientOptions, sendTls } from '../tls/tls-harness.ts';

const program = '/usr/sbin/haproxy';
const isPresent = existsSync(program);
if (!isPresent) process.stderr.write(`skipped: ${program} is not installed (Debian: apt-get install haproxy)\n`);

const authority = makeAuthority();
const pair = makeAuthority('Unknown').issue({ name: 'till-1', use: 'client' });
let harness: Harness;
let files: CertificateFolder;
let proxy: ChildProcess;
let url: string;
let clientId: string;

beforeAll(async () => {
  if (!isPresent) return;
  harness = await openHarness({
    settings: {
      client_certificates: 'on',
      client_certificate_proxies: '127.0.0.1',
      auth_check: 'on',
      trusted_proxy_hops: 1,
    },
  });
  ({ clientId } = await harness.credentials.createClient({ name: 'x', tenants: [await harness.createTenant()] }));
  await harness.credentials.addClientCertificate(clientId, { pem: pair.cert });
  const server = authority.issue();
  files = writeCertificate(authority, server);
  const pem = join(files.folder, 'server.pem');
  writeFileSync(pem, server.cert + server.key, { mode: 0o600 });
  const port = await freePort();
  url = `https://127.0.0.1:${port}`;
  const text = readFileSync(new URL('../../../config/haproxy-client-cert.cfg', import.meta.url), 'utf8')
    .replaceAll('127.0.0.1:8000', `127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:8080', new URL(harness.url).host)
    .replaceAll('/etc/haproxy/server.pem', pem);
  writeFileSync(join(files.folder, 'haproxy.cfg'), text);
  proxy = spawn(program, ['-db', '-q', '-f', join(files.folder, 'haproxy.cfg')], { stdio: 'ignore' });
  await until(async () => {
    if (proxy.exitCode !== null) throw new Error(`${program} ended with ${proxy.exitCode}`);
    return (await send('GET', '/healthz').catch(() => undefined)) !== undefined;
  });
});

afterAll(async () => {
  if (!isPresent) return;
  const ended = new Promise((resolve) => proxy?.once('exit', resolve));
  proxy?.kill('SIGTERM');
  await ended;
  files?.remove();
  await harness?.close();
});

const send = (method: string, target: string, options: ClientOptions = {}): ReturnType<typeof sendTls> =>
  sendTls(url, method, target, { ca: authority.cert, ...options });

const ask = (options: ClientOptions): ReturnType<typeof sendTls> =>
  send('POST', '/api/oauth/token', {
    ...options,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...options.headers },
    body: `grant_type=client_credentials&client_id=${clientId}`,
  });

const claim = (one: Pair): string => `:${one.cert.replaceAll(/-----[A-Z ]+-----|\s/g, '')}:`;

test.skipIf(!isPresent)(
  'A-371 HAProxy names a self-signed certificate, and its token needs that certificate',
  async () => {
    const { status, text } = await ask({ ...pair });
    expect(status).toBe(200);
    const headers = { authorization: `Bearer ${JSON.parse(text).access_token as string}` };
    const check = { ...headers, 'x-original-method': 'GET', 'x-original-uri': read };
    for (const [target, sent] of [
      [read, headers],
      ['/auth/check', check],
    ] as const) {
      expect((await send('GET', target, { ...pair, headers: sent })).status).toBe(200);
      expect((await send('GET', target, { headers: sent })).status).toBe(401);
      const other = authority.issue({ name: 'till-1', use: 'client' });
      expect((await send('GET', target, { ...other, headers: sent })).status).toBe(401);
    }
  },
);

test.skipIf(!isPresent)('A-372 a client cannot claim a certificate through HAProxy', async () => {
  for (const name of ['client-cert', 'Client-Cert', 'client_cert']) {
    const { status, text } = await ask({ headers: { [name]: claim(pair) } });
    expect([status, JSON.parse(text).error]).toEqual([401, 'invalid_client']);
  }
  expect((await ask({ ...pair, headers: { 'client-cert': claim(authority.issue()) } })).status).toBe(200);
});

test.skipIf(!isPresent)(
  'A-480 HAProxy states the address of a caller, and a forwarded address of its own does not count',
  async () => {
    const foreign = '203.0.113.9';
    const options = { name: 'x', tenants: [await harness.createTenant()] };
    const call = async (allowIp: string[]): Promise<number> => {
      const { value } = await harness.credentials.createApiKey({
        name: 'till',
        tenant: options.tenants[0] ?? '',
        allowIp,
      });
      return (await send('GET', read, { headers: { 'x-api-key': value, 'x-forwarded-for': foreign } })).status;
    };
    expect([await call([foreign]), await call(['127.0.0.1'])]).toEqual([403, 200]);
  },
);
