/** Mutated WebSocket handshakes: none is accepted without a credential, and no second request hides in one. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearer, readTarget } from '../rfc/rfc-harness.ts';
import {
  expectBoundedMemory,
  expectNoFault,
  type FuzzHarness,
  fuzz,
  longText,
  nastyText,
  openFuzzHarness,
  sendBytes,
  shortWaitMs,
} from './fuzz-harness.ts';

let harness: FuzzHarness;

beforeAll(async () => {
  harness = await openFuzzHarness({}, (route) => ({ ...route, upgrade: route.method === 'GET' }));
  // A service that refuses every WebSocket; on an open one the answers could not be distinguished.
  harness.upstream.answer = (req, res) => {
    req.resume();
    const status = req.headers.upgrade === undefined ? 200 : 426;
    res
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ success: status === 200, target: req.url }));
  };
});

afterAll(() => harness.close());

type Line = readonly [name: string, value: string];

const handshake = (lines: readonly Line[], target = readTarget, method = 'GET'): string =>
  `${method} ${target} HTTP/1.1\r\nHost: x\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;

const good: readonly Line[] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
];

const line: fc.Arbitrary<Line> = fc.oneof(
  fc.tuple(fc.constant('Connection'), fc.constantFrom('Upgrade', 'upgrade, close', 'keep-alive, Upgrade', 'close', '')),
  fc.tuple(fc.constant('Upgrade'), fc.constantFrom('websocket', 'WebSocket', 'h2c', 'websocket, h2c', 'x', '')),
  fc.tuple(fc.constant('Sec-WebSocket-Version'), fc.oneof(fc.constantFrom('13', '8', '13, 8', '-1', ''), nastyText(6))),
  fc.tuple(fc.constant('Sec-WebSocket-Key'), nastyText(30)),
  fc.tuple(fc.constant('Sec-WebSocket-Protocol'), nastyText(30)),
  fc.tuple(fc.constant('Sec-WebSocket-Extensions'), nastyText(30)),
  fc.tuple(fc.constant('HTTP2-Settings'), nastyText(10)),
  fc.tuple(fc.constant('Origin'), nastyText(20)),
);
const lines = fc
  .tuple(fc.array(line, { maxLength: 6 }), fc.boolean())
  .map(([some, whole]): Line[] => (whole ? [...good, ...some] : some));

const credential: fc.Arbitrary<Line[]> = fc.oneof(
  fc.constant<Line[]>([]),
  nastyText(40).map((text): Line[] => [['Authorization', `Bearer ${text}`]]),
  nastyText(40).map((text): Line[] => [['X-Api-Key', text]]),
  nastyText(40).map((text): Line[] => [['Sec-WebSocket-Protocol', `bearer, ${text}`]]),
  fc.constant<Line[]>([['Sec-WebSocket-Protocol', 'access_token']]),
  fc.constant<Line[]>([['Proxy-Authorization', 'Bearer x']]),
);

test('no handshake opens anything without a good credential, wherever else a token may stand', async () => {
  const target = fc.oneof(
    fc.constant(readTarget),
    fc.constantFrom('?access_token=', '?token=', '?api_key=').map((query) => `${readTarget}${query}${harness.token}`),
  );
  const hidden = fc.constantFrom<Line[]>(
    [],
    [['Sec-WebSocket-Protocol', harness.token]],
    [['Sec-WebSocket-Key', harness.token]],
    [['Cookie', `access_token=${harness.token}`]],
  );
  await fuzz(fc.tuple(lines, credential, hidden, target), async ([some, presented, elsewhere, where]) => {
    const before = harness.passed();
    const { statuses } = await sendBytes(
      harness.door.port,
      handshake([...some, ...presented, ...elsewhere, ['Connection', 'close']], where),
      shortWaitMs,
    );
    expectNoFault(statuses);
    for (const status of statuses) expect([400, 401, 403, 426, 431]).toContain(status);
    expect(harness.passed()).toBe(before);
  });
  await harness.expectOpen();
});

test('with a good credential a handshake is one request to the upstream, whatever follows it on the connection', async () => {
  const hidden = '/api/orders/list?hidden=1';
  const follower = fc.oneof(
    fc.constant(''),
    fc.constant(handshake([], hidden)),
    fc.constant(handshake([['X-Api-Key', 'opk_wrong']], hidden)),
    fc.constant(`0\r\n\r\n${handshake([], hidden)}`),
    nastyText(200),
    // A frame of the other protocol before it was negotiated.
    fc.uint8Array({ maxLength: 100 }).map((codes) => String.fromCharCode(0x81, codes.length, ...codes)),
  );
  let reached = 0;
  await fuzz(fc.tuple(lines, follower), async ([some, after]) => {
    const mark = harness.mark();
    const { statuses, text } = await sendBytes(
      harness.door.port,
      handshake([mark.field, ['Authorization', `Bearer ${harness.token}`], ...some]) + after,
      shortWaitMs,
    );
    expectNoFault(statuses);
    expect(text).not.toContain('HTTP/1.1 101');
    const seen = mark.seen();
    expect(seen.length).toBeLessThanOrEqual(1);
    for (const { target, headers } of seen) {
      expect(target).toBe(readTarget);
      expect(headers.authorization).toBeUndefined();
    }
    reached += seen.length;
  });
  expect(reached).toBeGreaterThan(0);
  await harness.expectOpen();
});

test('a handshake is for GET alone, without a body, and for an address that offers it', async () => {
  const method = fc.constantFrom('POST', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'CONNECT', 'TRACE');
  const target = fc.constantFrom(
    '/api/orders/create',
    '/api/unknown',
    '/api/orders%2Flist',
    '*',
    'http://other.example/api/orders/list',
  );
  const body = fc.constantFrom<Line[]>([['Content-Length', '5']], [['Transfer-Encoding', 'chunked']]);
  const request = fc.oneof(
    fc.tuple(lines, method).map(([some, how]) => ({ some, how, where: '/api/menu/categories' })),
    fc.tuple(lines, target).map(([some, where]) => ({ some, how: 'GET', where })),
    body.map((some) => ({ some: [...good, ...some], how: 'GET', where: readTarget })),
  );
  await fuzz(request, async ({ some, how, where }) => {
    const mark = harness.mark();
    const { statuses, text } = await sendBytes(
      harness.door.port,
      `${handshake([mark.field, ...some, ['X-Api-Key', String(harness.door.asKey['x-api-key'])]], where, how)}hello`,
      shortWaitMs,
    );
    expectNoFault(statuses);
    expect(text).not.toContain('HTTP/1.1 101');
    // HEAD wherever GET (interface 1): an ordinary request.
    expect(mark.seen().every((seen) => seen.method === 'HEAD')).toBe(true);
  });
  await harness.expectOpen();
});

test('long handshakes that lead nowhere, and those that break off, leave nothing behind', async () => {
  const head = handshake([...good, ['Authorization', `Bearer ${harness.token}`]]);
  const bytes = fc.oneof(
    fc.nat(head.length - 1).map((length) => head.slice(0, length)),
    longText(20_000).map((text) => handshake([...good, ['Sec-WebSocket-Protocol', text]])),
    longText(20_000).map((text) => handshake(good) + text),
  );
  const before = harness.passed();
  await expectBoundedMemory(() =>
    fuzz(
      bytes,
      async (each) => {
        expectNoFault((await sendBytes(harness.door.port, each, shortWaitMs)).statuses);
        // Each request of this test is a GET; a HEAD of the test before may arrive late.
        expect(harness.upstream.seen.slice(before).filter(({ method }) => method === 'GET')).toEqual([]);
      },
      60,
    ),
  );
  const { status } = await harness.read(bearer(harness.token));
  expect(status).toBe(200);
});
