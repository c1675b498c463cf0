/** Signed reports of GitHub's secret scanning (interface 29). */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { closeServer, listen, type Reply, sendRequest } from '../harness/public-door.ts';

type SigningKey = { id: string; privateKey: KeyObject; pem: string };

const makeKey = (): SigningKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return { id: createHash('sha256').update(pem).digest('hex'), privateKey, pem };
};

const [published, stranger] = [makeKey(), makeKey()];
let harness: Harness;
let keyServer: Server;
let keysUrl: string;
let answerKeys: () => { status: number; body: string };

beforeAll(async () => {
  answerKeys = () => ({
    status: 200,
    body: JSON.stringify({
      public_keys: [{ key_identifier: published.id, key: published.pem, is_current: true }],
    }),
  });
  keyServer = createServer((_req, res) => {
    const { status, body } = answerKeys();
    res.writeHead(status, { 'content-type': 'application/json', location: 'http://169.254.169.254/' }).end(body);
  });
  keysUrl = await listen(keyServer);
  harness = await openHarness({ settings: settings() });
});

afterAll(async () => {
  await harness.close();
  await closeServer(keyServer);
});

const settings = () => ({
  leak_reports_github: 'on',
  leak_reports_github_keys: `${keysUrl}/meta/public_keys/secret_scanning`,
  internal_issuers: [keysUrl],
});

const path = '/api/oauth/report-leak/github';

type Sending = { key?: SigningKey; id?: string; url?: string; sent?: string };

const send = (found: unknown, { key = published, id, url, sent }: Sending = {}): Promise<Reply> => {
  const body = JSON.stringify(found);
  return sendRequest(url ?? harness.url, 'POST', path, {
    headers: {
      'content-type': 'application/json',
      'github-public-key-identifier': id ?? key.id,
      'github-public-key-signature': sign('sha256', Buffer.from(body), key.privateKey).toString('base64'),
    },
    body: sent ?? body,
  });
};

const createKey = async () => {
  const { value } = await harness.credentials.createApiKey({ tenant: await harness.createTenant(), name: 'till' });
  return {
    value,
    status: async () => (await sendRequest(harness.url, 'GET', read, { headers: { 'x-api-key': value } })).status,
  };
};

test('A-387 a signed report ends what was issued here, and says of each value whether it was', async () => {
  const [first, second] = [await createKey(), await createKey()];
  const found = [
    { token: first.value, type: 'orderpass_api_key', url: 'https://github.com/a/b/blob/c/.env', source: 'commit' },
    { token: 'opk_nothing', type: 'orderpass_api_key', url: '', source: 'commit' },
    { token: second.value, type: 'orderpass_api_key', url: null, source: null },
  ];
  const reply = await send(found);
  expect(reply.status).toBe(200);
  const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
  expect(reply.json).toEqual([
    { token_hash: hash(first.value), token_type: 'orderpass_api_key', label: 'true_positive' },
    { token_hash: hash('opk_nothing'), token_type: 'orderpass_api_key', label: 'false_positive' },
    { token_hash: hash(second.value), token_type: 'orderpass_api_key', label: 'true_positive' },
  ]);
  expect([await first.status(), await second.status()]).toEqual([401, 401]);
  // Sent again, it changes nothing and is answered in the same way.
  expect((await send(found)).json).toEqual(reply.json);
});

test('A-387 an unsigned, altered or wrongly signed report is refused and ends nothing', async () => {
  const key = await createKey();
  const found = [{ token: key.value, type: 't', url: '', source: 'commit' }];
  const unsigned = await sendRequest(harness.url, 'POST', path, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(found),
  });
  const refused = [
    unsigned,
    await send(found, { key: stranger }),
    await send(found, { key: stranger, id: published.id }),
    await send([], { sent: JSON.stringify(found) }),
    await send(found, { sent: `${JSON.stringify(found)} ` }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
  expect((await send({ token: key.value })).status).toBe(400);
  expect((await send(Array.from({ length: 1_001 }, () => ({ token: 'x', type: 't' })))).status).toBe(400);
  expect(await key.status()).toBe(200);
});

test('A-608 a flood without a right signature from one address leaves the reports of GitHub from another one their share', async () => {
  const door = await harness.openDoor({ settings: { trusted_proxy_hops: 1 } });
  const flood = async (more: Record<string, string>): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.1', ...more };
    return (await sendRequest(door.url, 'POST', path, { headers, body: '[]' })).status;
  };
  const signature = sign('sha256', Buffer.from('[]'), stranger.privateKey).toString('base64');
  const wrong = { 'github-public-key-identifier': published.id, 'github-public-key-signature': signature };
  const statuses: number[] = [];
  for (let n = 0; n < 30; n += 1)
    statuses.push(...(await Promise.all(Array.from({ length: 21 }, () => flood(n % 2 === 0 ? {} : wrong)))));
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect(await flood({})).toBe(429);
  const key = await createKey();
  expect((await send([{ token: key.value, type: 't' }], { url: door.url })).status).toBe(200);
  await until(async () => (await key.status()) === 401);
});

test('A-753 a key of another kind in the list of GitHub leaves its other keys in use, and signs nothing itself', async () => {
  const good = answerKeys;
  const ofCurve = (namedCurve: string): SigningKey => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
    return { id: namedCurve, privateKey, pem: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
  };
  const other = ofCurve('P-384');
  const listed = [other, { id: 'unknown', pem: 'no key' }, published];
  answerKeys = () => ({
    status: 200,
    body: JSON.stringify({ public_keys: listed.map(({ id, pem }) => ({ key_identifier: id, key: pem })) }),
  });
  const door = await harness.openDoor();
  const key = await createKey();
  const found = [{ token: key.value, type: 't' }];
  expect((await send(found, { key: other, url: door.url })).status).toBe(401);
  expect(await key.status()).toBe(200);
  expect((await send(found, { url: door.url })).status).toBe(200);
  await until(async () => (await key.status()) === 401);
  answerKeys = good;
  await door.close();
});

test('A-387 the intake is off by default; without readable keys it answers 503, and takes a report later', async () => {
  const key = await createKey();
  const found = [{ token: key.value, type: 't', url: '', source: 'commit' }];
  const off = await harness.openDoor({ settings: { leak_reports_github: 'off' } });
  expect((await send(found, { url: off.url })).status).toBe(404);
  const good = answerKeys;
  for (const bad of [
    { status: 500, body: '' },
    { status: 302, body: '' },
    { status: 200, body: '{"public_keys":[{"key_identifier":"x","key":"none"}]}' },
    { status: 200, body: 'x'.repeat(100_000) },
  ]) {
    answerKeys = () => bad;
    const door = await harness.openDoor();
    const reply = await send(found, { url: door.url });
    expect([bad.status, reply.status, reply.json.error]).toEqual([bad.status, 503, 'temporarily_unavailable']);
    await door.close();
  }
  answerKeys = good;
  const guarded = await harness.openDoor({ settings: { internal_issuers: [] } });
  expect((await send(found, { url: guarded.url })).status).toBe(503);
  expect(await key.status()).toBe(200);
  const door = await harness.openDoor();
  expect((await send(found, { url: door.url })).status).toBe(200);
  await expect.poll(key.status).toBe(401);
});
