import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGatewayAlone } from './gateway-alone.ts';

let gateway: Awaited<ReturnType<typeof startGatewayAlone>>;

beforeAll(async () => {
  gateway = await startGatewayAlone();
});
afterAll(() => gateway?.stop());

type Raw = { status: number; headers: Record<string, string | string[] | undefined>; body: Buffer };

/** The bytes of the answer as they were sent, not decompressed. */
const ask = (path: string, headers: Record<string, string>, method = 'GET'): Promise<Raw> =>
  new Promise((resolve, reject) => {
    const asking = request(`${gateway.url}${path}`, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    asking.on('error', reject).end();
  });

const large = ['/api/openapi.json', '/docs/errors', '/docs/assets/swagger-ui-bundle.js', '/docs/assets/swagger-ui.css'];
const unpack = { br: brotliDecompressSync, gzip: gunzipSync };

test('documents and pages come compressed as Accept-Encoding allows, smaller and byte for byte the same inside', async () => {
  for (const path of large) {
    const plain = await ask(path, {});
    expect([path, plain.status, plain.headers['content-encoding'], plain.headers.vary]).toEqual([
      path,
      200,
      undefined,
      'accept-encoding',
    ]);
    const tags = new Set([plain.headers.etag]);
    for (const encoding of ['br', 'gzip'] as const) {
      const packed = await ask(path, { 'accept-encoding': encoding });
      expect(packed.headers).toMatchObject({
        'content-encoding': encoding,
        'content-type': plain.headers['content-type'],
        'content-length': String(packed.body.length),
        'cache-control': 'public, max-age=300',
        vary: 'accept-encoding',
      });
      expect(packed.body.length).toBeLessThan(plain.body.length / 2);
      expect(unpack[encoding](packed.body).equals(plain.body)).toBe(true);
      tags.add(packed.headers.etag);
      const again = await ask(path, { 'accept-encoding': encoding, 'if-none-match': String(packed.headers.etag) });
      expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, packed.headers.etag]);
      const head = await ask(path, { 'accept-encoding': encoding }, 'HEAD');
      expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
        200,
        0,
        String(packed.body.length),
      ]);
    }
    expect(tags.size).toBe(3);
  }
});

test('an encoding that the caller refuses or does not name is not used, and small answers are not compressed', async () => {
  const encodingFor = async (accepted: string, path = '/docs/errors'): Promise<unknown> =>
    (await ask(path, { 'accept-encoding': accepted })).headers['content-encoding'];
  expect(await encodingFor('gzip, deflate, br, zstd')).toBe('br');
  expect(await encodingFor('br;q=0, gzip')).toBe('gzip');
  expect(await encodingFor('br;q=0, gzip;q=0')).toBeUndefined();
  expect(await encodingFor('identity')).toBeUndefined();
  expect(await encodingFor('zstd')).toBeUndefined();
  expect(await encodingFor('*')).toBe('br');
  expect(await encodingFor('br', '/docs/search')).toBeUndefined();
  // Each encoding has its own entity tag.
  const plain = await ask('/docs/errors', {});
  const other = await ask('/docs/errors', { 'accept-encoding': 'br', 'if-none-match': String(plain.headers.etag) });
  expect([other.status, other.headers['content-encoding']]).toEqual([200, 'br']);
});

test('no page, script or style sheet names an address of another host that a browser would ask', async () => {
  for (const path of [
    '/docs',
    '/docs/errors',
    '/docs/assets/reference.js',
    '/docs/assets/reference.css',
    '/docs/assets/guide.css',
    '/docs/assets/guide.js',
    '/docs/reference',
    '/docs/search?q=token',
    '/docs/assets/swagger-ui.css',
  ]) {
    const { status, body } = await ask(path, {});
    expect([path, status]).toEqual([path, 200]);
    const asked = [...body.toString().matchAll(/(?:src|href)="([^"]*)"|url\(["']?([^"')]*)|@import\s*["']([^"']*)/g)];
    for (const [, source, url, imported] of asked)
      expect(`${path} ${source ?? url ?? imported}`).toMatch(/ (\/(?!\/)|#|data:)/);
  }
});
