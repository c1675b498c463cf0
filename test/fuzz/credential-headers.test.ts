/** Whatever stands in the headers that carry credentials: only a good credential opens anything. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTarget } from '../rfc/rfc-harness.ts';
import {
  expectBoundedMemory,
  expectNoFault,
  type FuzzHarness,
  fuzz,
  longText,
  nastyText,
  openFuzzHarness,
  sendBytes,
} from './fuzz-harness.ts';

let harness: FuzzHarness;

beforeAll(async () => {
  harness = await openFuzzHarness();
});

afterAll(() => harness.close());

type Line = readonly [name: string, value: string];

const request = (lines: readonly Line[], method = 'GET'): string =>
  `${method} ${readTarget} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('')}\r\n`;

/** Answers: refusals of the caller, and those of a head that is too large or no head. */
const refused = [400, 401, 403, 431];

const expectRefused = async (lines: readonly Line[]): Promise<void> => {
  const before = harness.passed();
  for (const method of ['GET', 'HEAD']) {
    const { statuses } = await sendBytes(harness.door.port, request(lines, method));
    expectNoFault(statuses);
    expect(statuses).toHaveLength(1);
    expect(refused).toContain(statuses[0]);
  }
  expect(harness.passed()).toBe(before);
};

const scheme = fc.oneof(
  fc.constantFrom('Bearer', 'bearer', 'BEARER', 'Basic', 'Digest', 'DPoP', 'Negotiate', 'Bear', 'Bearerr', ''),
  nastyText(8),
);
const blank = fc.constantFrom('', ' ', '  ', '\t', ' \t ', '\u00a0', '\u000b', '\u000c', ',', '=', ':');
const value = fc.oneof(nastyText(60), longText(4_000), fc.constantFrom('null', 'undefined', '..', 'a.b.c', '=', '""'));

/** Values that begin like real ones: prefixes and tokens of this very installation, spoilt. */
const spoilt = (whole: () => string): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.nat(2_000),
      nastyText(3).filter((text) => text.trim() !== ''),
      fc.boolean(),
    )
    .map(([at, text, cuts]) => {
      const good = whole();
      const place = at % good.length;
      return cuts ? good.slice(0, place) : good.slice(0, place) + text + good.slice(place + text.length);
    })
    .filter((text) => text.trim() !== whole());

test('no Authorization header of any scheme, blanks and bytes opens anything', async () => {
  await fuzz(fc.tuple(blank, scheme, blank, value, blank), (parts) =>
    expectRefused([['Authorization', parts.join('')]]),
  );
  await harness.expectOpen();
});

test('no spoilt token opens anything, whichever character is changed or cut off', async () => {
  await fuzz(
    spoilt(() => harness.token),
    (text) => expectRefused([['Authorization', ` Bearer ${text}`]]),
  );
  await harness.expectOpen();
});

test('no API key and no pair of client headers opens anything but the right one', async () => {
  const { client } = harness;
  const key = String(harness.door.asKey['x-api-key']);
  const lines = fc.oneof(
    fc.tuple(
      fc.constant('X-Api-Key'),
      fc.oneof(
        value,
        spoilt(() => key),
      ),
    ),
    fc.tuple(fc.constant('x-api-key'), value),
  );
  await fuzz(lines, (line) => expectRefused([line]));
  const pairs = fc.tuple(
    fc.oneof(value, fc.constant(client.client_id)),
    fc.oneof(
      value,
      spoilt(() => client.client_secret),
    ),
  );
  await fuzz(pairs, ([id, secret]) =>
    expectRefused([
      ['X-Client-Id', id],
      ['X-Client-Secret', secret],
    ]),
  );
  const { statuses } = await sendBytes(harness.door.port, request([['X-Api-Key', key]]));
  expect(statuses).toEqual([200]);
  await harness.expectOpen();
});

test('a good credential beside another one, or twice, in any spelling and sequence, opens nothing', async () => {
  const good: Line[] = [
    ['Authorization', ` Bearer ${harness.token}`],
    ['X-Api-Key', String(harness.door.asKey['x-api-key'])],
  ];
  const other = fc.oneof(
    fc.tuple(fc.constantFrom('Authorization', 'AUTHORIZATION', 'X-Api-Key', 'X-Client-Id', 'x-client-SECRET'), value),
    fc.constantFrom(...good),
  );
  const lines = fc
    .tuple(fc.constantFrom(...good), fc.array(other, { minLength: 1, maxLength: 4 }), fc.nat(4))
    .filter(([, others]) => others.some(([, text]) => text.trim() !== ''))
    .map(([first, others, place]) => others.toSpliced(place % (others.length + 1), 0, first));
  await fuzz(lines, expectRefused);
  await harness.expectOpen();
});

test('headers that only look like those of a credential are none', async () => {
  const name = fc.constantFrom(
    'Authorization_',
    'X_Api_Key',
    'X-Api-Key2',
    'Proxy-Authorization',
    'X-Authorization',
    'X-Forwarded-Authorization',
    'X-Original-Authorization',
    'Cookie',
    'Sec-WebSocket-Protocol',
    'X-Client_Id',
  );
  await fuzz(fc.array(name, { minLength: 1, maxLength: 5 }), (names) =>
    expectRefused(names.map((each) => [each, ` Bearer ${harness.token}`])),
  );
  await harness.expectOpen();
});

test('headers of up to 64 KiB are refused, and nothing of them is kept', async () => {
  const long = fc.tuple(
    fc.constantFrom('Authorization', 'X-Api-Key', 'X-Client-Id', 'X-Client-Secret', 'Cookie'),
    fc.integer({ min: 12_000, max: 65_536 }),
    fc.constantFrom('Bearer ', 'opk_', 'ops_', '', 'Basic '),
  );
  await expectBoundedMemory(() =>
    fuzz(long, ([name, length, start]) => expectRefused([[name, ` ${start}${'x'.repeat(length)}`]]), 60),
  );
  await harness.expectOpen();
});
