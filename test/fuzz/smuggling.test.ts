/**
 * Requests that two parsers could cut at different places. Whatever a sender tries, with or without a credential: a second
 * request hidden in the first never reaches the upstream, and each answer belongs to its own request.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assertionHeader } from '#src/contract/headers.ts';
import {
  expectBoundedMemory,
  expectNoFault,
  type FuzzHarness,
  fuzz,
  openFuzzHarness,
  sendBytes,
  shortWaitMs,
} from './fuzz-harness.ts';

let harness: FuzzHarness;

beforeAll(async () => {
  harness = await openFuzzHarness();
});

afterAll(() => harness.close());

const lengths = fc.constantFrom(
  ...['Content-Length: 0', 'Content-Length: 2', 'Content-Length: 5', 'Content-Length: 60', 'Content-Length: 6000'],
  ...['Content-Length : 2', 'Content-Length:\t2', 'Content-Length: +2', 'Content-Length: -2', 'Content-Length: 0x2'],
  ...[
    'Content-Length: 2, 2',
    'Content-Length: 2, 60',
    'Content-Length: 2 60',
    'Content-Length: 2\u0000',
    'Content-Length: ',
  ],
  ...['Content-Length: 02', 'Content-Length: 2.0', 'Content-Length: 18446744073709551618', 'Content_Length: 60'],
  ...['Content-Length: \u000b2', 'content-length: 2', 'X: y\nContent-Length: 60', 'X: y\rContent-Length: 60'],
  ...[' Content-Length: 60', '\tContent-Length: 60', 'Content-\u0000Length: 60', '\u0000Content-Length: 60'],
);

const codings = fc.constantFrom(
  ...[
    'Transfer-Encoding: chunked',
    'Transfer-Encoding : chunked',
    'Transfer-Encoding:\tchunked',
    'Transfer-Encoding:chunked',
  ],
  ...[
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: chunkedx',
    'Transfer-Encoding: x, chunked',
    'Transfer-Encoding: chunked, x',
  ],
  ...[
    'Transfer-Encoding: CHUNKED',
    'TRANSFER-ENCODING: chunked',
    'Transfer-Encoding: "chunked"',
    "Transfer-Encoding: 'chunked'",
  ],
  ...[
    'Transfer-Encoding: \u000bchunked',
    'Transfer-Encoding: chunked\u000b',
    'Transfer-Encoding: chunked;q=1',
    'Transfer-Encoding: ',
  ],
  ...[
    'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: ,chunked',
    'Transfer_Encoding: chunked',
  ],
  ...[
    'Transfer-Encoding:\r\n chunked',
    'Transfer-Encoding: chun\r\n ked',
    'X: y\r\n Transfer-Encoding: chunked',
    'TE: chunked',
  ],
  ...['X: y\nTransfer-Encoding: chunked', 'X: y\rTransfer-Encoding: chunked', 'Transfer-Encoding\u0000: chunked'],
  ...[
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding: \u00a0chunked',
    ' Transfer-Encoding: chunked',
  ],
);

const others = fc.constantFrom(
  ...[
    'Host: y',
    'host : y',
    'Host:',
    'Connection: Content-Length',
    'Connection: Transfer-Encoding, keep-alive',
    'Connection: close',
  ],
  ...[
    'Connection: X-Orderpass-Assertion',
    'Upgrade: h2c',
    'Upgrade: websocket',
    'Expect: 100-continue',
    'Trailer: Authorization',
  ],
  ...[
    'X-Orderpass-Assertion: forged',
    'X-HTTP-Method-Override: GET',
    'X-Original-URL: /api/whoami',
    'X\u00e9: y',
    ': y',
    'X',
    ' ',
    '\t',
  ],
  ...[
    'X: \u0000',
    'X: y\u0000',
    'X: \u0080\u00ff',
    'HTTP2-Settings: AAMAAABkAAQAAP__',
    'Content-Encoding: gzip',
    'Proxy-Connection: keep-alive',
  ],
);

const startLine = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('POST /api/order/create HTTP/1.1', 'GET /api/orders/list HTTP/1.1') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...['GET http://evil.example/api/orders/list HTTP/1.1', 'GET https://api.example/api/orders/list HTTP/1.1'],
      ...['GET //evil.example/api/orders/list HTTP/1.1', 'CONNECT evil.example:443 HTTP/1.1', 'OPTIONS * HTTP/1.1'],
      ...[
        'POST /api/order/create HTTP/1.0',
        'POST /api/order/create HTTP/2.0',
        'POST /api/order/create HTTP/1.2',
        'GET /api/orders/list',
      ],
      ...[
        'PRI * HTTP/2.0',
        'POST  /api/order/create HTTP/1.1',
        'POST\t/api/order/create HTTP/1.1',
        ' POST /api/order/create HTTP/1.1',
      ],
      ...[
        'POST /api/order/create  HTTP/1.1',
        'POST /api/order/create HTTP/1.1 ',
        'POST /api/order/create\u0000 HTTP/1.1',
      ],
      ...[
        'HEAD /api/orders/list HTTP/1.1',
        'TRACE /api/orders/list HTTP/1.1',
        'post /api/order/create HTTP/1.1',
        '\r\n',
        '\u0000',
      ],
      ...[
        'GET /api/orders/list#x HTTP/1.1',
        'GET /api/orders/list?a=\u0080 HTTP/1.1',
        'GET /api/orders/%6cist HTTP/1.1',
        'GET @evil HTTP/1.1',
      ],
      ...[
        'POST /api/order/create?x= HTTP/1.1\r\nX: HTTP/1.1',
        'GET api/orders/list HTTP/1.1',
        'GET /api/../api/orders/list HTTP/1.1',
      ],
    ),
  },
);

const lineEnd = fc.oneof(
  { weight: 8, arbitrary: fc.constant('\r\n') },
  { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\r\n', '\n\r', '\r\n\t', '\u0085') },
);

const smuggled =
  'GET /api/account/subrestaurants?smuggled HTTP/1.1\r\nHost: x\r\nX-Orderpass-Assertion: forged\r\nConnection: close\r\n\r\n';

const body = fc.oneof(
  fc.constantFrom(
    '',
    '{}',
    '0\r\n\r\n',
    '2\r\n{}\r\n0\r\n\r\n',
    '2\n{}\n0\n\n',
    '2\r\n{}0\r\n\r\n',
    '2;a=b\r\n{}\r\n0\r\n\r\n',
  ),
  fc.constantFrom(
    '2\r\n{}\r\n0\r\nAuthorization: x\r\n\r\n',
    '2\r\n{}\r\n0\r\nContent-Length: 60\r\n\r\n',
    '0\r\n',
    '00000000000000000\r\n\r\n',
  ),
  fc.constantFrom(
    '0x2\r\n{}\r\n0\r\n\r\n',
    '2 \r\n{}\r\n0\r\n\r\n',
    '-2\r\n{}\r\n0\r\n\r\n',
    '2\r\r\n{}\r\n0\r\n\r\n',
    'FFFFFFFFFFFFFFFF2\r\n{}',
  ),
  fc.constantFrom(
    '2;\n{}\r\n0\r\n\r\n',
    `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
    '2\r\n{}\r\n0\r\n\r',
    `${'0'.repeat(70)}2\r\n{}\r\n0\r\n\r\n`,
  ),
  fc.constant(`${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`),
);

type Attack = { start: string; lines: string[]; ends: string[]; text: string; follow: number };

const attack: fc.Arbitrary<Attack> = fc.record({
  start: startLine,
  lines: fc
    .tuple(
      fc.array(lengths, { maxLength: 2 }),
      fc.array(codings, { maxLength: 2 }),
      fc.array(others, { maxLength: 2 }),
      fc.nat(10),
    )
    .map(([first, second, third, turn]) => {
      const all = [...first, ...second, ...third];
      return [...all.slice(turn % (all.length + 1)), ...all.slice(0, turn % (all.length + 1))];
    }),
  ends: fc.array(lineEnd, { minLength: 1, maxLength: 4 }),
  text: body,
  follow: fc.integer({ min: 0, max: 3 }),
});

const written = ({ start, lines, ends, text, follow }: Attack, credential: readonly string[]): string => {
  const end = (i: number): string => ends[i % ends.length] ?? '\r\n';
  const head = [start, 'Host: x', 'Content-Type: application/json', ...credential, ...lines];
  return `${head.map((line, i) => line + end(i)).join('')}${end(head.length)}${text}${smuggled.repeat(follow)}`;
};

test('without a credential nothing reaches the upstream, however requests are framed and whatever follows them', async () => {
  await fuzz(
    attack,
    async (each) => {
      const before = harness.passed();
      const { statuses } = await sendBytes(harness.door.port, written(each, []), shortWaitMs);
      expectNoFault(statuses);
      expect(harness.passed()).toBe(before);
      for (const status of statuses)
        expect([204, 400, 401, 404, 405, 408, 413, 414, 415, 417, 431, 100, 501]).toContain(status);
    },
    300,
  );
  await harness.expectOpen();
});

test('with a credential at most the request that carries it reaches the upstream, never one that hides behind it', async () => {
  await fuzz(
    attack,
    async (each) => {
      const mark = harness.mark();
      const { statuses } = await sendBytes(
        harness.door.port,
        written(each, [mark.line, `Authorization: Bearer ${harness.token}`]),
        shortWaitMs,
      );
      expectNoFault(statuses);
      const seen = mark.seen();
      expect(seen.length).toBeLessThanOrEqual(1);
      for (const { target, headers } of seen) {
        expect(target).toMatch(/^\/api\/(?:order\/create|orders\/list)(?:\?|$)/);
        expect(target).not.toContain('smuggled');
        expect(String(headers[assertionHeader]).split('.')).toHaveLength(3);
        expect([headers.authorization, headers['transfer-encoding'] && headers['content-length']]).toEqual([
          undefined,
          undefined,
        ]);
      }
      // Connections to the upstream are shared: what was left on one would be the answer of the next request.
      await harness.expectOpen();
    },
    300,
  );
  await harness.expectOpen();
});

test('framing that others could read otherwise is refused with a good credential too', async () => {
  const mark = harness.mark();
  const start = `POST /api/order/create HTTP/1.1\r\nHost: x\r\n${mark.line}\r\nAuthorization: Bearer ${harness.token}\r\nContent-Type: application/json\r\n`;
  const chunked = '2\r\n{}\r\n0\r\n\r\n';
  for (const lines of [
    ...['Transfer-Encoding: x, chunked', 'Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: chunked, chunked'],
    ...['Transfer-Encoding: chunked, identity', 'Transfer-Encoding: identity', 'Transfer-Encoding: "chunked"'],
    ...[
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
      'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
    ],
    ...['Transfer-Encoding: chunked\r\nContent-Length: 2', 'Content-Length: 2\r\nTransfer-Encoding: chunked'],
    ...['Content-Length: 2\r\nContent-Length: 2', 'Content-Length: 2\r\nContent-Length: 60', 'Content-Length: 2, 2'],
    ...[
      'Transfer-Encoding : chunked',
      'Content-Length : 2',
      'X: y\nContent-Length: 2',
      'X: y\rContent-Length: 2',
      'Content-Length: +2',
    ],
  ]) {
    for (const text of [chunked, '{}']) {
      // Each is answered, so the bytes are not ended before.
      const { statuses } = await sendBytes(harness.door.port, `${start}${lines}\r\n\r\n${text}${smuggled}`);
      expect(statuses, lines).toEqual([400]);
    }
  }
  expect(mark.seen()).toEqual([]);
  const { statuses } = await sendBytes(
    harness.door.port,
    `${start}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
  );
  expect([statuses, mark.seen().length]).toEqual([[200], 1]);
  await harness.expectOpen();
});

test('pipelined requests are answered in turn, each for its own credential', async () => {
  const good = `Authorization: Bearer ${harness.token}\r\n`;
  const piece = fc.record({
    credential: fc.constantFrom('', '', good, 'Authorization: Bearer x\r\n', 'X-Api-Key: x\r\n'),
    ending: fc.constantFrom('', 'Content-Length: 0\r\n'),
  });
  let count = 0;
  await fuzz(
    fc.array(piece, { minLength: 2, maxLength: 8 }),
    async (pieces) => {
      const before = harness.passed();
      const targets = pieces.map(() => {
        count += 1;
        return `/api/orders/list?turn=${count}`;
      });
      const bytes = pieces.map(
        ({ credential, ending }, i) =>
          `GET ${targets[i]} HTTP/1.1\r\nHost: x\r\n${credential}${ending}${i === pieces.length - 1 ? 'Connection: close\r\n' : ''}\r\n`,
      );
      const { statuses, text } = await sendBytes(harness.door.port, bytes.join(''));
      expect(statuses).toEqual(pieces.map(({ credential }) => (credential === good ? 200 : 401)));
      const allowed = targets.filter((_, i) => pieces[i]?.credential === good);
      expect([...text.matchAll(/"target":"([^"]+)"/g)].map(([, target]) => target)).toEqual(allowed);
      expect(
        harness.upstream.seen
          .slice(before)
          .map(({ target }) => target)
          .sort(),
      ).toEqual(allowed.toSorted());
    },
    80,
  );
  await harness.expectOpen();
});

test('bytes that are no HTTP, and requests that break off anywhere, are answered or closed and leave nothing behind', async () => {
  const good = `POST /api/order/create HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
  const bytes = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 300 }).map((codes) => Buffer.from(codes)),
    fc.nat(good.length - 1).map((length) => Buffer.from(good.slice(0, length))),
    fc.tuple(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 })).map(([place, code]) => {
      const changed = Buffer.from(good);
      changed[place] = code;
      return changed;
    }),
    // The first bytes of a TLS handshake, of HTTP/2 and of a proxy's header.
    fc.constantFrom(
      Buffer.from('160301020001000001fc0303', 'hex'),
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      Buffer.from('PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\n\r\n'),
    ),
  );
  await expectBoundedMemory(() =>
    fuzz(
      bytes,
      async (each) => {
        const before = harness.passed();
        const { statuses } = await sendBytes(harness.door.port, each, shortWaitMs);
        expectNoFault(statuses);
        expect(harness.passed()).toBe(before);
      },
      60,
    ),
  );
  await harness.expectOpen();
});
