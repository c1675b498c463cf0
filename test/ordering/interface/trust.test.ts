import { createHmac, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAssertionSigner } from '#src/contract/assertion.ts';
import { assertionHeader } from '#src/contract/headers.ts';
import {
  type Answer,
  clientOf,
  orderingAudience,
  request,
  startOrdering,
  type TestOrdering,
} from '../../support/ordering.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

const target = '/api/customer/create';
const post = { method: 'POST', target };

const signer = (change: { key?: Buffer; audience?: string; skewMs?: number } = {}) =>
  createAssertionSigner({
    key: change.key ?? core.assertionKey,
    audience: change.audience ?? orderingAudience,
    now: () => core.clock.now().getTime() + (change.skewMs ?? 0),
  });

const create = (assertion: string | undefined): Promise<Answer> =>
  request(
    core.url,
    'POST',
    target,
    { email: 'trust@example.com' },
    assertion === undefined ? {} : { [assertionHeader]: assertion },
  );

const changed = (text: string, index: number): string =>
  `${text.slice(0, index)}${text[index] === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`;

test('every way to lack a fresh assertion for exactly this request is 401, and nothing happens', async () => {
  const { caller } = core.restaurant;
  const good = signer()(caller, post);
  const [header = '', payload = '', mac = ''] = good.split('.');
  const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  const extended = Buffer.from(JSON.stringify({ ...claims, admin: true })).toString('base64url');
  const signed = (input: string) =>
    `${input}.${createHmac('sha256', core.assertionKey).update(input).digest('base64url')}`;
  const lacking: Record<string, string | undefined> = {
    none: undefined,
    empty: '',
    garbage: 'x.y.z',
    'without signature': `${header}.${payload}.`,
    'another algorithm in the header': `${none}.${payload}.${mac}`,
    'two values': `${good}, ${good}`,
    'one word more': `${good}.${mac}`,
    'another key': signer({ key: randomBytes(32) })(caller, post),
    expired: signer({ skewMs: -36_000 })(caller, post),
    'from the future': signer({ skewMs: 6_000 })(caller, post),
    'another audience': signer({ audience: 'other' })(caller, post),
    'another method': signer()(caller, { method: 'GET', target }),
    'another path': signer()(caller, { method: 'POST', target: '/api/customer/remove' }),
    'another query': signer()(caller, { method: 'POST', target: `${target}?restuid=x` }),
    'an unknown claim': signed(`${header}.${extended}`),
    'a changed byte of the header': changed(good, 3),
    'a changed byte of the claims': changed(good, header.length + 10),
    'a changed byte of the signature': changed(good, header.length + payload.length + 8),
  };
  for (const [name, assertion] of Object.entries(lacking)) {
    const answer = await create(assertion);
    expect([name, answer.status, answer.json.error]).toEqual([name, 401, 'INVALID_AUTH']);
  }
  const before = await core.call('GET', '/customerstats/customers');
  expect(before.json.total_count).toBe(0);
  expect(await core.events()).toEqual([]);
  // The same request with the right assertion is the later positive.
  expect((await create(good)).status).toBe(200);
  expect((await core.call('GET', '/customerstats/customers')).json.total_count).toBe(1);
});

test('the caller is whom the assertion names, whatever other headers and parameters claim', async () => {
  const other = await core.addRestaurant();
  const answer = await core.call('GET', '/customerstats/customers', {
    query: { restuid: other.restuid },
    headers: { authorization: 'Bearer x', 'x-api-key': 'opk_x', 'x-orderpass-caller': other.restuid },
  });
  expect([answer.status, answer.json.error]).toEqual([403, 'UNAUTHORIZED']);
  const key = await core.call('GET', '/customerstats/customers', {
    query: { restuid: other.restuid },
    caller: clientOf([core.restaurant.restuid], { kind: 'api_key' }),
  });
  expect([key.status, key.json.error]).toEqual([401, 'INVALID_KEY']);
});

test('A-027 A-028 a client with several restaurants must name one, and one that is not granted answers like an invented one', async () => {
  const other = await core.addRestaurant();
  const caller = clientOf([core.restaurant.restuid, other.restuid]);
  const unnamed = await core.call('GET', '/customerstats/customers', { caller });
  expect([unnamed.status, unnamed.json.error]).toEqual([400, 'MISSING_PARAMETER']);
  expect(unnamed.json.errors).toMatchObject([{ pointer: 'restuid', code: 'REQUIRED' }]);
  const named = await core.call('GET', '/customerstats/customers', { caller, query: { restuid: other.restuid } });
  expect(named.status).toBe(200);
  const inBody = await core.call('POST', '/customer/create', { caller, body: { restuid: other.restuid, phone: '1' } });
  expect(inBody.status).toBe(200);
  const third = await core.addRestaurant();
  const answers = await Promise.all(
    [third.restuid, 'rst_invented'].map((restuid) =>
      core.call('GET', '/loyaltylog/list', { caller, query: { restuid } }),
    ),
  );
  const texts = answers.map((answer) => `${answer.status} ${answer.text.replace(/"request_id":"[^"]+"/, '')}`);
  expect(texts[0]).toBe(texts[1]);
  expect(texts[0]).toContain('403 ');
});

test('A-026 a restaurant with API access off refuses its operations', async () => {
  const { restuid } = core.restaurant;
  const caller = clientOf([restuid], { tenants_disabled: [restuid] });
  const answer = await core.call('POST', '/customer/create', { caller, body: { phone: '26' } });
  expect([answer.status, answer.json.error]).toEqual([403, 'API_DISABLED']);
  const found = await core.call('GET', '/customerstats/customers', { query: { q: '26' } });
  expect(found.json.customers).toEqual([]);
});
