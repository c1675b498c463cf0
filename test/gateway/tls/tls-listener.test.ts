/** The public listener over TLS, and the plain port beside it (interface 16). */
import { request as plainRequest } from 'node:http';
import { connect } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';
import { sendRaw, sendRequest } from '../harness/public-door.ts';
import { echoPath, shake, startTls, type TlsStand } from './tls-harness.ts';

let stand: TlsStand;
let plainPort: number;
const origin = 'https://api.example:8443';

beforeAll(async () => {
  plainPort = await freePort();
  stand = await startTls(() => ({
    ORDERPASS_TLS_REDIRECT_PORT: String(plainPort),
    ORDERPASS_ORIGIN: origin,
    ORDERPASS_LOG_LEVEL: 'info',
  }));
});

afterAll(() => stand.close());

const protocolOf = async (options: ConnectionOptions): Promise<[string | null, string | false | null]> => {
  const socket = await shake(stand.port, { ca: stand.authority.cert, ...options });
  const found: [string | null, string | false | null] = [socket.getProtocol(), socket.alpnProtocol];
  socket.destroy();
  return found;
};

test('A-170 TLS 1.2 and 1.3 are spoken, with HTTP/1.1 alone; TLS 1.1, weak suites and HTTP/2 alone are refused', async () => {
  expect(stand.url).toMatch(/^https:/);
  expect(await protocolOf({ maxVersion: 'TLSv1.2', ALPNProtocols: ['h2', 'http/1.1'] })).toEqual([
    'TLSv1.2',
    'http/1.1',
  ]);
  expect(await protocolOf({ minVersion: 'TLSv1.3', ALPNProtocols: ['h2', 'http/1.1'] })).toEqual([
    'TLSv1.3',
    'http/1.1',
  ]);
  const refused: ConnectionOptions[] = [
    { ALPNProtocols: ['h2'] },
    { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256' },
  ];
  for (const options of refused) await expect(protocolOf(options)).rejects.toThrow(/alert|SSL/i);
});

test('A-170 every answer over TLS has HSTS, and links, issuer and the upstream name https', async () => {
  const answers = [
    await stand.send('GET', '/healthz'),
    await stand.send('GET', '/nothing'),
    await stand.send('GET', '/panel/sign-in'),
    await stand.send('GET', echoPath, { headers: stand.asClient }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 200]);
  for (const { headers } of answers) expect(headers['strict-transport-security']).toBe('max-age=31536000');
  expect(stand.seen.at(-1)).toMatchObject({ 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.example:8443' });
  const metadata = await stand.send('GET', '/.well-known/oauth-authorization-server');
  expect(JSON.parse(metadata.text)).toMatchObject({ issuer: origin, token_endpoint: `${origin}/api/oauth/token` });
});

test('A-171 the plain port redirects GET and HEAD to the public address, whatever Host they name', async () => {
  const url = `http://127.0.0.1:${plainPort}`;
  for (const host of ['api.example:8443', 'evil.example']) {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await sendRequest(url, method, '/docs/errors?a=%20b', { headers: { host } });
      expect([status, headers.location]).toEqual([308, `${origin}/docs/errors?a=%20b`]);
      expect(headers).not.toHaveProperty('strict-transport-security');
    }
  }
});

test('A-171 the plain port refuses credentials, other methods and other targets, and forwards nothing', async () => {
  const url = `http://127.0.0.1:${plainPort}`;
  const before = stand.seen.length;
  const refused: [string, string, Record<string, string>][] = [
    ['GET', echoPath, stand.asClient],
    ['GET', echoPath, { 'x-api-key': 'opk_1' }],
    ['GET', echoPath, { authorization: 'Bearer a.b.c' }],
    ['GET', echoPath, { authorization: 'Basic YTpi' }],
    ['GET', `${echoPath}?access_token=a`, {}],
    ['GET', 'http://evil.example/', {}],
    ['GET', echoPath, { upgrade: 'websocket', connection: 'upgrade', 'x-api-key': 'opk_1' }],
    ['POST', '/api/oauth/token', { 'content-length': '0' }],
    ['DELETE', echoPath, {}],
    ['OPTIONS', echoPath, {}],
  ];
  for (const [method, target, headers] of refused) {
    const answer = await sendRequest(url, method, target, { headers });
    expect([method, target, answer.status]).toEqual([method, target, 400]);
    expect(answer.headers.location).toBeUndefined();
    expect(answer.text).toContain(origin);
  }
  const asBearer = await sendRequest(url, 'GET', echoPath, { headers: { authorization: 'Bearer a.b.c' } });
  expect(asBearer.json.error).toBe('invalid_request');
  expect(asBearer.headers['www-authenticate']).toContain('error="invalid_request"');
  expect(await sendRaw(plainPort, 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
  expect(await sendRaw(plainPort, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
  expect(stand.seen.length).toBe(before);
});

test('A-175 a WebSocket and an event stream work over TLS', async () => {
  const socket = new WebSocket(`${stand.url.replace('https', 'wss')}${echoPath}`, {
    headers: stand.asClient,
    ca: stand.authority.cert,
  });
  const answered = new Promise<string>((resolve, reject) => {
    socket.on('open', () => socket.send('over TLS'));
    socket.on('message', (data) => resolve(String(data)));
    socket.on('error', reject);
  });
  expect(await answered).toBe('over TLS');
  expect(stand.seen.at(-1)).toMatchObject({ 'x-forwarded-proto': 'https' });
  socket.terminate();

  const client = await shake(stand.port, { ca: stand.authority.cert });
  let stream = '';
  client.on('data', (chunk: Buffer) => {
    stream += chunk.toString();
  });
  const head = Object.entries({ host: 'api.example', ...stand.asClient }).map(([name, value]) => `${name}: ${value}`);
  client.write(`GET ${echoPath}?events HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
  await until(() => stream.includes('data: 3'));
  expect(stream).toMatch(/^HTTP\/1.1 200 /);
  client.destroy();
});

test('A-649 a client of HTTP/1.0 over TLS gets a reset instead of a short answer without a length, and the program goes on', async () => {
  const socket = await shake(stand.port, { ca: stand.authority.cert });
  const fields = Object.entries(stand.asClient).map(([name, value]) => `${name}: ${value}\r\n`);
  const end = new Promise<string>((resolve) => {
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    socket.on('data', () => undefined).on('end', () => resolve('whole'));
  });
  socket.write(`GET ${echoPath}?cut HTTP/1.0\r\n${fields.join('')}\r\n`);
  expect(await end).toBe('ECONNRESET');
  expect((await stand.send('GET', '/healthz')).status).toBe(200);
});

test('A-176 a handshake and a head that do not come end after 10 and 15 s, and a broken request over TLS is answered', async () => {
  const startedMs = performance.now();
  const silent = new Promise<number>((resolve) => {
    const socket = connect(stand.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(performance.now() - startedMs));
    socket.resume();
  });
  const slow = await shake(stand.port, { ca: stand.authority.cert });
  const answered = new Promise<string>((resolve) => slow.once('data', (chunk: Buffer) => resolve(chunk.toString())));
  slow.write('GET /healthz HTTP/1.1\r\nhost: a');
  const broken = await shake(stand.port, { ca: stand.authority.cert });
  const refused = new Promise<string>((resolve) => broken.once('data', (chunk: Buffer) => resolve(chunk.toString())));
  broken.write('nonsense\r\n\r\n');
  expect(await refused).toMatch(/^HTTP\/1.1 400 /);
  expect(await silent).toBeGreaterThan(9_000);
  expect(await answered).toMatch(/^HTTP\/1.1 408 /);
  for (const socket of [slow, broken]) socket.destroy();
});

test('A-176 plain requests and other bytes on the TLS port get no answer, and one line of the log', async () => {
  const lines = (): string[] =>
    stand.program
      .errors()
      .split('\n')
      .filter((line) => line.includes('a TLS handshake failed') && line.includes('HTTP_REQUEST'));
  for (let i = 0; i < 20; i += 1)
    await expect(
      new Promise((resolve, reject) => {
        plainRequest(`http://127.0.0.1:${stand.port}/healthz`, { agent: false }, resolve).on('error', reject).end();
      }),
    ).rejects.toThrow();
  await until(() => lines().length > 0);
  expect((await stand.send('GET', '/healthz')).status).toBe(200);
  expect(lines()).toHaveLength(1);
});
