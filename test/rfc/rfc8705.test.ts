/** RFC 8705 over real TLS: each requirement on the two servers that applies here, a test each, named by its section. */
import { spawnSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect } from 'node:tls';
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { buildConnector, Agent as UndiciAgent, fetch as undiciFetch } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type Authority, makeAuthority, type Pair } from '../gateway/harness/make-certificate.ts';
import { callOf, jsonType } from '../gateway/mcp/mcp-door.ts';
import { type ClientOptions, echoPath, shake, startTls, type TlsStand } from '../gateway/tls/tls-harness.ts';
import { runJson } from '../support/program.ts';
import { isWithinASecond } from '../support/until.ts';

const read = '/api/orders/list?start_date=2026-01-01';
const mtlsOrigin = 'https://mtls.example';
const own = makeAuthority('Unknown authority');
/** Of the file: roots, and authorities whose root is not in it. */
const root = makeAuthority('Unnamed root');
const inFile = {
  plain: root.intermediate({ name: 'plain', hasPolicies: true }),
  constrainedRoot: makeAuthority('Constrained root', { isConstrained: true }),
  constrained: root.intermediate({ name: 'constrained', isConstrained: true }),
  rootOfServers: makeAuthority('Root of servers', { use: 'server' }),
  ofServers: root.intermediate({ name: 'of servers', use: 'server' }),
};

let stand: TlsStand;
let restuid: string;
/** Known by its thumbprint. */
let till: { id: string; pair: Pair };
/** Known by its subject. */
let bank: { id: string; pair: Pair };

const command = (...words: string[]): Promise<Record<string, unknown>> => runJson(words, stand.env);

const fileOf = (name: string, { cert }: Pair): string => {
  const file = join(stand.files.folder, name);
  writeFileSync(file, cert);
  return file;
};

const thumbprintOf = ({ cert }: Pair): string =>
  createHash('sha256').update(new X509Certificate(cert).raw).digest('base64url');

const newClient = async (name: string): Promise<{ id: string; secret: string }> => {
  const made = await command('client', 'create', '--name', name, '--restaurant', restuid);
  return { id: String(made.client_id), secret: String(made.client_secret) };
};

beforeAll(async () => {
  stand = await startTls(({ caFile }) => {
    appendFileSync(
      caFile,
      Object.values(inFile)
        .map(({ cert }) => cert)
        .join(''),
    );
    return {
      ORDERPASS_CLIENT_CERTIFICATES: 'on',
      ORDERPASS_TLS_CLIENT_CA_FILE: caFile,
      ORDERPASS_MTLS_ORIGIN: mtlsOrigin,
      ORDERPASS_AUTH_CHECK: 'on',
      ORDERPASS_MCP: 'on',
      ORDERPASS_SIGNALS: 'on',
    };
  });
  restuid = String((await command('restaurant', 'create', '--name', 'Bound')).restuid);
  const { id } = await newClient('till');
  till = { id, pair: own.issue({ name: 'till-1', use: 'client' }) };
  await command('client', 'add-certificate', '--client-id', id, '--file', fileOf('till.crt', till.pair));
  const named = ['--name', 'bank', '--restaurant', restuid, '--tls-subject', 'cn=bank-1', '--introspect'];
  const made = await command('client', 'create', ...named);
  expect(made).not.toHaveProperty('client_secret');
  bank = { id: String(made.client_id), pair: stand.authority.issue({ name: 'bank-1', use: 'client' }) };
});

afterAll(() => stand?.close());

type Answer = { status: number; json: Record<string, unknown> };

const send = async (method: string, target: string, options: ClientOptions): Promise<Answer> => {
  const { status, text } = await stand.send(method, target, options);
  return { status, json: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
};

const post = (target: string, fields: Record<string, string>, pair?: Pair): Promise<Answer> =>
  send('POST', target, {
    ...pair,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });

const ask = (client_id: string, pair?: Pair, more: Record<string, string> = {}): Promise<Answer> =>
  post('/api/oauth/token', { grant_type: 'client_credentials', client_id, ...more }, pair);

const tokenOf = async (client: { id: string; pair: Pair }): Promise<string> => {
  const { status, json } = await ask(client.id, client.pair);
  expect([status, json.token_type]).toEqual([200, 'Bearer']);
  return String(json.access_token);
};

const use = (token: string, pair?: Pair, target = read, more: ClientOptions = {}): Promise<Answer> =>
  send('GET', target, { ...pair, ...more, headers: { authorization: `Bearer ${token}`, ...more.headers } });

const refused = { status: 401, json: expect.objectContaining({ error: 'invalid_client' }) };

test('A-364 RFC 8705 2.1: a chain to an authority of the operator and the expected subject authenticate', async () => {
  expect((await ask(bank.id, bank.pair)).status).toBe(200);
  const { authority } = stand;
  const wrong: Pair[] = [
    authority.issue({ name: 'bank-2', use: 'client' }),
    authority.issue({ name: 'BANK-1', use: 'client' }),
    authority.issue({ name: 'bank-1,O=x', use: 'client' }),
    authority.issue({ name: 'bank-1', use: 'server' }),
    own.issue({ name: 'bank-1', use: 'client' }),
    authority.issue({ name: 'bank-1', use: 'client', until: new Date(Date.now() - 1_000) }),
  ];
  for (const pair of wrong) expect(await ask(bank.id, pair)).toEqual(refused);
  expect((await ask(bank.id, bank.pair)).status).toBe(200);
});

test('A-590 a certificate of an authority with the name of a known one and another key ends no connection', async () => {
  const pair = makeAuthority().issue({ name: 'till-2', use: 'client' });
  const { id } = await newClient('namesake');
  await command('client', 'add-certificate', '--client-id', id, '--file', fileOf('namesake.crt', pair));
  const token = await tokenOf({ id, pair });
  const { url, port } = stand;
  for (let n = 0; n < 10; n += 1) {
    const socket = connect({ host: new URL(url).hostname, port, ca: stand.authority.cert, ...pair });
    socket.on('error', () => undefined);
    const closed = once(socket, 'close').then(() => [Buffer.from('closed')]);
    // The server has read all of the handshake when its ticket comes, and only then gets the request.
    await Promise.race([once(socket, 'session'), closed]);
    await nextTurn();
    socket.write(`GET ${read} HTTP/1.1\r\nhost: localhost:${port}\r\nauthorization: Bearer ${token}\r\n\r\n`);
    const [head] = (await Promise.race([once(socket, 'data'), closed])) as [Buffer];
    expect(head.toString('latin1')).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  }
});

test('A-606 RFC 8705 2.1: what restricts an authority of the file restricts its certificates in the handshake', async () => {
  const given = ['--name', 'restricted', '--restaurant', restuid];
  const clientOf = async (name: string): Promise<string> =>
    String((await command('client', 'create', ...given, '--tls-san', `dns:${name}`)).client_id);
  const [within, beyond] = [await clientOf('till.elsewhere.example'), await clientOf('till.pos.example')];
  const till = (from: Authority, name: string): Pair => from.issue({ name: 'x', names: [name], use: 'client' });
  const { plain, constrainedRoot, ...restricted } = inFile;
  expect((await ask(beyond, till(plain, 'till.pos.example'))).status).toBe(200);
  expect((await ask(within, till(constrainedRoot, 'till.elsewhere.example'))).status).toBe(200);
  for (const from of [constrainedRoot, constrainedRoot.intermediate(), ...Object.values(restricted)])
    expect(await ask(beyond, till(from, 'till.pos.example'))).toEqual(refused);
  const unknown = stand.authority.issue({ name: 'bank-1', use: 'client', isUnknown: true });
  expect(await ask(bank.id, unknown)).toEqual(refused);
  expect((await ask(bank.id, bank.pair)).status).toBe(200);
});

test('A-364 RFC 8705 2.1.2: an alternative name authenticates when it is exactly the registered one', async () => {
  const given = ['--name', 'san', '--restaurant', restuid, '--tls-san', 'dns:pos.example'];
  const id = String((await command('client', 'create', ...given)).client_id);
  const issue = (...names: string[]): Pair => stand.authority.issue({ name: 'x', names, use: 'client' });
  expect((await ask(id, issue('other.example', 'pos.example'))).status).toBe(200);
  for (const names of [['*.example'], ['pos.example.evil.example'], ['other.example'], ['https://pos.example']])
    expect(await ask(id, issue(...names))).toEqual(refused);
});

/** By the registered name: names that authenticate, and others that nearly do. */
const alternatives: Record<string, { right: string[][]; wrong: string[][] }> = {
  'uri:spiffe://pos.example/till/1': {
    right: [['spiffe://pos.example/till/1'], ['pos.example', 'spiffe://pos.example/till/1']],
    wrong: [
      ['spiffe://pos.example/till/1/'],
      ['spiffe://pos.example/till/12'],
      ['spiffe://POS.example/till/1'],
      ['email:spiffe://pos.example/till/1'],
      ['spiffe://pos.example/till/1, URI:spiffe://other.example'],
    ],
  },
  'uri:urn:till:1': {
    right: [['uri:urn:till:1']],
    wrong: [['uri:URN:till:1'], ['dns:urn:till:1'], ['uri:urn:till:1?']],
  },
  'ip:192.0.2.7': {
    right: [['192.0.2.7'], ['pos.example', '198.51.100.1', '192.0.2.7']],
    wrong: [['192.0.2.70'], ['dns:192.0.2.7'], ['uri:192.0.2.7'], ['::ffff:c000:207']],
  },
  'ip:2001:DB8:0:0::7': {
    right: [['2001:db8::7']],
    wrong: [['2001:db8::70'], ['2001:db8:0:0:7::'], ['dns:2001:db8::7'], ['192.0.2.7']],
  },
  'email:till@pos.example': {
    right: [['email:till@pos.example'], ['pos.example', 'email:till@pos.example']],
    wrong: [
      ['email:Till@pos.example'],
      ['email:till@pos.example.evil.example'],
      ['dns:till@pos.example'],
      ['uri:mailto:till@pos.example'],
      ['email:"till@pos.example"@evil.example'],
    ],
  },
};

test.each(Object.entries(alternatives))(
  'A-490 RFC 8705 2.1.2: of certificates with an alternative name only those with %s authenticate',
  async (name, { right, wrong }) => {
    const given = ['--name', 'san', '--restaurant', restuid, '--tls-san', name];
    const id = String((await command('client', 'create', ...given)).client_id);
    const issue = (names: string[]): Pair => stand.authority.issue({ name: 'x', names, use: 'client' });
    for (const names of right) expect([names, (await ask(id, issue(names))).status]).toEqual([names, 200]);
    for (const names of wrong) expect([names, await ask(id, issue(names))]).toEqual([names, refused]);
    // An authority that the operator does not name may write any name.
    expect(await ask(id, own.issue({ name: 'x', names: right[0] ?? [], use: 'client' }))).toEqual(refused);
    expect((await ask(id, issue(right[0] ?? []))).status).toBe(200);
  },
);

test('A-365 RFC 8705 2.2: a registered certificate authenticates; several overlap, and each ends by itself', async () => {
  const { id } = await newClient('rotating');
  const [one, two] = [own.issue({ use: 'client' }), own.issue({ use: 'client' })];
  const hex = Buffer.from(thumbprintOf(two), 'base64url').toString('hex');
  await command('client', 'add-certificate', '--client-id', id, '--file', fileOf('one.crt', one));
  expect(await ask(id, two)).toEqual(refused);
  await command('client', 'add-certificate', '--client-id', id, '--thumbprint', hex);
  await expect.poll(async () => (await ask(id, two)).status).toBe(200);
  const [first, second] = [await tokenOf({ id, pair: one }), await tokenOf({ id, pair: two })];
  expect((await use(first, one)).status).toBe(200);
  await command('client', 'remove-certificate', '--client-id', id, '--thumbprint', thumbprintOf(one));
  await expect.poll(async () => (await use(first, one)).status).toBe(401);
  expect(await ask(id, one)).toEqual(refused);
  expect((await use(second, two)).status).toBe(200);
  // Registered again, it has new tokens, and those that its removal ended stay ended.
  await command('client', 'add-certificate', '--client-id', id, '--file', fileOf('one.crt', one));
  await expect.poll(async () => (await ask(id, one)).status).toBe(200);
  expect((await use(first, one)).status).toBe(401);
  const usesNew = async (): Promise<number> => (await use(await tokenOf({ id, pair: one }), one)).status;
  await expect.poll(usesNew, { timeout: 10_000 }).toBe(200);
  expect((await use(first, one)).status).toBe(401);
  const until = new Date(Date.now() - 1_000);
  const expired = own.issue({ use: 'client', until });
  await command('client', 'add-certificate', '--client-id', id, '--thumbprint', thumbprintOf(expired));
  expect(await ask(id, expired)).toEqual(refused);
});

test('A-366 RFC 8705 2: the client id is required, and the certificate must be one of that client', async () => {
  expect(await ask(till.id, bank.pair)).toEqual(refused);
  expect(await ask(bank.id, till.pair)).toEqual(refused);
  expect(await ask(till.id)).toEqual(refused);
  expect(await ask('', till.pair)).toEqual(refused);
  expect(await ask('opc_unknown', till.pair)).toEqual(refused);
});

test('A-366 a certificate repairs no other proof, and two methods are refused (RFC 6749 section 2.3)', async () => {
  expect(await ask(till.id, till.pair, { client_secret: 'wrong' })).toEqual(refused);
  const both = await ask(till.id, till.pair, { client_secret: 'x', client_assertion: 'a.b.c' });
  expect([both.status, both.json.error]).toEqual([400, 'invalid_request']);
  const other = await newClient('by secret');
  const plain = await ask(other.id, till.pair, { client_secret: other.secret });
  expect(decodeJwt(String(plain.json.access_token))).not.toHaveProperty('cnf');
});

test('A-367 RFC 8705 3: a token is bound to the certificate, and every request must come with it', async () => {
  const token = await tokenOf(till);
  expect(decodeJwt(token).cnf).toEqual({ 'x5t#S256': thumbprintOf(till.pair) });
  const check = { headers: { 'x-forwarded-method': 'GET', 'x-forwarded-uri': read } };
  const targets: [string, ClientOptions?][] = [[read], ['/api/whoami'], ['/auth/check', check]];
  for (const [target, more] of targets) {
    expect((await use(token, till.pair, target, more)).status).toBe(200);
    for (const pair of [undefined, bank.pair, own.issue({ name: 'till-1', use: 'client' })])
      expect((await use(token, pair, target, more)).status).toBe(401);
  }
  const none = await stand.send('GET', read, { headers: { authorization: `Bearer ${token}` } });
  expect(none.headers['www-authenticate']).toContain('error="invalid_token"');
});

test('A-367 a tool call of /mcp has the certificate of the request that brings it', async () => {
  const token = await tokenOf(till);
  const call = (pair?: Pair): Promise<Answer> =>
    send('POST', '/mcp', {
      ...pair,
      headers: { ...jsonType, authorization: `Bearer ${token}` },
      body: JSON.stringify(callOf('orders_list', {})),
    });
  const { status, json } = await call(till.pair);
  expect([status, json.result]).toEqual([200, expect.not.objectContaining({ isError: true })]);
  expect((await call()).status).toBe(401);
  expect((await call(bank.pair)).status).toBe(401);
});

/** Status of the answer to a handshake, 101 when the connection is open. */
const statusOfSocket = (token: string, pair?: Pair): Promise<number> =>
  new Promise((resolve, reject) => {
    const options = { ca: stand.authority.cert, servername: 'localhost', ...pair };
    const headers = { authorization: `Bearer ${token}` };
    const socket = new WebSocket(stand.url.replace('https', 'wss') + echoPath, { ...options, headers });
    socket.once('open', () => {
      socket.terminate();
      resolve(101);
    });
    socket.once('unexpected-response', (request, response) => {
      request.destroy();
      resolve(response.statusCode ?? 0);
    });
    socket.once('error', reject);
  });

test('A-490 a WebSocket is opened with a bound token by the certificate of its connection only', async () => {
  const token = await tokenOf(till);
  expect(await statusOfSocket(token, till.pair)).toBe(101);
  for (const pair of [undefined, bank.pair, own.issue({ name: 'till-1', use: 'client' })])
    expect(await statusOfSocket(token, pair)).toBe(401);
});

test('A-490 streams of signals are managed and polled with a bound token by its certificate only', async () => {
  const { json } = await ask(till.id, till.pair, { scope: 'ssf.manage ssf.read' });
  const token = String(json.access_token);
  const call = (path: string, body: object, pair?: Pair): Promise<Answer> =>
    send('POST', `/api/oauth/signals/${path}`, {
      ...pair,
      headers: { ...jsonType, authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
  for (const pair of [undefined, bank.pair]) expect((await call('streams', {}, pair)).status).toBe(401);
  const made = await call('streams', {}, till.pair);
  expect(made.status).toBe(201);
  const poll = (pair?: Pair): Promise<Answer> =>
    call(`poll?stream_id=${String(made.json.stream_id)}`, { returnImmediately: true }, pair);
  expect(await poll(till.pair)).toMatchObject({ status: 200, json: { sets: {} } });
  for (const pair of [undefined, bank.pair]) expect((await poll(pair)).status).toBe(401);
});

test('A-367 a resumed session and a kept connection have the certificate of their handshake, or none', async () => {
  const token = await tokenOf(till);
  const sessionWith = async (pair?: Pair): Promise<Buffer> => {
    const socket = await shake(stand.port, { ca: stand.authority.cert, ...pair });
    const got = new Promise<Buffer>((resolve) => socket.once('session', resolve));
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    const session = await got;
    socket.destroy();
    return session;
  };
  expect((await use(token, till.pair, read, { session: await sessionWith(till.pair) })).status).toBe(200);
  expect((await use(token, undefined, read, { session: await sessionWith() })).status).toBe(401);
  expect((await use(token, undefined, read, { session: await sessionWith(bank.pair) })).status).toBe(401);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const status of [200, 200]) expect((await use(token, till.pair, read, { agent })).status).toBe(status);
  agent.destroy();
});

test('A-368 a client may take bound tokens only; then others are refused within a second', async () => {
  const { id, secret } = await newClient('strict');
  const bySecret = { client_secret: secret };
  const unbound = String((await ask(id, undefined, bySecret)).json.access_token);
  expect((await use(unbound)).status).toBe(200);
  await command('client', 'certificate-binding', '--client-id', id, '--binding', 'required');
  await isWithinASecond(async () => (await use(unbound)).status, 401);
  expect((await ask(id, undefined, bySecret)).json.error).toBe('invalid_request');
  const { json } = await ask(id, till.pair, bySecret);
  expect(decodeJwt(String(json.access_token)).cnf).toEqual({ 'x5t#S256': thumbprintOf(till.pair) });
  expect((await use(String(json.access_token), till.pair)).status).toBe(200);
  expect((await use(String(json.access_token), bank.pair)).status).toBe(401);
});

test('A-369 RFC 8705 3.2: introspection shows the certificate; revocation and introspection take one for a secret', async () => {
  const token = await tokenOf(till);
  const shown = await post('/api/oauth/introspect', { client_id: bank.id, token }, bank.pair);
  expect(shown.json).toMatchObject({ active: true, cnf: { 'x5t#S256': thumbprintOf(till.pair) } });
  expect((await post('/api/oauth/revoke', { client_id: till.id, token }, till.pair)).status).toBe(200);
  await expect.poll(async () => (await use(token, till.pair)).status).toBe(401);
});

test('A-370 RFC 8705 3.3 and 5: the metadata names the methods, the binding and the host for certificates', async () => {
  const { json } = await send('GET', '/.well-known/oauth-authorization-server', {});
  expect(json.token_endpoint_auth_methods_supported).toEqual(
    expect.arrayContaining(['tls_client_auth', 'self_signed_tls_client_auth']),
  );
  expect(json).toMatchObject({
    tls_client_certificate_bound_access_tokens: true,
    mtls_endpoint_aliases: {
      token_endpoint: `${mtlsOrigin}/api/oauth/token`,
      revocation_endpoint: `${mtlsOrigin}/api/oauth/revoke`,
      introspection_endpoint: `${mtlsOrigin}/api/oauth/introspect`,
    },
  });
  const resource = await send('GET', '/.well-known/oauth-protected-resource', {});
  expect(resource.json.tls_client_certificate_bound_access_tokens).toBe(true);
});

/** Fetches with the certificate. The host of the metadata is the listener of the test; `asked`: the addresses. */
const fetchOf = (pair: Pair) => {
  const asked: string[] = [];
  const connect = buildConnector({ ca: stand.authority.cert, ...pair });
  const dispatcher = new UndiciAgent({
    connect: (options, done) =>
      connect({ ...options, hostname: '127.0.0.1', port: String(stand.port), servername: 'localhost' }, done),
  });
  const fetchWith = async (url: string, options: object): Promise<Response> => {
    asked.push(url);
    return (await undiciFetch(url, { ...options, dispatcher })) as unknown as Response;
  };
  return { asked, dispatcher, fetchWith };
};

test('A-373 oauth4webapi follows the aliases to a bound token by a certificate, and calls with it', async () => {
  const { asked, dispatcher, fetchWith } = fetchOf(till.pair);
  const more = { [oauth.customFetch]: fetchWith };
  const issuer = new URL(stand.url);
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...more });
  const server = await oauth.processDiscoveryResponse(issuer, found);
  const client = { client_id: till.id, use_mtls_endpoint_aliases: true };
  const reply = await oauth.clientCredentialsGrantRequest(server, client, oauth.TlsClientAuth(), {}, more);
  const { access_token } = await oauth.processClientCredentialsResponse(server, client, reply);
  const url = new URL(stand.url + read);
  const called = await oauth.protectedResourceRequest(access_token, 'GET', url, undefined, null, more);
  expect(called.status).toBe(200);
  expect((await oauth.revocationRequest(server, client, oauth.TlsClientAuth(), access_token, more)).status).toBe(200);
  expect(asked.slice(1)).toEqual([`${mtlsOrigin}/api/oauth/token`, url.href, `${mtlsOrigin}/api/oauth/revoke`]);
  await dispatcher.close();
});

test('A-436 openid-client follows the aliases to a bound token by a certificate, introspects it, and calls with it', async () => {
  const configurationOf = async ({ id, pair }: typeof till) => {
    const { asked, dispatcher, fetchWith } = fetchOf(pair);
    const options = { algorithm: 'oauth2', [openid.customFetch]: fetchWith } as const;
    const metadata = { use_mtls_endpoint_aliases: true };
    const made = await openid.discovery(new URL(stand.url), id, metadata, openid.TlsClientAuth(), options);
    return { made, asked, dispatcher };
  };
  const { made, asked, dispatcher } = await configurationOf(till);
  const { access_token } = await openid.clientCredentialsGrant(made);
  expect(decodeJwt(access_token).cnf).toEqual({ 'x5t#S256': thumbprintOf(till.pair) });
  const called = await openid.fetchProtectedResource(made, access_token, new URL(stand.url + read), 'GET');
  expect(called.status).toBe(200);
  expect(asked).toContain(`${mtlsOrigin}/api/oauth/token`);
  const service = await configurationOf(bank);
  expect(await openid.tokenIntrospection(service.made, access_token)).toMatchObject({ active: true });
  expect(service.asked).toContain(`${mtlsOrigin}/api/oauth/introspect`);
  await expect(
    openid.fetchProtectedResource(service.made, access_token, new URL(stand.url + read), 'GET'),
  ).rejects.toThrow();
  await Promise.all([dispatcher.close(), service.dispatcher.close()]);
});

/** Prints the statuses of a token request, a call with the certificate, and one without it. */
const pythonProgram = (library: string): string => `
import sys, ${library} as http
url, client, ca, cert, key = sys.argv[1:]
def make(pair):
    if "${library}" == "httpx":
        return http.Client(verify=ca, trust_env=False, **({"cert": pair} if pair else {}))
    made = http.Session()
    made.verify, made.cert, made.trust_env = ca, pair, False
    return made
answer = make((cert, key)).post(url + "/api/oauth/token", data={"grant_type": "client_credentials", "client_id": client})
headers = {"authorization": "Bearer " + answer.json()["access_token"]}
statuses = [make(pair).get(url + "${read}", headers=headers).status_code for pair in ((cert, key), None)]
print(answer.status_code, *statuses)
`;

for (const library of ['requests', 'httpx']) {
  // The first interpreter that has it: Debian's, or that of the path.
  const has = (command: string): boolean => spawnSync(command, ['-c', `import ${library}`]).status === 0;
  const python = ['/usr/bin/python3', 'python3'].find(has);
  if (python === undefined) process.stderr.write(`rfc8705.test.ts: no python3 with ${library}, it was not run\n`);
  test.skipIf(python === undefined)(
    `A-436 ${library} of Python gets a bound token by a certificate, and calls with it`,
    () => {
      const keyFile = join(stand.files.folder, 'till.key');
      writeFileSync(keyFile, till.pair.key);
      const url = stand.url.replace('127.0.0.1', 'localhost');
      const files = [stand.files.caFile, fileOf('till.crt', till.pair), keyFile];
      const ran = spawnSync(python ?? '', ['-c', pythonProgram(library), url, till.id, ...files], { encoding: 'utf8' });
      expect([ran.stdout.trim(), ran.stderr]).toEqual(['200 200 401', '']);
    },
  );
}

test('A-373 commands and the audit name certificates by their thumbprints', async () => {
  const shown = await command('client', 'show', '--client-id', till.id);
  expect(shown.certificates).toEqual([
    expect.objectContaining({ id: thumbprintOf(till.pair), subject: 'CN=till-1', state: 'active' }),
  ]);
  const again = command('client', 'add-certificate', '--client-id', till.id, '--thumbprint', thumbprintOf(till.pair));
  await expect(again).rejects.toThrow(/already/);
  const key = join(stand.files.folder, 'server.key');
  await expect(command('client', 'add-certificate', '--client-id', till.id, '--file', key)).rejects.toThrow(
    /private key/,
  );
  const trail = JSON.stringify(await command('audit', 'search', '--client', till.id));
  expect(trail).toContain(`${till.id}/${thumbprintOf(till.pair)}`);
  expect(trail).toContain('client_certificate.added');
  expect(trail).toContain('token.issued');
});
