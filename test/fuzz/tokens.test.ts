/** JWTs that this server did not issue: forged, damaged, borrowed. The operations and introspection must refuse all of them. */
import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign as signBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, type Reply } from '../gateway/harness/public-door.ts';
import { bearer, nowSeconds, strangersKey } from '../rfc/rfc-harness.ts';
import { expectBoundedMemory, type FuzzHarness, fuzz, nastyText, openFuzzHarness } from './fuzz-harness.ts';

let harness: FuzzHarness;
let stranger: KeyObject;

beforeAll(async () => {
  harness = await openFuzzHarness();
  stranger = strangersKey();
});

afterAll(() => harness.close());

const encode = (text: string): string => Buffer.from(text).toString('base64url');

const claims = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  iss: origin,
  aud: origin,
  sub: harness.client.client_id,
  client_id: harness.client.client_id,
  scope: 'read:orders write:orders',
  iat: nowSeconds(),
  exp: nowSeconds() + 600,
  jti: 'fuzzed',
  ...change,
});

const header = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  alg: 'ES256',
  typ: 'at+jwt',
  kid: harness.key.kid,
  ...change,
});

/** `head` and `body` as JSON text, so that members can come twice. */
const signed = (head: string, body: string, key: KeyObject): string => {
  const input = `${encode(head)}.${encode(body)}`;
  return `${input}.${signBytes('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
};

/** One asker may ask 600 times a minute. */
let asker = { client_id: '', client_secret: '' };
let asked = 0;

const introspect = async (token: string): Promise<Reply> => {
  if (asked % 500 === 0) {
    const made = await harness.credentials.createClient({ name: 'asker', tenants: ['rst_1'], mayIntrospect: true });
    asker = { client_id: made.clientId, client_secret: made.secret };
  }
  asked += 1;
  return harness.post('introspect', { token, ...asker });
};

const expectNothing = async (token: string): Promise<void> => {
  const before = harness.passed();
  const reply = await harness.read(bearer(token));
  expect([400, 401, 431]).toContain(reply.status);
  expect(harness.passed()).toBe(before);
  const answer = await introspect(token);
  expect(token === '' ? answer.status : answer.json).toEqual(token === '' ? 400 : { active: false });
};

/** That the forger of this file is one: what it makes with the right parts is good. */
const expectForgerWorks = async (): Promise<void> => {
  const good = signed(JSON.stringify(header()), JSON.stringify(claims()), harness.key.privateKey);
  expect((await harness.read(bearer(good))).status).toBe(200);
  await harness.expectOpen();
};

/** Every last part of a token that can be made without the key. */
const endings = (head: string, body: string): fc.Arbitrary<string> => {
  const input = `${encode(head)}.${encode(body)}`;
  const published = createPublicKey(harness.key.privateKey);
  const secrets = [
    published.export({ type: 'spki', format: 'pem' }),
    published.export({ type: 'spki', format: 'der' }),
    JSON.stringify(published.export({ format: 'jwk' })),
    '',
    'secret',
  ];
  return fc.oneof(
    fc.constantFrom(`${input}.`, input, `${input}..`, `${input}.e30`, signed(head, body, stranger)),
    fc
      .constantFrom(...secrets)
      .map((secret) => `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`),
    fc.constant(`${input}.${harness.token.split('.')[2]}`),
    // Zero for r and s satisfies verifiers that do not check their range.
    fc.constant(`${input}.${Buffer.alloc(64).toString('base64url')}`),
    fc
      .uint8Array({ minLength: 64, maxLength: 64 })
      .map((bytes) => `${input}.${Buffer.from(bytes).toString('base64url')}`),
  );
};

const algorithm = fc.constantFrom(
  ...['none', 'None', 'NONE', 'nOnE', '', ' ', 'HS256', 'HS384', 'HS512', 'RS256', 'PS256', 'ES384', 'ES512', 'EdDSA'],
  ...['ES256', 'ES256K', 'es256', 'dir', 'A128KW', 'null', null, 0, true, ['ES256'], { alg: 'ES256' }],
);

test('no algorithm and no last part makes a token without the key', async () => {
  const inputs = algorithm.chain((alg) => endings(JSON.stringify(header({ alg })), JSON.stringify(claims())));
  await fuzz(inputs, expectNothing, 150);
  await expectForgerWorks();
});

test('no kid and no key that the token brings along is believed', async () => {
  const jwk = createPublicKey(stranger).export({ format: 'jwk' });
  const kid = fc.oneof(
    fc.constantFrom<unknown>(
      ...['../../../../dev/null', '/dev/null', 'file:///etc/passwd', 'https://evil.example/key', '', ' ', '\u0000'],
      ...["' or '1'='1", "x'; drop table gateway.signing_key; --", '%s', '{{7*7}}', '__proto__', 'constructor'],
      ...['toString', 'hasOwnProperty', null, 0, 1e308, true, [], {}, [['a']], { toString: 'x' }],
    ),
    nastyText(40),
    fc.integer({ min: 1, max: 1_500 }).map((length) => 'k'.repeat(length)),
    fc.constant([harness.key.kid]),
    fc.constant(harness.key.kid),
    fc.constantFrom(` ${harness.key.kid}`, `${harness.key.kid}\u0000`, harness.key.kid.toUpperCase()),
  );
  const brought = fc.record(
    {
      jwk: fc.constantFrom<unknown>(jwk, { kty: 'oct', k: 'AA' }, 'x', null),
      jku: fc.constantFrom(`${harness.door.url}/api/oauth/jwks`, 'https://evil.example/jwks', 'file:///dev/zero'),
      x5u: fc.constant('https://evil.example/cert'),
      x5c: fc.constantFrom<unknown>([], ['AAAA'], 'x'),
      crit: fc.constantFrom<unknown>(['b64'], ['exp'], [], 'b64', [1], ['alg']),
      b64: fc.constantFrom<unknown>(false, true, 'false'),
      zip: fc.constant('DEF'),
      enc: fc.constant('A256GCM'),
      cty: fc.constant('JWT'),
    },
    { requiredKeys: [] },
  );
  await fuzz(
    fc.tuple(kid, brought),
    ([id, more]) =>
      expectNothing(signed(JSON.stringify(header({ kid: id, ...more })), JSON.stringify(claims()), stranger)),
    150,
  );
  await expectForgerWorks();
});

test('even what our key signed is refused with a kid that is not its own, unknown critical members or another typ', async () => {
  const wrong = fc.constantFrom<Record<string, unknown>>(
    ...[{ kid: 'unknown' }, { kid: [harness.key.kid] }, { kid: null }, { kid: { toString: harness.key.kid } }],
    ...[
      { crit: ['b64'], b64: false },
      { crit: ['unknown'], unknown: 1 },
      { crit: [] },
      { crit: 'b64' },
      { crit: ['alg'] },
    ],
    ...[
      { typ: 'JWT' },
      { typ: null },
      { typ: ['at+jwt'] },
      { typ: 'at+jwt ' },
      { typ: '' },
      { typ: 1 },
      { alg: 'none' },
    ],
  );
  await fuzz(
    wrong,
    (change) => expectNothing(signed(JSON.stringify(header(change)), JSON.stringify(claims()), harness.key.privateKey)),
    60,
  );
  await expectForgerWorks();
});

const claimValue = fc.oneof(
  fc.constantFrom<unknown>(null, true, [], {}, '', ' ', '__proto__', -1, 0, 1.5, 1e308, -1e308, 1e13, [origin], {
    origin,
  }),
  nastyText(20),
  fc.jsonValue({ maxDepth: 2 }),
);

test('claims of the wrong type, another issuer or audience, or ended are refused, also under our signature', async () => {
  const wrong = fc
    .tuple(fc.constantFrom('iss', 'aud', 'sub', 'client_id', 'exp', 'scope', 'jti', 'iat', 'nbf'), claimValue)
    .filter(([name, given]) => {
      // Values that the type allows are not wrong: any text is a jti, and an unknown scope is just not granted.
      if (name === 'jti' || name === 'scope') return typeof given !== 'string';
      if (name === 'exp') return typeof given !== 'number' || given <= nowSeconds();
      if (name === 'iat') return typeof given !== 'number';
      if (name === 'nbf') return typeof given !== 'number' || given > nowSeconds() + 60;
      return given !== origin;
    });
  await fuzz(
    wrong,
    ([name, given]) =>
      expectNothing(
        signed(JSON.stringify(header()), JSON.stringify(claims({ [name]: given })), harness.key.privateKey),
      ),
    150,
  );
  await expectForgerWorks();
});

/** `"name":value` once more, before or after the real members. */
const doubled = (object: Record<string, unknown>, name: string, given: unknown, first: boolean): string => {
  const text = JSON.stringify(object).slice(1, -1);
  const member = `${JSON.stringify(name)}:${JSON.stringify(given)}`;
  return first ? `{${member},${text}}` : `{${text},${member}}`;
};

test('members that come twice gain a stranger nothing', async () => {
  const inputs = fc.tuple(
    fc.constantFrom<[string, unknown]>(
      ['alg', 'none'],
      ['alg', 'HS256'],
      ['kid', 'x'],
      ['typ', 'JWT'],
      ['crit', ['x']],
    ),
    fc.constantFrom<[string, unknown]>(
      ['exp', 1],
      ['exp', 1e12],
      ['aud', 'x'],
      ['iss', 'x'],
      ['sub', 'x'],
      ['scope', 'x'],
    ),
    fc.boolean(),
    fc.boolean(),
  );
  await fuzz(
    inputs.chain(([head, body, headFirst, bodyFirst]) =>
      endings(doubled(header(), ...head, headFirst), doubled(claims(), ...body, bodyFirst)),
    ),
    expectNothing,
  );
  await expectForgerWorks();
});

test('a claim that comes twice under our signature never counts as its better half alone', async () => {
  // Readers differ in which of two they take; ours takes the last, and that one alone decides.
  const wrongLast = signed(
    JSON.stringify(header()),
    doubled(claims(), 'aud', 'https://other.example', false),
    harness.key.privateKey,
  );
  await expectNothing(wrongLast);
  const endedLast = signed(JSON.stringify(header()), doubled(claims(), 'exp', 1, false), harness.key.privateKey);
  await expectNothing(endedLast);
  await expectForgerWorks();
});

test('no other spelling of a good token is good: padding, other alphabets, spare bits, blanks, nesting, other parts', async () => {
  const [head = '', body = '', signature = ''] = harness.token.split('.');
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(signature.at(-1) ?? '');
  const spare = [1, 2, 3].map((bit) => `${head}.${body}.${signature.slice(0, -1)}${alphabet[last ^ bit]}`);
  const inputs = fc.oneof(
    fc.constantFrom(...spare),
    fc.constantFrom(
      ...[`${harness.token}=`, `${harness.token}==`, `${head}=.${body}.${signature}`, `${head}.${body}=.${signature}`],
      ...[
        `${harness.token}.`,
        `.${harness.token}`,
        `${harness.token}.${signature}`,
        `${head}..${signature}`,
        `..${signature}`,
      ],
      ...[`${head}.${body}.${signature}.x.y`, `${head}.${body}`, head, '.', '..', '...', '....', ''],
      ...[
        harness.token.toUpperCase(),
        encodeURIComponent(`${harness.token} `),
        Buffer.from(harness.token).toString('base64'),
      ],
      ...[signed(JSON.stringify(header({ cty: 'JWT' })), JSON.stringify(harness.token), stranger)],
      ...[encode(JSON.stringify({ payload: body, protected: head, signature }))],
    ),
    fc.nat(harness.token.length - 1).map((length) => harness.token.slice(0, length)),
    fc
      .tuple(fc.nat(harness.token.length - 1), fc.constantFrom('.', '=', '%2e', '+', '/', '~', '-', 'A', '"', ',', ';'))
      .map(([place, sign]) => `${harness.token.slice(0, place)}${sign}${harness.token.slice(place)}`),
  );
  await fuzz(
    inputs.filter((text) => text.trim() !== harness.token),
    expectNothing,
    200,
  );
  await expectForgerWorks();
});

test('deep, long and countless content is refused, and nothing of it is kept', async () => {
  const inputs = fc.oneof(
    fc.integer({ min: 1, max: 1_400 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
    fc.integer({ min: 1, max: 700 }).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
    fc.integer({ min: 1, max: 9_000 }).map((length) => JSON.stringify({ alg: 'ES256', kid: 'k'.repeat(length) })),
    fc
      .integer({ min: 1, max: 900 })
      .map((count) => `{${Array.from({ length: count }, (_, i) => `"${i}":${i}`).join(',')}}`),
    fc.constantFrom('"text"', '1', 'null', '[]', '{}', '', '{', '\ufeff{}', '{"__proto__":{"alg":"none"}}'),
  );
  await expectBoundedMemory(() =>
    fuzz(fc.tuple(inputs, inputs), ([head, body]) => expectNothing(signed(head, body, stranger)), 120),
  );
  await expectForgerWorks();
});

test('client assertions of a stranger prove no client, whatever they say', async () => {
  const own = createPrivateKey(strangersKey().export({ type: 'pkcs8', format: 'pem' }));
  await harness.credentials.addClientKey(harness.client.client_id, createPublicKey(own).export({ format: 'jwk' }));
  let count = 0;
  const said = (change: Record<string, unknown> = {}): Record<string, unknown> => {
    count += 1;
    const { client_id: id } = harness.client;
    return { iss: id, sub: id, aud: origin, iat: nowSeconds(), exp: nowSeconds() + 60, jti: `a${count}`, ...change };
  };
  const send = (client_assertion: string) =>
    harness.post('token', {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
    });
  const inputs = algorithm.chain((alg) =>
    fc.oneof(
      endings(JSON.stringify({ alg, kid: 'x' }), JSON.stringify(said())),
      fc.constant(harness.token),
      claimValue.map((given) =>
        signed(JSON.stringify({ alg: 'ES256' }), JSON.stringify(said({ sub: given, iss: given })), own),
      ),
      claimValue.map((given) =>
        signed(JSON.stringify({ alg: 'ES256' }), JSON.stringify(said({ aud: [given, origin] })), own),
      ),
      claimValue
        .filter((given) => typeof given !== 'string' || given === '')
        .map((given) => signed(JSON.stringify({ alg: 'ES256' }), JSON.stringify(said({ jti: given })), own)),
    ),
  );
  await fuzz(inputs, async (assertion) => {
    const { status, json } = await send(assertion);
    expect([status, json.error, json.access_token]).toEqual([401, 'invalid_client', undefined]);
  });
  expect((await send(signed(JSON.stringify({ alg: 'ES256' }), JSON.stringify(said()), own))).status).toBe(200);
});
