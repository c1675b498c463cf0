/** Error bodies of upstreams are small on the wire and may be huge behind their coding: none is ever unpacked whole. */
import { once } from 'node:events';
import type { Readable, Transform } from 'node:stream';
import { constants, createBrotliCompress, createDeflate, createGzip, createZstdCompress } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDoor, type PublicDoor, sendRequest, startUpstream, type TestUpstream } from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url);
});

afterAll(async () => {
  await door.close();
  await upstream.close();
});

const mebibyte = 1024 * 1024;

const bytesOf = async (stream: Readable): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

/** `mebibytes` of JSON text, packed piece by piece, so that the bomb is never whole in this process. */
const pack = async (packer: Transform, mebibytes: number): Promise<Buffer> => {
  const packed = bytesOf(packer);
  const piece = Buffer.alloc(mebibyte, 'x');
  packer.write('{"message":"');
  for (let i = 0; i < mebibytes; i += 1) if (!packer.write(piece)) await once(packer, 'drain');
  packer.end('"}');
  return packed;
};

const wrap = (packer: Transform, body: Buffer): Promise<Buffer> => {
  const packed = bytesOf(packer);
  packer.end(body);
  return packed;
};

test('A-053 bombs in gzip, deflate, br, zstd and two codings are not unpacked: fixed sentence, next to no memory', async () => {
  const gzip = await pack(createGzip(), 60);
  const br = await pack(createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }), 150);
  const bombs: [string, Buffer][] = [
    ['gzip', gzip],
    ['deflate', await pack(createDeflate(), 60)],
    ['br', br],
    ['zstd', await pack(createZstdCompress(), 150)],
    ['gzip, gzip', await wrap(createGzip(), gzip)],
    ['br, gzip', await wrap(createGzip(), br)],
  ];
  const ask = async (coding: string, body: Buffer, headers: Record<string, string>): Promise<void> => {
    upstream.answer = (_req, res) => {
      res.writeHead(400, { 'content-type': 'application/json', 'content-encoding': coding }).end(body);
    };
    const { status, json, text } = await sendRequest(door.url, 'GET', '/api/orders/list', { headers });
    expect([status, json.error_description ?? json.detail ?? json.message]).toEqual([400, 'The request is not valid']);
    expect(text.length).toBeLessThan(1_000);
  };
  const callers = [door.asBearer, door.asKey, { ...door.asKey, accept: 'application/problem+json' }];
  // Small enough on the wire to be looked at.
  for (const [coding, body] of bombs) expect(body.length, coding).toBeLessThan(64 * 1024);
  for (const headers of callers) await ask('identity', Buffer.from('{}'), headers);
  const peakBefore = process.resourceUsage().maxRSS;
  for (const [coding, body] of bombs) for (const headers of callers) await ask(coding, body, headers);
  // One of the largest would bring 150 MiB; what the tests themselves leave behind until it is collected is less.
  expect((process.resourceUsage().maxRSS - peakBefore) * 1024).toBeLessThan(100 * mebibyte);
  upstream.answer = (_req, res) => {
    res.writeHead(400, { 'content-type': 'application/json' }).end('{"message":"Not today"}');
  };
  const { json } = await sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asBearer });
  expect(json.error_description).toBe('Not today');
});
