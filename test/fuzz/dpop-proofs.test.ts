/** Whatever stands in the DPoP header: a bound token opens nothing without its proof, at the proxy and at /auth/check. */
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin } from '../gateway/harness/public-door.ts';
import { readTarget } from '../rfc/rfc-harness.ts';
import { athOf, makeProof, newProofKey } from '../support/proofs.ts';
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

const key = newProofKey();
const stranger = newProofKey();
let harness: FuzzHarness;
let token: string;

const now = (): Date => new Date();

beforeAll(async () => {
  harness = await openFuzzHarness({ dpop: 'on', auth_check: 'on' });
  const dpop = await makeProof(key, { method: 'POST', url: `${origin}/api/oauth/token`, now: now() });
  const { json } = await harness.post('token', { grant_type: 'client_credentials', ...harness.client }, { dpop });
  expect(json.token_type).toBe('DPoP');
  token = json.access_token;
});

afterAll(() => harness.close());

type Change = Parameters<typeof makeProof>[2];

const proof = (change?: Change): Promise<string> =>
  makeProof(key, { method: 'GET', url: origin + readTarget, now: now(), token }, change);

type Line = readonly [name: string, value: string];

const send = async (lines: readonly Line[], target: string): Promise<number[]> => {
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const { statuses } = await sendBytes(
    harness.door.port,
    `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n`,
  );
  return statuses;
};

const original: readonly Line[] = [
  ['X-Original-Method', 'GET'],
  ['X-Original-URI', readTarget],
];

/** At both doors. */
const both = async (lines: readonly Line[], scheme = 'DPoP'): Promise<number[]> => {
  const whole: Line[] = [['Authorization', `${scheme} ${token}`], ...lines];
  return [...(await send(whole, readTarget)), ...(await send([...whole, ...original], '/auth/check'))];
};

const expectRefused = async (lines: readonly Line[], scheme?: string): Promise<void> => {
  const before = harness.passed();
  const statuses = await both(lines, scheme);
  expectNoFault(statuses);
  expect(statuses).toHaveLength(2);
  for (const status of statuses) expect([400, 401, 403, 431]).toContain(status);
  expect(harness.passed()).toBe(before);
};

/** The right proof passes, once at each door. */
const expectOpen = async (): Promise<void> => {
  const whole = async (): Promise<Line[]> => [
    ['Authorization', `DPoP ${token}`],
    ['DPoP', await proof()],
  ];
  expect(await send(await whole(), readTarget)).toEqual([200]);
  expect(await send([...(await whole()), ...original], '/auth/check')).toEqual([200]);
};

/** What parsers of claims and keys meet: wrong types, huge numbers, deep values, names of the prototype. */
const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, '', ' ', [], {}, [[[[]]]], ['GET'], { __proto__: null }),
  fc.string({ maxLength: 20 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.jsonValue({ maxDepth: 4 }),
  longText(2_000),
);

test('no bytes in the DPoP header are a proof, in one line or several', async () => {
  const text = fc.oneof(nastyText(200), longText(6_000), fc.constantFrom('null', '..', 'a.b.c', '{}', ',', 'DPoP'));
  const line = fc.tuple(fc.constantFrom('DPoP', 'dpop', 'DPOP', 'D-PoP', 'DPoP_'), text);
  await fuzz(fc.array(line, { maxLength: 3 }), (lines) => expectRefused(lines));
  await expectOpen();
});

test('no proof with a character changed, cut out or put in passes', async () => {
  const change = fc.tuple(fc.nat(2_000), fc.constantFrom('A', 'a', '_', '.', '=', ',', ' ', '\t'), fc.nat(2));
  await fuzz(change, async ([at, sign, how]) => {
    const whole = await proof();
    const place = 1 + (at % (whole.length - 1));
    if (how === 0 && whole[place] === sign) return;
    const spoilt = whole.slice(0, place) + (how === 2 ? '' : sign) + whole.slice(place + (how === 1 ? 0 : 1));
    await expectRefused([['DPoP', spoilt]]);
  });
  await expectOpen();
});

test('no signed proof passes whose required claim is another value of any type', async () => {
  const claim = fc.constantFrom('htm', 'htu', 'ath', 'iat', 'jti', 'nonce', 'nbf', 'exp');
  await fuzz(fc.tuple(claim, value), async ([name, put]) => {
    const isFine =
      (name === 'iat' && typeof put === 'number' && Math.abs(now().getTime() / 1000 - put) < 3_600) ||
      (name === 'jti' && typeof put === 'string' && put !== '' && put.length <= 255) ||
      (name === 'nbf' && typeof put === 'number' && put <= now().getTime() / 1000) ||
      (name === 'exp' && typeof put === 'number' && put > now().getTime() / 1000);
    fc.pre(!isFine);
    await expectRefused([['DPoP', await proof({ claims: { [name]: put } })]]);
  });
  await expectOpen();
});

test('no key or header of a proof passes but the key that the token is bound to', async () => {
  const member = fc.constantFrom('kty', 'crv', 'x', 'y', 'n', 'e', 'd', 'k', 'use', 'key_ops', 'alg', 'ext');
  const jwk = fc.oneof(
    value,
    fc.dictionary(member, value),
    fc.tuple(member, value).map(([name, put]) => ({ ...key.jwk, [name]: put })),
    fc.constant(stranger.jwk),
    fc.constant({ kty: 'oct', k: 'AAAA' }),
  );
  const header = fc.record(
    {
      typ: fc.oneof(fc.constantFrom('dpop+jwt', 'JWT', 'at+jwt'), value),
      alg: fc.oneof(fc.constantFrom('ES256', 'none', 'HS256', 'RS256', 'EdDSA', 'ES384'), value),
      jwk,
      crit: value,
      b64: value,
      kid: value,
      jku: fc.constant('https://evil.example/keys'),
      x5c: value,
      zip: fc.constant('DEF'),
    },
    { requiredKeys: ['typ', 'alg', 'jwk'] },
  );
  await fuzz(fc.tuple(header, fc.boolean()), async ([made, byHmac]) => {
    const [, payload = '', signature = ''] = (await proof()).split('.');
    const first = Buffer.from(JSON.stringify(made)).toString('base64url');
    const mac = createHmac('sha256', JSON.stringify(key.jwk)).update(`${first}.${payload}`).digest('base64url');
    await expectRefused([['DPoP', `${first}.${payload}.${byHmac ? mac : signature}`]]);
  });
  await expectRefused([['DPoP', await proof({ header: { jwk: stranger.jwk }, signedBy: stranger })]]);
  await expectOpen();
});

test('a right proof beside another one, or under another scheme, opens nothing', async () => {
  const other = fc.oneof(nastyText(60), fc.constant('same'), fc.constant('next'));
  await fuzz(fc.tuple(other, fc.boolean(), fc.boolean()), async ([text, first, joined]) => {
    fc.pre(text.trim() !== '');
    const right = await proof();
    const beside = text === 'same' ? right : text === 'next' ? await proof() : text;
    const pair = first ? [right, beside] : [beside, right];
    await expectRefused(joined ? [['DPoP', pair.join(', ')]] : pair.map((one): Line => ['DPoP', one]));
  });
  await fuzz(
    fc.constantFrom('Bearer', 'Basic', 'DPoPP', 'DPo', 'DPoP,', 'DPoP Bearer', ''),
    async (scheme) => expectRefused([['DPoP', await proof()]], scheme),
    20,
  );
  await expectOpen();
});

test('refused proofs are remembered nowhere, each with another id and as long as a header may be', async () => {
  const made = fc.tuple(fc.uuid(), fc.integer({ min: 0, max: 2_500 }));
  await expectBoundedMemory(() =>
    fuzz(
      made,
      async ([jti, length]) =>
        expectRefused([
          ['DPoP', await proof({ claims: { jti, ath: athOf(`${token}x`), filler: 'x'.repeat(length) } })],
        ]),
      60,
    ),
  );
  await expectOpen();
});
