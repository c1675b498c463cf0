/** The keys of trusted issuers: rotated, remembered over an outage, bounded, and never read from where they must not be (interface 28). */
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createIssuerKeys } from '#src/gateway/credentials/trust/issuer-keys.ts';
import { until } from '../../support/until.ts';
import { type Door, type Harness, openHarness, postToken } from '../harness/gateway-harness.ts';
import { makeAuthority } from '../harness/make-certificate.ts';
import { discoveryPath, type OidcIssuer, startOidcIssuer } from '../harness/oidc-issuer.ts';
import { closeServer, listen, type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let issuer: OidcIssuer;
let clientId: string;
let good: OidcIssuer['answer'];
const claims = { sub: 'repo:org/menu:environment:live', aud: 'https://orders.example' };

beforeAll(async () => {
  issuer = await startOidcIssuer(() => harness.clock.now(), 'ES256');
  good = issuer.answer;
  harness = await openHarness({ settings: { internal_issuers: [issuer.url] } });
  clientId = await trusting({});
});

afterEach(() => {
  issuer.answer = good;
});

afterAll(async () => {
  await harness.close();
  await issuer.close();
});

const trusting = async (more: { issuer?: string; jwksUri?: string }): Promise<string> => {
  const client = await harness.createClient([await harness.createTenant()]);
  await harness.credentials.addTrust({
    clientId: client.client_id,
    issuer: issuer.url,
    subject: claims.sub,
    audience: claims.aud,
    ...more,
  });
  return client.client_id;
};

const login = async (door: Pick<Door, 'url'> = harness, of = clientId, assertion?: string): Promise<Reply> =>
  postToken(door.url, {
    grant_type: 'client_credentials',
    client_id: of,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion ?? (await issuer.sign(claims)),
  });

const asked = async (work: () => Promise<unknown>): Promise<string[]> => {
  const before = issuer.asked.length;
  await work();
  return issuer.asked.slice(before);
};

test('A-391 many logins at once read the keys once; a rotated key is read when it is first used', async () => {
  const door = await harness.openDoor();
  const reading = await asked(async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => login(door)));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  });
  expect(reading).toEqual([discoveryPath, '/keys']);
  issuer.current = await issuer.makeKey('second');
  issuer.published = [...issuer.published, issuer.current.jwk];
  harness.clock.move(20_000);
  expect(await asked(async () => expect((await login(door)).status).toBe(200))).toHaveLength(2);
  // Ids that the issuer never had are no way to make it busy.
  const invented = await issuer.makeKey('invented');
  const flood = await asked(async () => {
    for (let i = 0; i < 10; i += 1) {
      const assertion = await issuer.sign(claims, { key: { ...invented, kid: `invented-${i}` } });
      expect((await login(door, clientId, assertion)).status).toBe(401);
    }
  });
  expect(flood).toEqual([]);
  // A clock that is set back does not stop the reading of keys.
  harness.clock.move(-3_600_000);
  issuer.current = await issuer.makeKey('third');
  issuer.published = [...issuer.published, issuer.current.jwk];
  expect((await login(door)).status).toBe(200);
  harness.clock.move(3_600_000);
  await door.close();
});

test('A-391 known keys outlive an outage of their issuer for 4 hours; then logins are answered 503 until it is back', async () => {
  const door = await harness.openDoor();
  expect((await login(door)).status).toBe(200);
  issuer.answer = (_req, res) => void res.writeHead(500).end();
  for (const minutes of [11, 120, 100]) {
    harness.clock.move(minutes * 60_000);
    expect((await login(door)).status).toBe(200);
  }
  harness.clock.move(15 * 60_000);
  const away = await login(door);
  expect([away.status, away.json.error, away.headers['retry-after']]).toEqual([503, 'temporarily_unavailable', '15']);
  issuer.answer = good;
  harness.clock.move(16_000);
  expect((await login(door)).status).toBe(200);
  await door.close();
});

test('A-391 a key that the issuer removed is refused to every login that finds the keys older than 10 minutes', async () => {
  const door = await harness.openDoor();
  expect((await login(door)).status).toBe(200);
  const [removed, kept] = [issuer.current, issuer.published];
  issuer.published = [(await issuer.makeKey('next')).jwk];
  harness.clock.move(11 * 60_000);
  const held: (() => void)[] = [];
  issuer.answer = (req, res) => void held.push(() => good(req, res));
  const ofRemoved = async () => login(door, clientId, await issuer.sign(claims, { key: removed }));
  const logins = [ofRemoved(), ofRemoved()];
  await until(() => held.length > 0);
  logins.push(ofRemoved());
  issuer.answer = good;
  for (const answer of held) answer();
  expect((await Promise.all(logins)).map(({ status }) => status)).toEqual([401, 401, 401]);
  issuer.published = kept;
  await door.close();
});

test('A-391 while the keys of an issuer cannot be read, logins do not wait for each further attempt', async () => {
  const door = await harness.openDoor();
  expect((await login(door)).status).toBe(200);
  issuer.answer = (_req, res) => void res.writeHead(500).end();
  harness.clock.move(11 * 60_000);
  expect((await login(door)).status).toBe(200);
  const attempts: ServerResponse[] = [];
  issuer.answer = (_req, res) => void attempts.push(res);
  harness.clock.move(16_000);
  expect((await login(door)).status).toBe(200);
  await until(() => attempts.length > 0);
  // The attempt of this login still waits for its answer.
  expect(attempts.map(({ destroyed }) => destroyed)).toEqual([false]);
  attempts[0]?.writeHead(500).end();
  await door.close();
});

const json =
  (body: unknown): OidcIssuer['answer'] =>
  (_req, res) =>
    void res.writeHead(200).end(JSON.stringify(body));
const keysAnswer =
  (answer: OidcIssuer['answer']): OidcIssuer['answer'] =>
  (req, res) =>
    req.url === discoveryPath ? good(req, res) : answer(req, res);

test('A-392 a broken, huge, slow or misleading issuer costs a bounded time and gives no keys', async () => {
  const many = Array.from({ length: 101 }, (_, i) => ({ ...issuer.current.jwk, kid: `k${i}` }));
  const bad: [string, OidcIssuer['answer']][] = [
    [
      'discovery of another issuer',
      (req, res) =>
        req.url === discoveryPath
          ? json({ issuer: `${issuer.url}/`, jwks_uri: `${issuer.url}/keys` })(req, res)
          : good(req, res),
    ],
    ['keys at a private address', json({ issuer: issuer.url, jwks_uri: 'https://10.0.0.1/keys' })],
    ['keys in the clear', json({ issuer: issuer.url, jwks_uri: 'http://keys.example/keys' })],
    ['keys in a file', json({ issuer: issuer.url, jwks_uri: 'file:///etc/passwd' })],
    ['no JSON', (_req, res) => void res.writeHead(200).end('<html>')],
    ['too many keys', keysAnswer(json({ keys: many }))],
    ['huge keys', keysAnswer(json({ keys: [issuer.current.jwk], padding: 'x'.repeat(300_000) }))],
    [
      'endless keys',
      keysAnswer((_req, res) => {
        res.writeHead(200);
        const timer = setInterval(() => res.write('x'.repeat(65_536)), 5);
        res.on('close', () => clearInterval(timer));
      }),
    ],
    [
      'a redirect to a private address',
      (_req, res) => void res.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
    ],
    ['silence', () => undefined],
  ];
  for (const [name, answer] of bad) {
    // Each gateway holds a connection to the store, so one at a time.
    const door = await harness.openDoor();
    issuer.answer = answer;
    const startedMs = performance.now();
    const reply = await login(door);
    expect([name, reply.status, reply.json.error]).toEqual([name, 503, 'temporarily_unavailable']);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    issuer.answer = good;
    harness.clock.move(16_000);
    expect([name, (await login(door)).status]).toEqual([name, 200]);
    await door.close();
  }
});

test('A-392 an issuer whose certificate is not trusted gives no keys', async () => {
  const { issue } = makeAuthority();
  const strange = await startOidcIssuer(harness.clock.now, 'ES256', issue({ names: ['127.0.0.1'] }));
  const of = await trusting({ issuer: strange.url });
  const door = await harness.openDoor({ settings: { internal_issuers: [strange.url] } });
  expect((await login(door, of, await strange.sign(claims))).status).toBe(503);
  expect(strange.asked).toEqual([]);
  await door.close();
  await strange.close();
});

test('A-392 an issuer at a private address needs the setting; keys that are too weak or secret are left out', async () => {
  const other = createServer((_req, res) => void res.writeHead(200).end(JSON.stringify({ keys: issuer.published })));
  const address = await listen(other);
  const guarded = await trusting({ issuer: 'spiffe://kitchen.example', jwksUri: `${address}/keys` });
  const assertion = await issuer.sign({ ...claims, iss: 'spiffe://kitchen.example' });
  expect((await login(harness, guarded, assertion)).status).toBe(503);
  const allowed = await harness.openDoor({ settings: { internal_issuers: [address] } });
  expect((await login(allowed, guarded, assertion)).status).toBe(200);
  await allowed.close();
  await closeServer(other);
  const weak = generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' });
  const door = await harness.openDoor();
  const kid = issuer.current.kid;
  issuer.answer = keysAnswer(
    json({
      keys: [
        { ...weak, kid },
        { kty: 'oct', k: 'c2VjcmV0', kid },
        { ...issuer.current.jwk, use: 'enc' },
      ],
    }),
  );
  expect((await login(door)).status).toBe(401);
  // A key that cannot be read does not make the others unreadable.
  issuer.answer = keysAnswer(
    json({ keys: [{ kty: 'EC', crv: { toString: 0 } }, { kty: 'EC', crv: 'toString', alg: 'x' }, issuer.current.jwk] }),
  );
  const later = await harness.openDoor();
  expect((await login(later)).status).toBe(200);
  await later.close();
  await door.close();
});

test('A-803 many issuers of one host do not answer; the keys of an issuer of another host are read, and its workload gets its token', async () => {
  const held: ServerResponse[] = [];
  let isHeld = true;
  const slow = createServer((_, res) => void (isHeld ? held.push(res) : res.destroy()));
  const slowUrl = await listen(slow);
  const door = await harness.openDoor({ settings: { internal_issuers: [issuer.url, slowUrl] } });
  const clients: string[] = [];
  for (let i = 0; i < 24; i += 1) clients.push(await trusting({ jwksUri: `${slowUrl}/keys/${i}` }));
  const waiting = Promise.allSettled(clients.map((of) => login(door, of)));
  try {
    await until(() => held.length > 0);
    // The gateway took every login before it answers this.
    await sendRequest(door.url, 'GET', '/healthz');
    expect((await login(door)).status).toBe(200);
  } finally {
    isHeld = false;
    slow.closeAllConnections();
    await waiting;
    await door.close();
    await closeServer(slow);
  }
});

test('A-803 the keys of four issuers of one host are read at a time, and those of another host beside them', async () => {
  const held: string[] = [];
  const fetchDocument = async (address: string): Promise<string> => {
    if (address.startsWith('https://quick')) return JSON.stringify({ keys: [] });
    held.push(address);
    return new Promise(() => undefined);
  };
  const keys = createIssuerKeys({ fetchDocument, clock: harness.clock, log: pino({ level: 'silent' }) });
  const read = (host: string, path: string) =>
    keys.read({ issuer: `https://${host}/${path}`, jwksUri: `https://${host}/${path}/keys` }, () => true);
  for (let i = 0; i < 24; i += 1) void read('slow.example', String(i));
  await read('quick.example', 'one');
  expect(held).toHaveLength(4);
});
