/** Endpoints with an OAuth client at their receiver's authorization server (interface 32.3). */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type JWTPayload, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Json } from '../../support/ordering.ts';
import { until } from '../../support/until.ts';
import { type Behaviour, type ReceivedRequest, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;
let receiver: WebhookReceiver;
let tokens: WebhookReceiver;

beforeAll(async () => {
  api = await startWebhookApi();
  receiver = await api.receiver();
  tokens = await api.receiver();
  api.startWorker();
});

afterAll(() => api?.close());

let issued = 0;
const tokenOf = (number: number): string => `token-${number}-${'x'.repeat(20)}`;

/** Issues a new token with each request. */
const issue =
  (members: object = { expires_in: 3600 }): Behaviour =>
  (response) => {
    issued += 1;
    const body = { access_token: tokenOf(issued), token_type: 'Bearer', ...members };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

const answer =
  (code: number, body: object | string, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    void response.writeHead(code, headers).end(typeof body === 'string' ? body : JSON.stringify(body));

const secret = `cs-${randomBytes(12).toString('hex')}:ü/ +`;
const oauth = (more: object = {}): Json => ({
  type: 'oauth',
  token_url: `http://127.0.0.1:${tokens.port}/token`,
  client_id: 'till 7',
  client_secret: secret,
  ...more,
});

let uid = '';
let entities = 0;

beforeEach(async () => {
  if (uid !== '') await api.post('/webhook/remove', { uid });
  receiver.behave(status(204));
  tokens.behave(issue());
  for (const { received } of [receiver, tokens]) received.length = 0;
});

const endpoint = async (auth: Json): Promise<void> => {
  ({ uid } = await api.endpoint(receiver.url, { kinds: ['customers'], auth }));
};

const record = async (count = 1): Promise<void> => {
  for (let made = 0; made < count; made += 1) {
    entities += 1;
    await api.record({ entity: `cus_${entities}`, seq: 1 });
  }
};

const bearers = (): unknown[] => receiver.received.map(({ headers }) => headers.authorization);
const formOf = ({ body }: ReceivedRequest): Record<string, string> => Object.fromEntries(new URLSearchParams(body));
const testNow = async (): Promise<Json> => (await api.post('/webhook/test', { uid })).json.attempt;

test('A-410 deliveries that need a token at the same time share one request for it', async () => {
  tokens.behave((...request) => void setTimeout(() => issue()(...request), 300));
  await endpoint(oauth({ scope: 'orders events' }));
  await record(25);
  await until(() => receiver.received.length === 25);
  expect(tokens.received).toHaveLength(1);
  expect(new Set(bearers())).toEqual(new Set([`Bearer ${tokenOf(issued)}`]));
  const [request] = tokens.received as [ReceivedRequest];
  expect(formOf(request)).toEqual({ grant_type: 'client_credentials', scope: 'orders events' });
  const [id, value] = Buffer.from(String(request.headers.authorization).slice('Basic '.length), 'base64')
    .toString()
    .split(':')
    .map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
  expect([id, value]).toEqual(['till 7', secret]);
});

test('A-410 a token is renewed before its end, and deliveries go on with the old one meanwhile', async () => {
  tokens.behave(
    (...request) => void setTimeout(() => issue({ expires_in: 2 })(...request), tokens.received.length > 1 ? 300 : 0),
  );
  await endpoint(oauth());
  await until(async () => {
    await record();
    return tokens.received.length === 2;
  });
  await until(async () => {
    await record();
    return bearers().at(-1) !== bearers()[0];
  });
  // The next test counts requests, so none of this one may arrive later.
  await until(async () => {
    const { counts } = (await api.get('/webhook/deliveries', { endpoint_uid: uid })).json;
    return counts.pending === 0 && counts.waiting === 0;
  });
  // No attempt failed for want of a token.
  const { deliveries } = (await api.get('/webhook/deliveries', { endpoint_uid: uid, pagesize: 100 })).json;
  expect(deliveries.filter((one: Json) => one.attempts_count > 1)).toEqual([]);
});

test('A-410 after one 401 the token is renewed once and the delivery sent again in the same attempt', async () => {
  await endpoint(oauth());
  await record();
  await until(() => receiver.received.length === 1);
  const revoked = tokenOf(issued);
  receiver.behave((response, { headers }) => {
    response.writeHead(headers.authorization === `Bearer ${revoked}` ? 401 : 204).end();
  });
  await record();
  await until(() => receiver.received.length === 3);
  expect(bearers()).toEqual([revoked, revoked, tokenOf(issued)].map((token) => `Bearer ${token}`));
  expect(tokens.received).toHaveLength(2);
  await until(async () => {
    const { counts } = (await api.get('/webhook/deliveries', { endpoint_uid: uid })).json;
    return counts.succeeded === 2;
  });
  const [last] = (await api.get('/webhook/deliveries', { endpoint_uid: uid })).json.deliveries;
  expect(last.attempts_count).toBe(1);
});

test('A-410 a receiver that refuses every token gets the delivery at most twice, and one new token is requested', async () => {
  await endpoint(oauth());
  expect((await testNow()).failure).toBeNull();
  receiver.behave((response, { headers }) => void response.writeHead(401).end(`no: ${headers.authorization}`));
  receiver.received.length = 0;
  const attempt = await testNow();
  expect([attempt.status, attempt.failure, receiver.received.length, tokens.received.length]).toEqual([
    401,
    'status',
    2,
    2,
  ]);
  expect(attempt.response).not.toContain('token-');
});

test.each(['ed25519', 'ec', 'rsa'] as const)(
  'A-410 private_key_jwt: a client with a key of the kind %s signs a fresh assertion for each request',
  async (kind) => {
    const pair =
      kind === 'ed25519'
        ? generateKeyPairSync('ed25519')
        : kind === 'ec'
          ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
          : generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = String(pair.privateKey.export({ format: 'pem', type: 'pkcs8' }));
    tokens.behave(issue({ expires_in: 0.001 }));
    await endpoint(oauth({ client_secret: undefined, private_key: key, key_id: 'k1', audience: 'https://as.example' }));
    await testNow();
    await testNow();
    const seen: JWTPayload[] = [];
    for (const request of tokens.received) {
      const form = formOf(request);
      expect(form).toMatchObject({
        grant_type: 'client_credentials',
        client_id: 'till 7',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      });
      const options = {
        issuer: 'till 7',
        subject: 'till 7',
        audience: 'https://as.example',
        requiredClaims: ['exp', 'jti'],
      };
      const { payload, protectedHeader } = await jwtVerify(form.client_assertion ?? '', pair.publicKey, options);
      expect(protectedHeader).toEqual({ alg: { ed25519: 'EdDSA', ec: 'ES256', rsa: 'PS256' }[kind], kid: 'k1' });
      expect(Number(payload.exp) - Number(payload.iat)).toBe(60);
      seen.push(payload);
    }
    expect(new Set(seen.map(({ jti }) => jti)).size).toBe(2);
  },
);

test('A-411 a token endpoint that refuses, redirects or answers nonsense fails the delivery with its reason, and nothing is sent', async () => {
  const reasons: unknown[] = [];
  for (const behaviour of [
    answer(401, { error: 'invalid_client', error_description: `the secret ${secret} is wrong` }),
    answer(400, `<p>${secret}</p>`),
    answer(302, '', { location: receiver.url }),
    answer(200, { token_type: 'Bearer' }),
    answer(200, { access_token: 'a', token_type: 'DPoP' }),
    answer(200, { access_token: 'a', token_type: { toString: 0 } }),
    answer(200, `{"access_token":"${'a'.repeat(20_000)}","token_type":"Bearer"}`),
    (response: Parameters<Behaviour>[0]) => void response.destroy(),
  ]) {
    tokens.behave(behaviour);
    await endpoint(oauth());
    const attempt = await testNow();
    reasons.push([attempt.status, attempt.failure, attempt.response]);
    await api.post('/webhook/remove', { uid });
  }
  uid = '';
  const unusable = 'no access token: the answer of the token endpoint has no access_token of the type Bearer';
  expect(reasons).toEqual([
    [null, 'status', 'no access token: the token endpoint answered 401 invalid_client'],
    [null, 'status', 'no access token: the token endpoint answered 400'],
    [null, 'redirect', 'no access token: the token endpoint answered 302'],
    ...new Array(4).fill([null, 'status', unusable]),
    [null, 'reset', 'no access token: the token endpoint: reset'],
  ]);
  expect(receiver.received).toEqual([]);
});

test('A-411 a token endpoint that hangs fails the delivery after its bound, and the log shows why', async () => {
  tokens.behave(() => undefined);
  await endpoint(oauth());
  const startedMs = performance.now();
  await record();
  const shown = async (): Promise<Json[]> => {
    const { deliveries } = (await api.get('/webhook/deliveries', { endpoint_uid: uid })).json;
    return Promise.all(
      deliveries.map(async (one: Json) => (await api.get('/webhook/delivery', { uid: one.uid })).json.delivery),
    );
  };
  await until(async () => (await shown()).filter((one) => one.attempts.length === 1).length === 1);
  expect(performance.now() - startedMs).toBeGreaterThan(4_900);
  for (const { state, attempts } of await shown())
    expect([state, attempts[0].failure, attempts[0].response]).toEqual([
      'pending',
      'timeout',
      'no access token: the token endpoint did not answer in time',
    ]);
  expect([tokens.received.length, receiver.received.length]).toEqual([1, 0]);
});

test('A-411 a token endpoint inside the private network is refused when it is set, and when its name leads there later', async () => {
  let addresses = ['93.184.216.34'];
  const rules = { allowPrivate: false, allowedOrigins: [new URL(receiver.url).origin] };
  const guarded = await startWebhookApi({ rules, resolve: async () => addresses });
  try {
    const auth = oauth({ token_url: `https://as.example:${tokens.port}/token` });
    const made = await guarded.endpoint(receiver.url, { auth });
    addresses = ['127.0.0.1'];
    const refused = await guarded.post('/webhook/update', { uid: made.uid, auth });
    expect(refused.json.errors).toMatchObject([{ pointer: '/auth/token_url', code: 'TARGET_REFUSED' }]);
    const connections = tokens.connections();
    const { attempt } = (await guarded.post('/webhook/test', { uid: made.uid })).json;
    expect([attempt.failure, attempt.response]).toEqual([
      'target_refused',
      'no access token: the token endpoint: as.example leads to a private address',
    ]);
    expect([tokens.connections(), receiver.received.length]).toEqual([connections, 0]);
  } finally {
    await guarded.close();
  }
});
