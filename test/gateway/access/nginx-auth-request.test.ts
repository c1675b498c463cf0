import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  listen,
  metadata,
  openDoor,
  type PublicDoor,
  plainChallenge,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const nginx = '/usr/sbin/nginx';
const present = existsSync(nginx);
if (!present) process.stderr.write(`skipped: ${nginx} is not installed (Debian: apt-get install nginx-light)\n`);

describe.skipIf(!present)('nginx with auth_request, as configured in config/nginx-auth-request.conf', () => {
  let upstream: TestUpstream;
  let door: PublicDoor;
  let child: ChildProcess;
  let folder: string;
  let url: string;

  beforeAll(async () => {
    upstream = await startUpstream();
    door = await openDoor(upstream.url, { settings: { auth_check: 'on', auth_check_audiences: 'ordering' } });
    folder = mkdtempSync(join(tmpdir(), 'orderpass-nginx-'));
    url = await freeAddress();
    const example = readFileSync(new URL('../../../config/nginx-auth-request.conf', import.meta.url), 'utf8')
      .replaceAll('127.0.0.1:8000', new URL(url).host)
      .replaceAll('127.0.0.1:8080', new URL(door.url).host)
      .replaceAll('127.0.0.1:8081', new URL(upstream.url).host);
    writeFileSync(join(folder, 'site.conf'), example);
    writeFileSync(join(folder, 'nginx.conf'), mainConfig(folder));
    child = spawn(nginx, ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], { stdio: 'inherit' });
    await until(async () => (await sendRequest(url, 'GET', '/').catch(() => undefined)) !== undefined);
  });

  afterAll(async () => {
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child?.kill('SIGTERM');
    await ended;
    await door?.close();
    await upstream?.close();
    rmSync(folder, { recursive: true });
  });

  test('passes what is allowed with the identity, and never the credential or a forged identity', async () => {
    const cases = [
      [door.asKey, 'api_key'],
      [door.asClient, 'api_client'],
      [door.asBearer, 'bearer'],
    ] as const;
    for (const [headers, kind] of cases) {
      upstream.seen.length = 0;
      const answer = await sendRequest(url, 'GET', '/api/orders/list?page=1&x=%2F', {
        headers: { ...headers, 'x-orderpass-id': 'forged', 'x-orderpass-tenants': 'rst_other' },
      });
      expect([answer.status, answer.text]).toEqual([200, '{"success":true}']);
      const [seen] = upstream.seen;
      expect(seen?.target).toBe('/api/orders/list?page=1&x=%2F');
      expect(seen?.headers).toMatchObject({ 'x-orderpass-kind': kind, 'x-orderpass-tenants': 'rst_1' });
      expect(seen?.headers['x-orderpass-id']).not.toContain('forged');
      expect(seen?.headers['x-orderpass-assertion']).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
      for (const name of ['authorization', 'x-api-key', 'x-client-id', 'x-client-secret']) {
        expect(seen?.headers[name]).toBeUndefined();
      }
    }
  });

  test('nginx forwards the body of an allowed request, and the check uses the original method', async () => {
    const send = (headers: Record<string, string>) =>
      sendRequest(url, 'POST', '/api/order/create', {
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{"a":1}',
      });
    upstream.seen.length = 0;
    const refused = await send(door.asKey);
    expect([refused.status, refused.json.error, refused.json.missing_scopes]).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
      ['write:orders'],
    ]);
    expect(upstream.seen).toEqual([]);
    expect((await send(door.asBearer)).status).toBe(200);
    expect(upstream.seen.map(({ method, headers }) => [method, headers['content-length']])).toEqual([['POST', '7']]);
  });

  test('answers refusals with the challenge and the body of the gateway', async () => {
    upstream.seen.length = 0;
    const none = await sendRequest(url, 'GET', '/api/orders/list');
    expect([none.status, none.headers['www-authenticate'], none.json.error]).toEqual([
      401,
      plainChallenge,
      'INVALID_AUTH',
    ]);
    const bad = await sendRequest(url, 'GET', '/api/orders/list', { headers: door.asExpired });
    expect([bad.status, bad.json.error]).toEqual([401, 'invalid_token']);
    expect(bad.headers['www-authenticate']).toContain('error="invalid_token"');
    const scoped = await sendRequest(url, 'GET', '/api/orders/list', { headers: await door.bearerWith(['read:menu']) });
    expect([scoped.status, scoped.json.error, scoped.headers['www-authenticate']]).toEqual([
      403,
      'insufficient_scope',
      `Bearer realm="orderpass", error="insufficient_scope", error_description="This operation needs the scope read:orders", scope="read:orders", resource_metadata="${metadata}"`,
    ]);
    const head = await sendRequest(url, 'HEAD', '/api/orders/list', { headers: door.asExpired });
    expect([head.status, head.text]).toEqual([401, '']);
    expect(upstream.seen).toEqual([]);
  });

  test('lets nothing pass that is no operation or claims to be another one', async () => {
    upstream.seen.length = 0;
    const tries: [string, string, Record<string, string>][] = [
      ['GET', '/', {}],
      ['GET', '/api/x/../orders/list', {}],
      ['GET', '/api//orders/list', {}],
      ['GET', '/api/orders%2flist', {}],
      ['OPTIONS', '/api/orders/list', {}],
      ['GET', '/auth/check', {}],
      ['GET', '/api/unknown', { 'x-original-uri': '/api/orders/list' }],
      ['GET', '/api/unknown', { 'x-forwarded-uri': '/api/orders/list', 'x-forwarded-method': 'GET' }],
    ];
    for (const [method, target, headers] of tries) {
      const answer = await sendRequest(url, method, target, { headers: { ...door.asKey, ...headers } });
      expect([method, target, answer.status >= 400]).toEqual([method, target, true]);
    }
    expect(upstream.seen).toEqual([]);
    expect((await sendRequest(url, 'GET', '/api/orders/list', { headers: door.asKey })).status).toBe(200);
    expect(upstream.seen.length).toBe(1);
  });
});

const freeAddress = async (): Promise<string> => {
  const server = createServer();
  const url = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return url;
};

const mainConfig = (folder: string): string => `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
events { worker_connections 64; }
http {
  access_log off;
  error_log ${folder}/error.log;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  include ${folder}/site.conf;
}
`;
