/**
 * What do certificates cost? Tokens by certificate, by private_key_jwt and by the assertion of a trusted issuer against tokens by
 * secret, and reads with a token that is bound to a certificate, or to a key (DPoP), against reads with an unbound one. The certificate comes in Client-Cert, so that TLS is in none
 * of the rates. Gateway, upstream and load share this process and its core, so a ratio here is nearer to 1 than that of the gateway
 * alone; the rates by key, by issuer and with DPoP pay for the signature of the caller too. Rounds are interleaved.
 * Arguments: rounds.
 */
import { generateKeyPairSync, randomUUID, X509Certificate } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type JWK, SignJWT } from 'jose';
import { Pool } from 'undici';
import { createFetchDocument } from '#src/webhooks/index.ts';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { startOidcIssuer } from '../../gateway/harness/oidc-issuer.ts';
import { makeProof, newProofKey } from '../../support/proofs.ts';
import { startBenchGateway } from '../kit/gateway.ts';
import { column, median, print, ratiosOf, startPart, stopPart } from '../kit/parts.ts';

const read = '/api/orders/list';
const roundsDefault = 5;
const roundMs = 1_500;
const connections = 16;

const rounds = Number(process.argv[2] ?? roundsDefault);
const issuer = await startOidcIssuer(() => new Date(), 'ES256');
const settings = {
  client_certificates: 'on',
  client_certificate_proxies: '127.0.0.1',
  internal_issuers: [issuer.url],
  dpop: 'on',
};
const upstream = createServer((_req, res) => void res.setHeader('content-type', 'application/json').end('{}'));
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
const store = await startPart('store', undefined, []);
const gateway = await startBenchGateway(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, {
  storeUrl: String(store.ready.url),
  more: settings,
  fetchDocument: createFetchDocument([issuer.url]),
});
const { clientId, clientSecret: secret, credentials } = gateway;
const { cert } = makeAuthority().issue({ use: 'client' });
await credentials.addClientCertificate(clientId, { pem: cert });
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
await credentials.addClientKey(clientId, publicKey.export({ format: 'jwk' }) as JWK);
const workload = { subject: 'system:serviceaccount:kitchen:printer', audience: gateway.url };
await credentials.addTrust({ clientId, issuer: issuer.url, ...workload });
// A gateway knows a new key within a second.
await sleep(1_500);
const field = `:${new X509Certificate(cert).raw.toString('base64')}:`;

const pool = new Pool(gateway.url, { connections });
type Call = () => Promise<string>;

const call = async (method: 'GET' | 'POST', path: string, headers: Record<string, string>, body?: string) => {
  const reply = await pool.request({ method, path, headers, body: body ?? null });
  const text = await reply.body.text();
  if (reply.statusCode !== 200) throw new Error(`${path}: ${reply.statusCode} ${text}`);
  return text;
};

const token = (fields: Record<string, string>, headers: Record<string, string> = {}): Promise<string> =>
  call(
    'POST',
    '/api/oauth/token',
    { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    new URLSearchParams({ grant_type: 'client_credentials', ...fields }).toString(),
  );

const assertion = (): Promise<string> =>
  new SignJWT({})
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(gateway.url)
    .setJti(randomUUID())
    .setExpirationTime('2m')
    .sign(privateKey);

const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const bySecret: Call = () => token({ client_id: clientId, client_secret: secret });
const byCertificate: Call = () => token({ client_id: clientId }, { 'client-cert': field });
const byKey: Call = async () => token({ client_assertion_type, client_assertion: await assertion() });

const byIssuer: Call = async () =>
  token({
    client_assertion_type,
    client_assertion: await issuer.sign({ sub: workload.subject, aud: workload.audience }),
  });

const proofKey = newProofKey('ES256');
const tokenUrl = `${gateway.url}/api/oauth/token`;
const withProof: Call = async () => {
  const dpop = await makeProof(proofKey, { method: 'POST', url: tokenUrl, now: new Date() });
  return token({ client_id: clientId, client_secret: secret }, { dpop });
};

const accessOf = (text: string): string => (JSON.parse(text) as { access_token: string }).access_token;
const unbound = `Bearer ${accessOf(await bySecret())}`;
const bound = `Bearer ${accessOf(await byCertificate())}`;
const proven = accessOf(await withProof());
const readProven: Call = async () => {
  const about = { method: 'GET', url: gateway.url + read, now: new Date(), token: proven };
  const dpop = await makeProof(proofKey, about);
  return call('GET', read, { authorization: `DPoP ${proven}`, dpop, 'client-cert': field });
};

// All reads carry the field, since the cost of its bytes is that of any header.
const calls: Record<string, Call> = {
  'token by secret': bySecret,
  'token by certificate': byCertificate,
  'token by key': byKey,
  'token by issuer': byIssuer,
  'token with DPoP': withProof,
  'read unbound': () => call('GET', read, { authorization: unbound, 'client-cert': field }),
  'read bound': () => call('GET', read, { authorization: bound, 'client-cert': field }),
  'read with DPoP': readProven,
};

const rateOf = async (one: Call): Promise<number> => {
  const start = performance.now();
  let done = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() - start < roundMs) {
      await one();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  return (done * 1_000) / (performance.now() - start);
};

const rates = new Map<string, number[]>(Object.keys(calls).map((name) => [name, []]));
const entries = Object.entries(calls);
// Reads have rounds of their own: after new tokens a read would pay for their rows of the audit and their garbage.
for (const isRead of [false, true])
  for (let round = -1; round < rounds; round += 1) {
    const group = entries.filter(([name]) => name.startsWith('read') === isRead);
    for (const [name, one] of round % 2 === 0 ? group : group.toReversed()) {
      const rate = await rateOf(one);
      // The first round warms up.
      if (round >= 0) rates.get(name)?.push(rate);
    }
  }
print(`${rounds} rounds of ${roundMs / 1_000} s, ${connections} connections, one process`);
for (const [name, values] of rates) print(`${name.padEnd(28)}${column(median(values).toFixed(0), 10)} /s`);
for (const [one, other] of [
  ['token by certificate', 'token by secret'],
  ['token by key', 'token by secret'],
  ['token by issuer', 'token by secret'],
  ['token with DPoP', 'token by secret'],
  ['read bound', 'read unbound'],
  ['read with DPoP', 'read unbound'],
] as const)
  print(`${`${one} : ${other}`.padEnd(44)}${median(ratiosOf(rates.get(one), rates.get(other))).toFixed(2)}`);
await pool.close();
await gateway.close();
await issuer.close();
await stopPart(store);
process.exit(0);
