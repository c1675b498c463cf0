import { connect } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createAssertionSigner } from '#src/contract/assertion.ts';
import { assertionHeader } from '#src/contract/headers.ts';
import { operation } from '#src/platform/http/operation.ts';
import {
  boolean,
  clearable,
  date,
  dateTime,
  decimal,
  flag,
  integer,
  list,
  looseText,
  money,
  oneOf,
  optional,
  text,
  uid,
  withDefault,
} from '#src/platform/http/values.ts';
import { type Answer, type Json, orderingAudience, startOrdering, type TestOrdering } from '../../support/ordering.ts';

/** Takes one of every value type and says what it understood. */
const params = z.object({
  name: optional(text({ max: 5 })),
  uid: optional(uid()),
  amount: optional(money({ max: 1000 })),
  rate: optional(decimal({ min: 0, max: 10, decimals: 4, above: true })),
  count: withDefault(integer({ min: 1, max: 999 }), 7),
  flag: optional(flag()),
  yes: optional(boolean()),
  day: optional(date()),
  at: optional(dateTime()),
  kinds: optional(list(oneOf(['a', 'b', 'c']), { max: 3 })),
  numbers: optional(list(integer({ min: 0, max: 9 }), { max: 3 })),
  notes: looseText(5),
  city: clearable(text({ max: 5 })),
  details: optional(
    list(
      z.object({
        product: z.object({ uid: uid() }),
        quantity: integer({ min: 1, max: 999 }),
        options: optional(
          list(z.object({ uid: uid(), quantity: withDefault(integer({ min: 1, max: 99 }), 1) }), { max: 2 }),
        ),
      }),
      { min: 1, max: 2 },
    ),
  ),
});

const probes = [
  ...(['GET', 'POST'] as const).map((method) =>
    operation({
      method,
      path: '/probe/values',
      summary: 'Says what it understood',
      params,
      answer: z.object({ understood: z.unknown() }),
      handle: async (input) => ({ body: { understood: input.params } }),
    }),
  ),
  operation({
    method: 'POST',
    path: '/probe/required',
    summary: 'Needs everything',
    params: z.object({
      uid: uid(),
      total: money(),
      client: z.object({ first_name: text(), phone: optional(text()) }),
      details: list(z.object({ quantity: integer({ min: 1, max: 9 }) }), { min: 1, max: 9 }),
    }),
    answer: z.object({}),
    handle: async () => ({ body: {} }),
  }),
  operation({
    method: 'GET',
    path: '/probe/throws',
    summary: 'Fails',
    params: z.object({}),
    answer: z.object({}),
    handle: async () => {
      throw new Error('hidden cause');
    },
  }),
  operation({
    method: 'GET',
    path: '/probe/broken-sql',
    summary: 'Fails in the database',
    params: z.object({}),
    answer: z.object({}),
    handle: async ({ db }) => {
      await sql`select hidden from nothing`.execute(db);
      return { body: {} };
    },
  }),
  operation({
    method: 'GET',
    path: '/probe/wrong-answer',
    summary: 'Breaks its own schema',
    params: z.object({}),
    answer: z.object({ count: z.int() }),
    handle: async () => ({ body: { count: 1.5 } }),
  }),
  operation({
    method: 'GET',
    path: '/probe/extra',
    summary: 'Gives more than it declares',
    params: z.object({}),
    answer: z.object({ shown: z.object({ name: z.string() }) }),
    handle: async () => {
      const shown = { name: 'a', secret: 'b' };
      return { body: { shown } };
    },
  }),
];

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering({}, probes);
});
afterAll(() => core.close());

const post = (body: unknown, path = '/probe/values'): Promise<Answer> => core.call('POST', path, { body });
const get = (query: string): Promise<Answer> => core.call('GET', `/probe/values${query}`);

const faultsOf = (answer: Answer): string[] =>
  answer.json.errors?.map((error: Json) => `${error.pointer} ${error.code}`).sort() ?? [];

test('A-005 one name in query and body is accepted when both mean the same, also "1" and 1', async () => {
  for (const [query, body] of [
    ['count=1', { count: 1 }],
    ['count=1', { count: '1' }],
    ['amount=12.50', { amount: 12.5 }],
    ['yes=1', { yes: true }],
    ['kinds=a,b', { kinds: ['a', 'b'] }],
    ['name=x', { name: ' x ' }],
    ['something=1', { something: 2 }],
  ] as const) {
    const answer = await core.call('POST', `/probe/values?${query}`, { body });
    expect([query, answer.status]).toEqual([query, 200]);
  }
});

test('A-005 different values of one name in query and body are CONFLICTING_VALUES, also of restuid', async () => {
  for (const [query, body, pointer] of [
    ['count=1', { count: 2 }, 'count'],
    ['kinds=a,b', { kinds: ['b', 'a'] }, 'kinds'],
    ['name=x', { name: null }, 'name'],
    [`restuid=${core.restaurant.restuid}`, { restuid: 'rst_x' }, 'restuid'],
  ] as const) {
    const answer = await core.call('POST', `/probe/values?${query}`, { body });
    expect([answer.status, answer.json.error]).toEqual([400, 'VALIDATION_ERROR']);
    expect(faultsOf(answer)).toEqual([`${pointer} CONFLICTING_VALUES`]);
  }
});

test('A-006 a query parameter given twice is DUPLICATE; unknown names are ignored', async () => {
  const twice = await core.call('GET', '/customerstats/customer?uid=a&uid=a');
  expect([twice.status, faultsOf(twice)]).toEqual([400, ['uid DUPLICATE']]);
  expect((await get('?nothing=1&__proto__=2&constructor=3')).status).toBe(200);
  const body = await core.call('POST', '/probe/values?x=1', {
    body: '{"y":{"z":[1]},"__proto__":{"count":5}}',
    headers: { 'content-type': 'application/json' },
  });
  expect([body.status, body.json.understood]).toEqual([200, { count: 7 }]);
});

test('A-007 a body of another media type or with an encoding is 415; an empty one is no body', async () => {
  const send = (body: string, headers: Record<string, string>) => core.call('POST', '/probe/values', { body, headers });
  for (const [body, headers] of [
    ['{}', { 'content-type': 'text/plain' }],
    ['a=1', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['{}', { 'content-type': 'application/jsonp' }],
    ['{}', { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ] as const) {
    const answer = await send(body, headers);
    expect([answer.status, answer.json.error]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  }
  expect((await send('', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(200);
  expect(
    (await send('{}', { 'content-type': 'APPLICATION/JSON; charset=utf-8', 'content-encoding': 'identity' })).status,
  ).toBe(200);
});

test('A-008 what is not a clean JSON object is a fault with the pointer of the whole body, never 500', async () => {
  const nested = (levels: number): string => `{"x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  const bodies: Record<string, string | Uint8Array> = {
    'broken JSON': '{"a":',
    'an array': '[]',
    'a number': '5',
    null: 'null',
    'invalid UTF-8': new Uint8Array([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]),
    'an escaped U+0000': '{"name":"a\\u0000b"}',
    'U+0000 in a name': '{"a\\u0000":1}',
    'U+0000 deep inside': '{"a":[{"b":"\\u0000"}]}',
    '65 levels': nested(65),
    'a million levels': nested(100_000),
  };
  for (const [name, body] of Object.entries(bodies)) {
    const answer = await core.call('POST', '/probe/values', { body, headers: { 'content-type': 'application/json' } });
    expect([name, answer.status, answer.json.error]).toEqual([name, 400, 'VALIDATION_ERROR']);
    expect([name, answer.json.errors]).toMatchObject([name, [{ pointer: '' }]]);
  }
  const deepEnough = await core.call('POST', '/probe/values', {
    body: nested(64),
    headers: { 'content-type': 'application/json' },
  });
  expect(deepEnough.status).toBe(200);
  const query = await get('?name=%00');
  expect([query.status, faultsOf(query)]).toEqual([400, ['name FORMAT']]);
});

test('A-008 an object whose members have the names of every object is a wrong value of each type, never 500', async () => {
  const names = ['toString', 'valueOf', 'toJSON', 'constructor', 'then', 'length', '__proto__'];
  const members = ['name', 'uid', 'amount', 'rate', 'count', 'flag', 'yes', 'day', 'at', 'kinds', 'numbers', 'notes'];
  for (const name of names) {
    const value: unknown = JSON.parse(`{"${name}":0}`);
    for (const member of members)
      expect([member, name, (await post({ [member]: value })).status]).toEqual([member, name, 400]);
    for (const query of ['count=1', 'amount=1', 'kinds=a', 'name=x']) {
      const member = query.split('=')[0] ?? '';
      const answer = await core.call('POST', `/probe/values?${query}`, { body: { [member]: value } });
      expect([query, name, answer.status]).toEqual([query, name, 400]);
    }
    expect([name, faultsOf(await post({ numbers: [1, value] }))]).toEqual([name, ['/numbers/1 TYPE']]);
  }
});

test('A-009 a body above the bound is 413, declared or chunked, and the connection stays in order', async () => {
  const big = JSON.stringify({ notes: 'x'.repeat(1024 * 1024) });
  const declared = await core.call('POST', '/probe/values', {
    body: big,
    headers: { 'content-type': 'application/json' },
  });
  expect([declared.status, declared.json.error]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  const sign = createAssertionSigner({
    key: core.assertionKey,
    audience: orderingAudience,
    now: () => core.clock.now().getTime(),
  });
  const target = '/api/probe/values';
  const status = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(new URL(core.url).port), '127.0.0.1', () => {
      const assertion = sign(core.restaurant.caller, { method: 'POST', target });
      socket.write(
        `POST ${target} HTTP/1.1\r\nhost: x\r\n${assertionHeader}: ${assertion}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
      );
      const chunk = 'x'.repeat(64 * 1024);
      for (let i = 0; i < 17; i += 1) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    });
    socket.once('data', (data) => {
      resolve(data.toString().slice(9, 12));
      socket.destroy();
    });
    socket.once('error', reject);
  });
  expect(status).toBe('413');
});

test('A-011 amounts are never rounded: more than two decimals are FORMAT in every spelling', async () => {
  for (const amount of [1.005, '1.005', 0.001, '12.5000000001', 1e-7, 0.1 + 0.2]) {
    expect(faultsOf(await post({ amount }))).toEqual(['amount FORMAT']);
  }
  for (const amount of ['abc', '', '1e2', '0x10', '1,5', true, [1], {}, '1 2', 'NaN', 'Infinity']) {
    if (amount === '') continue;
    expect([amount, faultsOf(await post({ amount }))]).toEqual([amount, ['amount TYPE']]);
  }
  expect(faultsOf(await post({ amount: -0.01 }))).toEqual(['amount RANGE']);
  expect(faultsOf(await post({ rate: 0 }))).toEqual(['rate RANGE']);
  const exact = { '12.50': 1250, '0.29': 29, '1.15': 115, '999.99': 99999, '1000.00': 100000, '4.350': 435 };
  for (const [written, hundredths] of Object.entries(exact)) {
    expect([written, (await post({ amount: written })).json.understood.amount]).toEqual([written, hundredths]);
    expect((await post({ amount: Number(written) })).json.understood.amount).toBe(hundredths);
  }
});

test('A-011 booleans, flags and numbers are accepted as JSON and as text, and mean the same', async () => {
  for (const yes of [true, 1, '1', 'true']) expect((await post({ yes })).json.understood.yes).toBe(true);
  for (const yes of [false, 0, '0', 'false']) expect((await post({ yes })).json.understood.yes).toBe(false);
  for (const yes of ['yes', 2, 'TRUE', []]) expect(faultsOf(await post({ yes }))).toEqual(['yes TYPE']);
  for (const value of [true, 2, 'true']) expect(faultsOf(await post({ flag: value }))).toEqual(['flag ENUM']);
  expect((await post({ flag: '1', count: '12' })).json.understood).toMatchObject({ flag: true, count: 12 });
  expect(faultsOf(await post({ count: 1.5 }))).toEqual(['count FORMAT']);
  expect(faultsOf(await post({ count: '1.5' }))).toEqual(['count FORMAT']);
  const uidOf = (await core.call('POST', '/customer/create', { body: { phone: '11' } })).json.customer.uid;
  const moved = await core.call('POST', '/loyaltylog/create', {
    body: { client_uid: uidOf, diff_op: 'add', diff_points: '12.50' },
  });
  expect(moved.text).toContain('"diff_points":12.5,');
});

test('dates are real days and date-times carry an offset', async () => {
  expect((await get('?day=2028-02-29')).json.understood.day).toBe('2028-02-29');
  for (const day of ['2026-02-29', '2026-13-01', '26-01-01', '2026-1-1', 'today']) {
    expect([day, faultsOf(await get(`?day=${day}`))]).toEqual([day, ['day FORMAT']]);
  }
  expect((await post({ at: '2026-03-01T19:30:00+01:00' })).json.understood.at).toBe('2026-03-01T18:30:00.000Z');
  expect((await post({ at: '2026-03-01t18:30:00z' })).json.understood.at).toBe('2026-03-01T18:30:00.000Z');
  for (const at of [
    '2026-03-01T19:30:00',
    '2026-03-01',
    '2026-02-30T10:00:00Z',
    '2026-03-01T25:00:00Z',
    '2026-03-01T10:00:00+99:00',
  ]) {
    expect([at, faultsOf(await post({ at }))]).toEqual([at, ['at FORMAT']]);
  }
  expect(faultsOf(await post({ at: 5 }))).toEqual(['at TYPE']);
});

test('arrays come as JSON or comma-separated, with the place of a wrong item in the pointer', async () => {
  expect((await get('?kinds=a,c&numbers=1,2')).json.understood).toMatchObject({ kinds: ['a', 'c'], numbers: [1, 2] });
  expect((await post({ kinds: ['b'], numbers: ['3'] })).json.understood).toMatchObject({ kinds: ['b'], numbers: [3] });
  expect(faultsOf(await get('?kinds=a,x'))).toEqual(['/kinds/1 ENUM']);
  expect(faultsOf(await get('?kinds=a,b,c,a'))).toEqual(['kinds LENGTH']);
  expect(faultsOf(await post({ kinds: { a: 1 } }))).toEqual(['kinds TYPE']);
  expect((await get('?kinds=')).json.understood.kinds).toBeUndefined();
});

test('defaults stand where nothing, null or an empty query value is given', async () => {
  for (const answer of [await get(''), await get('?count='), await post({ count: null }), await post({})]) {
    expect(answer.json.understood).toEqual({ count: 7 });
  }
});

test('text is trimmed and counted in characters; an empty one is null where it may be cleared', async () => {
  expect((await post({ name: '  ab ' })).json.understood.name).toBe('ab');
  expect((await post({ name: '🍕🍕🍕🍕🍕' })).status).toBe(200);
  expect(faultsOf(await post({ name: '123456' }))).toEqual(['name LENGTH']);
  expect(faultsOf(await post({ name: ['a'] }))).toEqual(['name TYPE']);
  expect(faultsOf(await post({ uid: 'a b' }))).toEqual(['uid FORMAT']);
  expect((await post({ city: '' })).json.understood.city).toBeNull();
  expect((await post({ city: null })).json.understood.city).toBeNull();
  expect(faultsOf(await post({ city: '123456' }))).toEqual(['city LENGTH']);
  expect((await get('?city=')).json.understood).not.toHaveProperty('city');
  expect((await post({ notes: '   ' })).json.understood.notes).toBeNull();
  expect(faultsOf(await post({ notes: '123456' }))).toEqual(['notes LENGTH']);
});

test('an optional text that is empty after trimming counts as not given, in JSON as in a query; one that is needed is missing', async () => {
  for (const empty of ['', '   ', '\t\n']) {
    expect((await post({ name: empty, uid: empty })).json.understood).toEqual({ count: 7 });
    const nested = { uid: 'u', total: 1, client: { first_name: 'Ada', phone: empty }, details: [{ quantity: 1 }] };
    expect((await post(nested, '/probe/required')).status).toBe(200);
    const missing = await post({ ...nested, uid: empty, client: { first_name: empty } }, '/probe/required');
    expect([missing.json.error, faultsOf(missing)]).toEqual([
      'MISSING_PARAMETER',
      ['/client/first_name REQUIRED', 'uid REQUIRED'],
    ]);
  }
  expect((await get('?name=&uid=')).json.understood).toEqual({ count: 7 });
  // What is no text has no empty form in JSON.
  expect(faultsOf(await post({ amount: '', day: '', yes: '' }))).toEqual(['amount TYPE', 'day FORMAT', 'yes TYPE']);
});

test('A-059 faults of nested members carry a JSON pointer, all in one answer', async () => {
  const answer = await post({
    count: 0,
    details: [
      { product: { uid: 'prd_1' }, quantity: 0 },
      { product: { uid: 'x y' }, quantity: 1, options: [{ uid: 'o', quantity: 100 }] },
    ],
  });
  expect([answer.status, answer.json.error]).toEqual([400, 'VALIDATION_ERROR']);
  expect(faultsOf(answer)).toEqual([
    '/details/0/quantity RANGE',
    '/details/1/options/0/quantity RANGE',
    '/details/1/product/uid FORMAT',
    'count RANGE',
  ]);
  expect(answer.json.errors[0].message).toBe('must be between 1 and 999');
  expect(answer.json.message).toBe('4 values are not valid');
});

test('A-059 one missing and one wrong member are MISSING_PARAMETER with both in errors', async () => {
  const answer = await post({ total: 'x', client: { phone: '5' }, details: [{}] }, '/probe/required');
  expect([answer.status, answer.json.error]).toEqual([400, 'MISSING_PARAMETER']);
  expect(faultsOf(answer)).toEqual([
    '/client/first_name REQUIRED',
    '/details/0/quantity REQUIRED',
    'total TYPE',
    'uid REQUIRED',
  ]);
  const empty = await post({}, '/probe/required');
  expect(faultsOf(empty)).toEqual(['client REQUIRED', 'details REQUIRED', 'total REQUIRED', 'uid REQUIRED']);
  const nulls = await post({ uid: null, total: null, client: null, details: null }, '/probe/required');
  expect([nulls.status, nulls.json.error]).toEqual([400, 'MISSING_PARAMETER']);
  expect(faultsOf(nulls)).toEqual(['client REQUIRED', 'details REQUIRED', 'total REQUIRED', 'uid REQUIRED']);
  const wrongTypes = await post({ uid: 'u', total: 1, client: 'Ada', details: [5] }, '/probe/required');
  expect(faultsOf(wrongTypes)).toEqual(['/details/0 TYPE', 'client TYPE']);
});

test('A-059 three wrong members of a customer come in one answer', async () => {
  const body = { email: 'no-at', country: 'ITA', phone: 'x'.repeat(33), city: 'Pisa' };
  const answer = await core.call('POST', '/customer/create', { body });
  expect([answer.status, answer.json.error]).toEqual([400, 'VALIDATION_ERROR']);
  expect(faultsOf(answer)).toEqual(['country LENGTH', 'email FORMAT', 'phone LENGTH']);
});

test('A-064 invalid parameters are reported before an unknown entity', async () => {
  const answer = await core.call('POST', '/customer/update', { body: { uid: 'cus_none', country: 'ITALY' } });
  expect([answer.status, faultsOf(answer)]).toEqual([400, ['country LENGTH']]);
  const unknown = await core.call('POST', '/customer/update', { body: { uid: 'cus_none', country: 'IT' } });
  expect(unknown.status).toBe(404);
});

test('A-062 an internal fault shows its code and the request id, nothing else', async () => {
  for (const path of ['/probe/throws', '/probe/wrong-answer', '/probe/broken-sql']) {
    const answer = await core.call('GET', path, { headers: { 'x-request-id': 'abc-1' } });
    expect([answer.status, answer.json]).toEqual([
      500,
      { success: false, error: 'INTERNAL_ERROR', message: expect.any(String), request_id: 'abc-1' },
    ]);
    expect(answer.text).not.toMatch(/hidden|select|\.ts|schema/);
    expect(answer.headers.get('x-request-id')).toBe('abc-1');
  }
});

test('an unknown path, another case and a trailing slash are INVALID_ACTION, never cached', async () => {
  for (const path of ['/nothing/here', '/Probe/values', '/probe/values/']) {
    const answer = await core.call('GET', path);
    expect([path, answer.status, answer.json.error]).toEqual([path, 404, 'INVALID_ACTION']);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  }
});

test('members that an answer does not declare are never sent', async () => {
  const answer = await core.call('GET', '/probe/extra');
  expect(answer.json).toEqual({ success: true, shown: { name: 'a' } });
});

test('HEAD answers with the status and type of GET and no body', async () => {
  const answer = await core.call('HEAD', '/probe/values');
  expect([answer.status, answer.text]).toEqual([200, '']);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
});
