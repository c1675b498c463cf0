/** Receivers that demand a client certificate or a fixed header (interface 32.2, 32.4). */
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import tls, { type PeerCertificate, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAuthority, type Pair } from '../../gateway/harness/make-certificate.ts';
import type { Json } from '../../support/ordering.ts';
import { until } from '../../support/until.ts';
import { startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

const day = 86_400_000;
const servers = makeAuthority('Servers');
const clients = makeAuthority('Clients');
const usual = tls.getCACertificates('default');

let api: WebhookApi;
let secure: { url: string; server: Server; names: string[] };

/** Demands a certificate of the authority for clients, and notes its common name. */
const startSecure = async (): Promise<typeof secure> => {
  const names: string[] = [];
  const options = { ...servers.issue(), ca: clients.cert, requestCert: true, rejectUnauthorized: true };
  const server = createServer(options, (request, response) => {
    names.push(String(((request.socket as TLSSocket).getPeerCertificate() as PeerCertificate).subject?.CN));
    request.resume();
    request.on('end', () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, server, names };
};

beforeAll(async () => {
  tls.setDefaultCACertificates([...usual, servers.cert]);
  api = await startWebhookApi();
  secure = await startSecure();
});

afterAll(async () => {
  await api?.close();
  secure?.server.closeAllConnections();
  secure?.server.close();
  tls.setDefaultCACertificates(usual);
});

const certificate = ({ cert, key }: Pair): Json => ({ type: 'certificate', certificate: cert, private_key: key });
const testOf = async (uid: string): Promise<Json> => (await api.post('/webhook/test', { uid })).json.attempt;

test('A-409 deliveries use the certificate of their endpoint, each on connections of its own', async () => {
  const [ada, bob] = [clients.issue({ name: 'ada', use: 'client' }), clients.issue({ name: 'bob', use: 'client' })];
  const first = await api.endpoint(secure.url, { kinds: ['customers'], auth: certificate(ada) });
  expect(first.auth).toEqual({ type: 'certificate', id: 'CN=ada', expires_iso: expect.any(String) });
  // In the time zone of the restaurant, so the date alone says less than the instant.
  expect(Math.abs(Date.parse(first.auth.expires_iso) - Date.now() - 30 * day)).toBeLessThan(day);
  const second = await api.endpoint(secure.url, { kinds: ['customers'], auth: certificate(bob) });
  const without = await api.endpoint(secure.url, { kinds: ['orders'] });
  const stop = api.startWorker();
  for (let seq = 1; seq <= 3; seq += 1) {
    await api.record({ entity: 'cus_1', seq });
    await until(() => secure.names.length === 2 * seq);
  }
  expect(secure.names.toSorted()).toEqual(['ada', 'ada', 'ada', 'bob', 'bob', 'bob']);
  expect((await testOf(without.uid)).failure).toMatch(/^(tls|reset)$/);

  // A new certificate is used from the next delivery on.
  const renewed = clients.issue({ name: 'ada renewed', use: 'client' });
  const changed = await api.post('/webhook/update', { uid: first.uid, auth: certificate(renewed) });
  expect(changed.json.endpoint.auth.id).toBe('CN=ada renewed');
  await api.record({ entity: 'cus_1', seq: 4 });
  await until(() => secure.names.length === 8);
  expect(secure.names.slice(6).toSorted()).toEqual(['ada renewed', 'bob']);
  await stop();
  for (const { uid } of [first, second, without]) await api.post('/webhook/remove', { uid });
});

test('A-409 a pair that does not fit or cannot be used is refused at once, with what is wrong', async () => {
  const good = clients.issue({ use: 'client' });
  const other = clients.issue({ use: 'client' });
  const locked = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' },
    publicKeyEncoding: { format: 'pem', type: 'spki' },
  }).privateKey;
  const old = clients.issue({ use: 'client', until: new Date(Date.now() - day / 2) });
  const early = clients.issue({ use: 'client', from: new Date(Date.now() + day) });
  const refusalOf = async (auth: Json): Promise<unknown> => {
    const { json } = await api.post('/webhook/create', { url: secure.url, auth });
    return json.errors?.map(({ pointer, code, message }: Json) => [pointer, code, message]);
  };
  const key = 'must be a private key in PEM, without a password';
  expect(await refusalOf(certificate({ ...good, key: other.key }))).toEqual([
    ['/auth/private_key', 'FORMAT', 'is not the key of the certificate'],
  ]);
  expect(await refusalOf(certificate({ cert: 'nonsense', key: 'nonsense' }))).toEqual([
    ['/auth/certificate', 'FORMAT', 'must be a certificate in PEM, with its chain after it where there is one'],
    ['/auth/private_key', 'FORMAT', key],
  ]);
  expect(await refusalOf(certificate({ ...good, key: locked }))).toEqual([['/auth/private_key', 'FORMAT', key]]);
  expect(await refusalOf(certificate(old))).toEqual([
    ['/auth/certificate', 'FORMAT', expect.stringContaining('expired at')],
  ]);
  expect(await refusalOf(certificate(early))).toEqual([
    ['/auth/certificate', 'FORMAT', expect.stringContaining('is valid from')],
  ]);
  expect(await refusalOf({ type: 'certificate', certificate: good.cert, value: 'x' })).toEqual([
    ['/auth/private_key', 'REQUIRED', 'is required'],
    ['/auth/value', 'CONFLICTING_VALUES', 'does not belong to the type certificate'],
  ]);
  const plain = await api.post('/webhook/create', { url: 'http://127.0.0.1:2/hook', auth: certificate(good) });
  expect(plain.json.errors).toMatchObject([{ pointer: 'auth', code: 'CONFLICTING_VALUES' }]);
});

test('A-412 a header is sent with each delivery, and hidden where the receiver echoes it', async () => {
  const receiver = await api.receiver((response, { headers }) => {
    response.writeHead(204 + (receiver.received.length > 1 ? 296 : 0)).end(`you sent ${headers['x-api-key']}`);
  });
  const value = 'k-3f1b77aa9d0c4e5f with spaces';
  const made = await api.endpoint(receiver.url, { auth: { type: 'header', name: 'X-Api-Key', value } });
  expect(made.auth).toEqual({ type: 'header', id: 'x-api-key', expires_iso: null });
  expect((await testOf(made.uid)).failure).toBeNull();
  const failed = await testOf(made.uid);
  expect([failed.status, failed.response]).toEqual([500, 'you sent [redacted]']);
  expect(receiver.received.map(({ headers }) => headers['x-api-key'])).toEqual([value, value]);
});

test('A-591 secrets are hidden also where the receiver escapes them, or where the stored part ends within them', async () => {
  const value = 'ab/cd+ef=gh"ij\\kl&mn <op> %41 qr';
  const secret = 'secret/without-"the"&usual=form';
  const escapes: Record<string, (text: string) => string> = {
    plain: (text) => text,
    json: JSON.stringify,
    php: (text) => JSON.stringify(text).replaceAll('/', '\\/'),
    codes: (text) => text.replace(/[^\w ]/g, (char) => `\\u00${char.charCodeAt(0).toString(16).toUpperCase()}`),
    url: encodeURIComponent,
    html: (text) =>
      text
        .replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[char] ?? '&quot;')
        .replaceAll('/', '&#x2F;')
        .replaceAll('=', '&#61;'),
  };
  let answer = '';
  const receiver = await api.receiver((response) => response.writeHead(500).end(answer));
  const { uid } = await api.endpoint(receiver.url, { secret, auth: { type: 'header', name: 'X-Api-Key', value } });
  const responseTo = (text: string): Promise<Json> => {
    answer = text;
    return testOf(uid);
  };
  const bare = (text: string): string => text.replaceAll(/^"|"$/g, '');
  for (const [name, escaped] of Object.entries(escapes)) {
    const [first, second] = [bare(escaped(value)), bare(escaped(secret))];
    const { response } = await responseTo(`got ${first}, ${second} and 50% \\/ more`);
    expect([name, response]).toEqual([name, 'got [redacted], [redacted] and 50% \\/ more']);
    for (const length of [20, 21, 22, 23, 24, 25])
      for (const cut of [first, second]) {
        const { response } = await responseTo(`${'x'.repeat(16_384 - length)}${cut}`);
        expect([name, length, response.replaceAll('x', '')]).toEqual([name, length, '[redacted]']);
      }
  }
});

test('A-592 a response stays within 16 KiB when what is hidden in it is shorter than what is shown instead', async () => {
  const receiver = await api.receiver((response) => response.writeHead(500).end('e '.repeat(8_192)));
  const { uid } = await api.endpoint(receiver.url, { auth: { type: 'header', name: 'X-Api-Key', value: 'e' } });
  const { response } = await testOf(uid);
  expect(response).toMatch(/^(\[redacted\] )+\S*$/);
  expect(response).toHaveLength(16_384);
});

test('A-412 names with a meaning of their own and values that do not pass are refused', async () => {
  const url = 'http://127.0.0.1:2/hook';
  const refusalOf = async (name: string, value = 'v', more: object = {}): Promise<unknown> => {
    const { json } = await api.post('/webhook/create', { url, auth: { type: 'header', name, value }, ...more });
    return json.errors?.map(({ pointer, code }: Json) => [pointer, code]);
  };
  const names = ['Connection', 'Keep-Alive', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade', 'Host', 'Expect', 'Via'];
  names.push('Content-Type', 'Content-Length', 'Content-Digest', 'Webhook-Id', 'webhook-anything', 'Signature');
  names.push('Signature-Input', 'Signature-Agent', 'Proxy-Authorization', 'X-Orderpass-Attempt', 'User-Agent');
  for (const name of names) expect([name, await refusalOf(name)]).toEqual([name, [['/auth/name', 'FORMAT']]]);
  for (const name of ['a b', 'ü', 'x\r\nHost', 'x'.repeat(65)])
    expect([name, await refusalOf(name)]).toEqual([name, [['/auth/name', expect.stringMatching(/FORMAT|LENGTH/)]]]);
  for (const value of ['a\r\nHost: x', 'grün', 'tab\there', 'x'.repeat(4097)])
    expect(await refusalOf('X-Api-Key', value)).toEqual([['/auth/value', expect.stringMatching(/FORMAT|LENGTH/)]]);
  const plain = [['auth', 'CONFLICTING_VALUES']];
  expect(await refusalOf('X-Orderpass-Signature')).toEqual([['/auth/name', 'FORMAT']]);
  expect(await refusalOf('X-Pos', 'v', { signature_header: 'X-Pos' })).toEqual(plain);
  expect(await refusalOf('X-Pos-Next', 'v', { signature_header: 'x-pos' })).toEqual(plain);
  for (const name of ['Authorization', 'X-Api-Key', 'Cookie'])
    expect([name, await refusalOf(name)]).toEqual([name, undefined]);
});
