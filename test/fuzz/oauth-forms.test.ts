/** Forms of the three OAuth endpoints in any bytes: no token and no answer about one without a proven client, no fault. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Reply, sendRequest } from '../gateway/harness/public-door.ts';
import { formType } from '../rfc/rfc-harness.ts';
import {
  expectBoundedMemory,
  expectNoFault,
  type FuzzHarness,
  fuzz,
  longText,
  nastyByte,
  nastyText,
  openFuzzHarness,
  sendBytes,
  shortWaitMs,
} from './fuzz-harness.ts';

let harness: FuzzHarness;

beforeAll(async () => {
  harness = await openFuzzHarness();
});

afterAll(() => harness.close());

const endpoint = fc.constantFrom('token', 'revoke', 'introspect');

const expectRefusal = ({ status, json, text }: Reply): void => {
  expect([400, 401, 413]).toContain(status);
  expect(text).not.toContain('access_token');
  expect(json.active).toBeUndefined();
  for (const member of ['error', 'error_description', 'error_uri', 'request_id'])
    expect(typeof json[member]).toBe('string');
  expect(json.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
};

const send = (name: string, body: Buffer | string, headers: Record<string, string> = {}): Promise<Reply> =>
  sendRequest(harness.door.url, 'POST', `/api/oauth/${name}`, {
    headers: { 'content-type': formType, ...headers },
    body,
  });

/** After all requests: the right form is accepted, and no request revoked the token of this file. */
const expectWorking = async (): Promise<void> => {
  await harness.tokenOf(harness.client);
  await harness.expectOpen();
  const { json } = await harness.post('introspect', { token: harness.token, ...harness.service });
  expect(json.active).toBe(true);
};

const fieldName = fc.oneof(
  fc.constantFrom(
    ...['grant_type', 'client_id', 'client_secret', 'scope', 'resource', 'token', 'token_type_hint', '__proto__'],
    ...[
      'client_assertion',
      'client_assertion_type',
      'constructor',
      'toString',
      'grant_type[]',
      'client_id[0]',
      'scope.x',
      '',
    ],
  ),
  nastyText(10),
);

const encoded = fc.oneof(
  nastyText(40),
  longText(2_000),
  fc.constantFrom(
    'client_credentials',
    '%',
    '%0',
    '%zz',
    '%00',
    '%C3%28',
    '%ff%fe',
    '+',
    '%2B',
    '=',
    '&',
    ';',
    '%u0041',
    '%F0%9F',
  ),
  fc
    .uint8Array({ maxLength: 20 })
    .map((bytes) => [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')),
);

/** Holds no secret, so it authenticates no client. */
const strangersForm = fc
  .tuple(
    fc.array(fc.tuple(fieldName, encoded), { maxLength: 12 }),
    fc.constantFrom('&', '&', '&', ';', '&&', '\r\n', '\u0000', '=&='),
    fc.constantFrom('=', '=', '=', '==', '', ': '),
    fc.boolean(),
  )
  .map(([fields, between, equals, asClient]) => {
    const own = asClient
      ? [
          ['grant_type', 'client_credentials'],
          ['client_id', harness.client.client_id],
          ['token', harness.token],
        ]
      : [];
    return [...own, ...fields].map((pair) => pair.join(equals)).join(between);
  });

test('fields of any names, values, encodings and repetition prove no client', async () => {
  await fuzz(
    fc.tuple(endpoint, strangersForm),
    async ([name, form]) => expectRefusal(await send(name, Buffer.from(form, 'latin1'))),
    200,
  );
  await expectWorking();
});

test('bodies of any bytes and content types prove no client', async () => {
  const type = fc.constantFrom(
    ...[
      formType,
      `${formType}; charset=utf-16le`,
      `${formType}; charset=`,
      `${formType};;;`,
      ` ${formType} `,
      'application/json',
    ],
    ...[
      `${formType}, application/json`,
      'multipart/form-data; boundary=x',
      'text/plain',
      '*/*',
      '/',
      ';',
      formType.toUpperCase(),
    ],
  );
  const coding = fc.constantFrom('', '', 'identity', 'gzip', 'br', 'deflate', 'gzip, gzip', 'x', ',');
  const bytes = fc.oneof(
    fc.array(nastyByte, { maxLength: 400 }).map((codes) => Buffer.from(codes)),
    fc.uint8Array({ maxLength: 400 }).map((codes) => Buffer.from(codes)),
    strangersForm.map((form) => Buffer.from(form, 'utf16le')),
    fc.jsonValue().map((json) => Buffer.from(JSON.stringify(json))),
  );
  await fuzz(
    fc.tuple(endpoint, type, coding, bytes),
    async ([name, contentType, contentCoding, body]) =>
      expectRefusal(await send(name, body, { 'content-type': contentType, 'content-encoding': contentCoding })),
    150,
  );
  await expectWorking();
});

test('Authorization in any bytes and base64 proves no client', async () => {
  const { client_id, client_secret } = harness.client;
  const pair = fc.oneof(
    fc.tuple(nastyText(20), nastyText(20)).map((parts) => parts.join(':')),
    nastyText(20).map((text) => `${client_id}:${text}`),
    fc.constantFrom(
      client_id,
      `${client_id}:`,
      `:${client_secret}`,
      `${client_id}:${client_secret}x`,
      '%:%',
      '%00:%00',
    ),
    fc.constantFrom(
      `${client_secret}:${client_id}`,
      ` ${client_id}:${client_secret}`,
      `${client_id}:\u0000${client_secret}`,
    ),
    longText(8_000).map((text) => `${client_id}:${text}`),
  );
  const value = fc.oneof(
    pair.map((text) => `Basic ${Buffer.from(text, 'latin1').toString('base64')}`),
    pair.map((text) => `Basic ${Buffer.from(text).toString('base64url')}`),
    pair.map((text) => `basic  ${Buffer.from(text).toString('base64')}`),
    fc.constant(`Bearer ${harness.token}`),
    fc.tuple(fc.constantFrom('Basic ', 'basic', 'Digest ', ''), nastyText(40)).map((parts) => parts.join('')),
  );
  const good = Buffer.from(`${client_id}:${client_secret}`).toString('base64');
  await fuzz(
    fc.tuple(endpoint, value).filter(([, text]) => text.replace(/^basic +/i, '').trim() !== good),
    async ([name, authorization]) => {
      const form = new URLSearchParams({ grant_type: 'client_credentials', token: harness.token }).toString();
      const { text, statuses } = await sendBytes(
        harness.door.port,
        `POST /api/oauth/${name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${formType}\r\n` +
          `Content-Length: ${form.length}\r\nAuthorization: ${authorization}\r\n\r\n${form}`,
      );
      expect(statuses).toHaveLength(1);
      expect([400, 401, 431]).toContain(statuses[0]);
      expect(text).not.toMatch(/"access_token"|"active"/);
    },
    150,
  );
  expect((await send('token', 'grant_type=client_credentials', { authorization: `Basic ${good}` })).status).toBe(200);
  await expectWorking();
});

test('what a proven client sends beside its secret is answered without a fault, and a token only where one was asked for', async () => {
  const form = fc.array(
    fc.tuple(
      fc.constantFrom(
        'scope',
        'resource',
        'token',
        'token_type_hint',
        'client_assertion_type',
        'x',
        'audience',
        'grant_type',
      ),
      encoded,
    ),
    { maxLength: 5 },
  );
  await fuzz(
    fc.tuple(endpoint, form),
    async ([name, fields]) => {
      const own = new URLSearchParams({ grant_type: 'client_credentials', ...harness.service }).toString();
      const body = `${own}&${fields.map((pair) => pair.join('=')).join('&')}`;
      const { status, text } = await send(name, Buffer.from(body, 'latin1'));
      expect([200, 400]).toContain(status);
      if (name !== 'token') expect(text).not.toContain('access_token');
      if (name === 'introspect' && status === 200) expect(text).toBe('{"active":false}');
    },
    200,
  );
  await expectWorking();
});

test('lengths and chunks that lie, break off or never end are answered or closed', async () => {
  const own = (): string => `grant_type=client_credentials&client_id=${harness.client.client_id}`;
  const framing = fc.oneof(
    fc.constantFrom(
      'Content-Length: 0',
      'Content-Length: 99999',
      'Content-Length: 1',
      'Content-Length: -1',
      'Content-Length: 1e1',
    ),
    fc.constantFrom('Content-Length: 99999999999999999999', 'Content-Length: 0x10', 'Content-Length: 5,5', 'X: y'),
    fc.constantFrom('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked'),
    fc.constantFrom(
      'Transfer-Encoding: identity',
      'Transfer-Encoding: chunked, chunked',
      'Expect: 100-continue',
      'Expect: x',
    ),
  );
  const chunk = fc.tuple(
    fc.constantFrom(
      '5',
      '05',
      '0x5',
      '-5',
      '5;a=b',
      '5;',
      '5 ',
      ' 5',
      'FFFFFFFF',
      'FFFFFFFFFFFFFFFF',
      '',
      'g',
      `5;${'e'.repeat(3_000)}`,
    ),
    fc.constantFrom('\r\n', '\n', '\r', '\r\r\n', ''),
    fc.constantFrom('hello', 'hell', 'hello!', ''),
    fc.constantFrom('\r\n', '\n', ''),
  );
  const body = fc.oneof(
    fc
      .array(
        chunk.map((parts) => parts.join('')),
        { maxLength: 4 },
      )
      .map((chunks) => chunks.join('')),
    fc.constantFrom('0\r\n\r\n', '0\r\n', '', 'x', '0\r\nX-Trailer: y\r\n\r\n', '0\r\nContent-Length: 5\r\n\r\n'),
    fc.constant(null).map(own),
  );
  await fuzz(
    fc.tuple(endpoint, fc.array(framing, { minLength: 1, maxLength: 2 }), body),
    async ([name, lines, text]) => {
      const { statuses, text: said } = await sendBytes(
        harness.door.port,
        `POST /api/oauth/${name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${formType}\r\n` +
          `${lines.join('\r\n')}\r\n\r\n${text}`,
        shortWaitMs,
      );
      expectNoFault(statuses);
      expect(said).not.toMatch(/"access_token"|"active"/);
    },
    120,
  );
  await expectWorking();
});

test('forms around and far above their bound are refused, and nothing of them is kept', async () => {
  const size = fc.oneof(fc.integer({ min: 65_300, max: 65_700 }), fc.integer({ min: 65_700, max: 3_000_000 }));
  const pieces = fc.constantFrom('a=', 'x', '&', 'scope=a&', '%41', 'token=');
  await expectBoundedMemory(() =>
    fuzz(
      fc.tuple(endpoint, size, pieces, fc.boolean()),
      async ([name, length, piece, chunked]) => {
        const body = piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
        const lead = chunked
          ? `Transfer-Encoding: chunked\r\n\r\n${length.toString(16)}\r\n`
          : `Content-Length: ${length}\r\n\r\n`;
        const { statuses } = await sendBytes(
          harness.door.port,
          `POST /api/oauth/${name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${formType}\r\n${lead}${body}`,
          shortWaitMs,
        );
        // The server may close on a sender that goes on, whose answer is lost then.
        expect(statuses.length).toBeLessThanOrEqual(1);
        for (const status of statuses) expect([400, 401, 413]).toContain(status);
      },
      40,
    ),
  );
  await expectWorking();
});
