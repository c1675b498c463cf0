/**
 * Refusals of real frameworks, recorded from running servers with their default handlers (those of ASP.NET, RFC 9457 and
 * JSON:API are taken from their documents). File paths are changed, HTML and stack traces are shortened.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  metadata,
  openDoor,
  type PublicDoor,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

type Recorded = { framework: string; case: string; status: number; headers: Record<string, string>; body: string };

const recorded = JSON.parse(
  readFileSync(new URL('./framework-answers.json', import.meta.url), 'utf8'),
) as readonly Recorded[];

let upstream: TestUpstream;
let door: PublicDoor;
/** Has one scope. */
let reader: Record<string, string>;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url);
  reader = await door.bearerWith(['read:orders']);
});

afterAll(async () => {
  await door.close();
  await upstream.close();
});

const get = (headers: Record<string, string>) => sendRequest(door.url, 'GET', '/api/orders/list', { headers });

const answerWith = (status: number, headers: Record<string, string | string[]>, body: string): void => {
  upstream.answer = (_req, res) => {
    res.writeHead(status, headers).end(body);
  };
};

const answerJson = (status: number, body: unknown): void =>
  answerWith(status, { 'content-type': 'application/json' }, JSON.stringify(body));

const fixed: Record<number, string> = {
  400: 'The request is not valid',
  401: 'The access token is not accepted here',
  403: 'This request is not allowed',
};

type Expected = { text?: string; code?: string; errors?: [pointer: string, message: string][]; scopes?: string[] };

const integer = 'Input should be a valid integer, unable to parse string as an integer';
const fastApi: Expected = {
  errors: [
    ['page', integer],
    ['name', 'Field required'],
    ['/items/0/quantity', integer],
  ],
};
const owner: Expected = { text: 'Only the owner may close this order' };
const missingScope = { text: 'Insufficient Scope', scopes: ['write:orders'] };

/** By framework and case; an empty entry is the fixed sentence of the status, and the code of the status. */
const expected: Record<string, Record<string, Expected>> = {
  'FastAPI 0.165.0': {
    validation: fastApi,
    'validation, answered with 400': fastApi,
    'broken JSON, answered with 400': { errors: [['', 'JSON decode error']] },
    'HTTPBearer without a credential': { text: 'Not authenticated' },
    SecurityScopes: { text: 'Not enough permissions', scopes: ['items'] },
    'HTTPException(403)': {},
    'HTTPException with an object': { text: 'Missing scopes' },
  },
  'Django REST framework 3.18.3': {
    'nested serializers': {
      errors: [
        ['name', 'This field is required.'],
        ['/items/0/quantity', 'A valid integer is required.'],
      ],
    },
    'validate() of a serializer': { errors: [['', 'The items must come from one kitchen.']] },
    'ValidationError(text)': { errors: [['', 'The kitchen is closed.']] },
    'broken JSON': { text: 'JSON parse error - Expecting value: line 1 column 6 (char 5)' },
    BasicAuthentication: { text: 'Authentication credentials were not provided.' },
    SessionAuthentication: { text: 'Authentication credentials were not provided.' },
    PermissionDenied: { text: 'You do not have permission to perform this action.' },
  },
  'djangorestframework-simplejwt 5.5.1': {
    'invalid token': { text: 'Given token not valid for any token type', code: 'token_not_valid' },
  },
  'django-oauth-toolkit 3.4.1': {
    TokenHasScope: { text: 'You do not have permission to perform this action.', scopes: ['read'] },
    'invalid token': { text: 'Authentication credentials were not provided.' },
  },
  'Django 5.2.19': {
    'debug report as text': {},
    'debug report as HTML': {},
    PermissionDenied: {},
  },
  'Flask 3.1.3': {
    'abort(403, text)': {},
  },
  'flask-smorest 0.47.0': {
    validation: {
      errors: [
        ['/items/0/quantity', 'Not a valid integer.'],
        ['/items/0/sku', 'Unknown field.'],
        ['name', 'Missing data for required field.'],
      ],
    },
    'abort(403)': owner,
    'abort(403) of Flask': {},
  },
  'Express 5.3.0': {
    'broken JSON': {},
    'sendStatus(403)': {},
    'next(error)': {},
    'json({ error: text })': owner,
  },
  'Express 4.22.3': {
    'broken JSON': {},
  },
  'express-validator 7.3.2': {
    'array()': {
      errors: [
        ['name', 'must be text'],
        ['/items/0/quantity', 'Invalid value'],
      ],
    },
  },
  'express-oauth2-jwt-bearer 1.10.0': {
    requiredScopes: missingScope,
    'requiredScopes, answered as JSON': missingScope,
    'no token': {},
  },
  'Fastify 5.12.8': {
    validation: { text: "body must have required property 'name'", code: 'FST_ERR_VALIDATION' },
    'broken JSON': {
      text: "Body is not valid JSON but content-type is set to 'application/json'",
      code: 'FST_ERR_CTP_INVALID_JSON_BODY',
    },
    'error with statusCode 403': owner,
    'error with statusCode 401': {},
  },
  'hapi 21.4.10': {
    'scope of a route': { text: 'Insufficient scope' },
    validation: { text: 'Invalid request payload input' },
  },
  'Koa 3.3.0': {
    'throw(401)': {},
    'throw(403, text)': owner,
  },
  'NestJS 12.5.1': {
    ValidationPipe: {
      errors: [
        ['', 'name must be a string'],
        ['', 'items.0.quantity must not be less than 1'],
        ['', 'items.0.quantity must be an integer number'],
      ],
    },
    guard: { text: 'Forbidden resource' },
    UnauthorizedException: {},
    ForbiddenException: owner,
  },
  'Spring Boot 3.5.6': {
    validation: {},
    'wrong type': {},
    'ResponseStatusException 403': {},
    'ResponseStatusException 401': {},
    'resource server without a token': {},
    'resource server, expired token': { text: 'Jwt expired at 2026-01-01T00:00:00Z' },
    'resource server, missing authority': {
      text: 'The request requires higher privileges than provided by the access token.',
    },
  },
  'Spring Boot 3.5.6 with problem details': {
    validation: { text: 'Invalid request content.' },
    'parameter of a wrong type': { text: "Failed to convert 'page' with value: 'x'" },
    'missing parameter': { text: "Required parameter 'page' is not present." },
    'ResponseStatusException 403': owner,
    'ResponseStatusException 401': {},
  },
  'Spring Boot 3.5.6 with messages and traces': {
    validation: {
      errors: [
        ['name', 'must not be blank'],
        ['quantity', 'must be greater than or equal to 1'],
      ],
    },
    'wrong type': {
      text: 'JSON parse error: Cannot deserialize value of type `int` from String "x": not a valid `int` value',
    },
    'parameter of a wrong type': {},
    'ResponseStatusException 403': owner,
  },
  'ASP.NET Core 8, documented': {
    validation: {
      errors: [
        ['Name', 'The Name field is required.'],
        ['/Items/0/Quantity', 'The field Quantity must be between 1 and 99.'],
      ],
    },
    'wrong type': {
      errors: [
        ['order', 'The order field is required.'],
        ['quantity', 'is not valid'],
      ],
    },
    'Problem()': {},
    'JwtBearer without a token': {},
    'JwtBearer, expired token': { text: "The token expired at '01/01/2026 00:00:00'" },
    policy: {},
    'developer page as text': {},
  },
  'RFC 9457': {
    'example of section 3': { text: 'Your current balance is 30, but that costs 50.' },
    'validation of section 3': {
      errors: [
        ['/age', 'must be a positive integer'],
        ['/profile/color', "must be 'green', 'red' or 'blue'"],
      ],
    },
  },
  'JSON:API 1.1': {
    'error object': { errors: [['/data/attributes/firstName', 'First name must contain at least two characters.']] },
  },
};

const wanted = (answer: Recorded): Expected => {
  const found = expected[answer.framework]?.[answer.case];
  if (found === undefined) throw new Error(`no expectation for ${answer.framework}: ${answer.case}`);
  return found;
};

const details = (errors: { pointer: string; message: string }[] | undefined) =>
  errors?.map(({ pointer, message }) => [pointer, message]);

const named = recorded.map((answer): [string, Recorded] => [`${answer.framework}, ${answer.case}`, answer]);
const oauthCases = named.filter(([, { status }]) => status !== 422);
const oauthErrors: Record<number, string> = { 400: 'invalid_request', 401: 'invalid_token', 403: 'insufficient_scope' };
const codes: Record<number, string> = {
  400: 'VALIDATION_ERROR',
  401: 'INVALID_AUTH',
  403: 'UNAUTHORIZED',
  422: 'VALIDATION_ERROR',
};

test.each(oauthCases)('A-180 a Bearer caller reads why the service refused: %s', async (_name, answer) => {
  answerWith(answer.status, answer.headers, answer.body);
  const { text, code, errors, scopes } = wanted(answer);
  const seen = await get(door.asBearer);
  const description =
    errors?.map(([pointer, message]) => (pointer === '' ? message : `${pointer}: ${message}`)).join('; ') ??
    text?.replaceAll('"', "'") ??
    fixed[answer.status];
  expect(seen.status).toBe(answer.status);
  expect([seen.json.error, seen.json.error_description]).toEqual([oauthErrors[answer.status], description]);
  expect(seen.json.code).toBe(code ?? (scopes === undefined ? codes[answer.status] : 'INSUFFICIENT_SCOPE'));
  expect(details(seen.json.errors)).toEqual(errors);
  expect(seen.json.missing_scopes).toEqual(scopes);
  const scope = scopes === undefined ? '' : `scope="${scopes.join(' ')}", `;
  expect(seen.headers['www-authenticate']).toBe(
    `Bearer realm="orderpass", error="${oauthErrors[answer.status]}", error_description="${description}", ${scope}resource_metadata="${metadata}"`,
  );
});

test.each(named)('A-181 other callers get the same details in their own dialect: %s', async (_name, answer) => {
  answerWith(answer.status, answer.headers, answer.body);
  const { text, errors, scopes } = wanted(answer);
  const key = await get(door.asClient);
  expect([key.status, key.json.success]).toEqual([answer.status, false]);
  expect(key.json.error).toBe(scopes === undefined ? codes[answer.status] : 'INSUFFICIENT_SCOPE');
  expect([details(key.json.errors), key.json.missing_scopes]).toEqual([errors, scopes]);
  if (text !== undefined) expect(key.json.message).toBe(text);
  const problem = await get({ ...door.asClient, accept: 'application/problem+json' });
  expect([problem.status, problem.headers['content-type']]).toEqual([answer.status, 'application/problem+json']);
  expect([details(problem.json.errors), problem.json.missing_scopes, problem.json.detail]).toEqual([
    errors,
    scopes,
    key.json.message,
  ]);
});

const internals =
  /\/srv\/|\/usr\/|traceback|java\.|springframework|System\.|Microsoft\.|node_modules|\.(?:js|py|java):|<[a-z]/i;

test.each(named)('A-182 nothing of the inside of the service leaves: %s', async (_name, answer) => {
  answerWith(answer.status, answer.headers, answer.body);
  for (const headers of [door.asBearer, door.asKey, { ...door.asKey, accept: 'application/problem+json' }])
    expect((await get(headers)).text).not.toMatch(internals);
});

const revealing: [string, string][] = [
  ['a stack of Node.js', 'x is not a function\n    at handle (/srv/shop/server.mjs:8:39)'],
  ['one line of a stack', 'refused at Layer.handle (router.js:12:3)'],
  ['a stack of Java', 'No\n\tat demo.Demo.f(Demo.java:19)'],
  ['a stack of Python', 'Traceback (most recent call last): boom'],
  ['a stack of Go', 'panic: nil pointer, goroutine 7 [running]'],
  ['a path', 'cannot open /var/lib/shop/orders.db'],
  ['a Windows path', 'cannot open C:\\inetpub\\shop\\web.config'],
  ['a source file', 'refused in handlers/order.py:88'],
  ['a class of Java', 'Cannot cast java.lang.String'],
  ['a class of .NET', 'could not be converted to System.Int32'],
  ['an exception', 'NullPointerException'],
  ['an error of JavaScript', 'TypeError: x is undefined'],
  ['an object of Python', "<class 'int'> has no attribute x"],
  ['a query', 'select o.id, o.total from orders o where o.id = 7'],
  ['an insert', 'INSERT INTO orders (id) VALUES (7)'],
  ['a constraint', 'duplicate key value violates unique constraint "orders_pkey"'],
  ['a relation', 'relation "orders" does not exist'],
  ['an address of a store', 'no route to postgres://shop:secret@db/shop'],
  ['a token', 'refused eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln'],
  ['HTML', '<h1>Forbidden</h1>'],
  ['a report of many lines', 'a\nb\nc\nd\ne'],
];

test.each(revealing)('A-182 %s is replaced by a fixed sentence', async (_name, text) => {
  for (const status of [400, 401, 403]) {
    for (const body of [{ message: text }, { detail: text }, { error: { message: text } }]) {
      answerJson(status, body);
      expect((await get(door.asBearer)).json.error_description).toBe(fixed[status]);
      expect((await get(door.asKey)).json.message).toBe(fixed[status]);
    }
    answerWith(status, { 'content-type': 'text/plain' }, text);
    expect((await get(door.asBearer)).json.error_description).toBe(fixed[status]);
  }
  answerJson(400, { errors: [{ field: 'total', message: text }] });
  expect((await get(door.asBearer)).json.error_description).toBe('total: is not valid');
});

const harmless = [
  'Open at 10:30, closed at 18:00 (Sunday at noon)',
  'The path /orders/7/items is closed, see https://shop.example/help',
  '/home/street: must not be empty, /app/name too',
  'Please select an item from the menu',
  'Update your order or set another time, e.g. 12:00',
  'Use at most 3 items (5 for members), then try again.',
];

test.each(harmless)('A-182 a sentence for a caller stays: %s', async (text) => {
  answerJson(403, { message: text });
  expect((await get(door.asBearer)).json.error_description).toBe(text);
});

test('A-182 a failure of the service says nothing of itself', async () => {
  answerJson(500, { message: 'No', errors: [{ pointer: 'p', code: 'A', message: 'inside' }] });
  const { json } = await get(door.asKey);
  expect([json.error, json.errors]).toEqual(['INTERNAL_ERROR', undefined]);
});

const challenge = 'Bearer error="insufficient_scope", scope="from:challenge"';

const precedence: [string, string | undefined, unknown, string[] | undefined][] = [
  [
    'the challenge before the body',
    challenge,
    { missing_scopes: ['a'], required_scopes: ['b'], scope: 'c' },
    ['from:challenge'],
  ],
  ['missing_scopes', 'Bearer realm="x"', { missing_scopes: ['a'], required_scopes: ['b'], scope: 'c' }, ['a']],
  ['required_scopes', undefined, { required_scopes: ['b', 'read:orders'], scope: 'c' }, ['b']],
  ['required_scopes as text', undefined, { required_scopes: 'b  read:orders write:orders' }, ['write:orders', 'b']],
  [
    'required_scopes that the caller has, then scope',
    undefined,
    { required_scopes: ['read:orders'], scope: 'c' },
    ['c'],
  ],
  ['required_scopes that the caller has', undefined, { required_scopes: ['read:orders'] }, undefined],
  ['scope', undefined, { error: 'insufficient_scope', scope: 'c d' }, ['c', 'd']],
  ['an inner object', undefined, { error: { message: 'No', required_scopes: ['b', 'read:orders'] } }, ['b']],
  ['a problem document', undefined, { title: 'No', status: 403, missing_scopes: ['a'] }, ['a']],
  ['a challenge without an error', 'Bearer scope="x y"', {}, ['x', 'y']],
  ['the challenge with the error, of two', `Bearer realm="a", ${challenge}`, {}, ['from:challenge']],
  [
    'a challenge with required scopes, of which the caller has one',
    'Bearer scope="read:orders write:orders x"',
    {},
    ['write:orders', 'x'],
  ],
  ['a challenge with scopes that the caller has', 'Bearer scope="read:orders"', {}, ['read:orders']],
  ['scope, of which the caller has one', undefined, { scope: 'read:orders c' }, ['c']],
  ['scope that the caller has', undefined, { scope: ['read:orders'] }, ['read:orders']],
  ['an inner scope, of which the caller has one', undefined, { detail: { scope: 'c read:orders' } }, ['c']],
  ['a challenge for another error', 'Bearer error="invalid_token", scope="x"', {}, undefined],
];

test.each(precedence)('A-183 missing scopes are read in one order: %s', async (_name, header, body, scopes) => {
  const headers = { 'content-type': 'application/json', ...(header && { 'www-authenticate': header }) };
  answerWith(403, headers, JSON.stringify(body));
  const seen = await get(reader);
  expect([seen.json.code, seen.json.missing_scopes]).toEqual([
    scopes === undefined ? 'UNAUTHORIZED' : 'INSUFFICIENT_SCOPE',
    scopes,
  ]);
  const inHeader = /, scope="([^"]*)"/.exec(String(seen.headers['www-authenticate']))?.[1];
  expect(inHeader).toBe(scopes?.join(' '));
});

test('A-184 only scopes of RFC 6749 are passed on, at most 32 of at most 64 characters', async () => {
  const wrong = [
    'two words',
    'quote"',
    'back\\slash',
    'é',
    'line\nbreak',
    '',
    'x'.repeat(65),
    7,
    null,
    { a: 1 },
    ['b'],
  ];
  const many = Array.from({ length: 5_000 }, (_, index) => `scope:${index}`);
  for (const member of ['missing_scopes', 'required_scopes']) {
    answerJson(403, { [member]: [...wrong, 'good', 'good'] });
    expect((await get(reader)).json.missing_scopes).toEqual(['good']);
    answerJson(403, { [member]: wrong });
    expect((await get(reader)).json.missing_scopes).toBeUndefined();
    answerJson(403, { [member]: ['read:orders', ...many.slice(0, 1_000)] });
    const first = member === 'missing_scopes' ? ['read:orders', ...many.slice(0, 31)] : many.slice(0, 32);
    expect((await get(reader)).json.missing_scopes).toEqual(first);
  }
  answerJson(403, { scope: many.join(' ') });
  expect((await get(reader)).json.missing_scopes).toBeUndefined();
});

test('A-653 members of an envelope of the service never replace those of a problem document', async () => {
  const own = { type: 'x', title: 1, status: 'failed', detail: {}, instance: null, code: 7, order: { uid: 'ord_1' } };
  answerJson(409, { success: false, error: 'CONFLICT', message: 'Taken', ...own });
  const { status, json } = await get({ ...door.asKey, accept: 'application/problem+json' });
  expect(status).toBe(409);
  expect(json).toMatchObject({ status: 409, code: 'CONFLICT', detail: 'Taken', order: { uid: 'ord_1' } });
  expect(json.type).toMatch(/\/docs\/errors#CONFLICT$/);
  expect(json.instance).toMatch(/^urn:orderpass:request:/);
  expect(typeof json.title).toBe('string');
});

test('A-185 a body of any size and depth is read within bounds', async () => {
  const deep = `${'{"a":'.repeat(10_000)}["x"]${'}'.repeat(10_000)}`;
  answerWith(400, { 'content-type': 'application/json' }, deep);
  expect((await get(door.asBearer)).json.error_description).toBe(fixed[400]);
  answerWith(400, { 'content-type': 'application/json' }, `{"errors":${deep}}`);
  expect((await get(door.asBearer)).json.error_description).toBe(fixed[400]);
  answerJson(400, {
    errors: Array.from({ length: 1_500 }, (_, index) => ({ field: `f${index}`, message: 'is wrong' })),
  });
  const listed = await get(door.asBearer);
  expect([listed.json.errors.length, listed.json.error_description]).toEqual([
    100,
    'f0: is wrong; f1: is wrong; f2: is wrong',
  ]);
  answerJson(422, { detail: Array.from({ length: 30_000 }, (_, index) => ({ loc: ['body', `f${index}`], msg: 'm' })) });
  const problem = await get({ ...door.asKey, accept: 'application/problem+json' });
  expect([problem.status, problem.json.errors]).toEqual([422, undefined]);
  answerJson(400, { message: 'long '.repeat(5_000) });
  expect((await get(door.asBearer)).json.error_description).toHaveLength(512);
  answerJson(400, { message: 'x'.repeat(70_000) });
  expect((await get(door.asBearer)).json.error_description).toBe(fixed[400]);
});
