/** RFC 9440: the certificate that a proxy of the operator names, and claims of everybody else. */

import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadSettings } from '#src/app/settings/config.ts';
import { openClientAuthorities } from '#src/platform/http/tls/client-authorities.ts';
import {
  bearer,
  type Door,
  type Harness,
  openHarness,
  postToken,
  rawHeaders,
  read,
} from '../gateway/harness/gateway-harness.ts';
import { makeAuthority, type Pair } from '../gateway/harness/make-certificate.ts';
import { type Reply, sendRequest } from '../gateway/harness/public-door.ts';
import { until } from '../support/until.ts';

const authority = makeAuthority();
const pair = authority.issue({ name: 'till-1', use: 'client' });
const folder = mkdtempSync(join(tmpdir(), 'orderpass-ca-'));
let harness: Harness;
/** A gateway that trusts another proxy than the test. */
let elsewhere: Door;
let clientId: string;

const derOf = ({ cert }: Pick<Pair, 'cert'>): Buffer => new X509Certificate(cert).raw;
const fieldOf = (one: Pick<Pair, 'cert'>): string => `:${derOf(one).toString('base64')}:`;

const ask = (field: string | undefined, url = harness.url, id = clientId, chain?: string): Promise<Reply> =>
  postToken(
    url,
    { grant_type: 'client_credentials', client_id: id },
    {
      ...(field !== undefined && { 'client-cert': field }),
      ...(chain !== undefined && { 'client-cert-chain': chain }),
    },
  );

beforeAll(async () => {
  const caFile = join(folder, 'ca.crt');
  writeFileSync(caFile, authority.cert);
  harness = await openHarness({
    settings: { client_certificates: 'on', client_certificate_proxies: '127.0.0.0/8, ::1', auth_check: 'on' },
    clientAuthorities: openClientAuthorities(caFile, pino({ level: 'silent' })),
  });
  elsewhere = await harness.openDoor({ settings: { client_certificate_proxies: '192.0.2.1' } });
  const tenants = [await harness.createTenant()];
  const made = await harness.credentials.createCertificateClient({ name: 'x', tenants }, { tlsSubject: 'CN=till-1' });
  clientId = made.clientId;
});

afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('A-371 RFC 9440 2.2: the certificate that a trusted proxy names authenticates and binds', async () => {
  const { status, json } = await ask(fieldOf(pair));
  expect(status).toBe(200);
  const headers = bearer(String(json.access_token));
  const calls: [string, Record<string, string>][] = [
    [read, {}],
    ['/auth/check', { 'x-original-method': 'GET', 'x-original-uri': read }],
  ];
  for (const [target, more] of calls) {
    const call = async (field?: string): Promise<number> =>
      (
        await sendRequest(harness.url, 'GET', target, {
          headers: { ...headers, ...more, ...(field !== undefined && { 'client-cert': field }) },
        })
      ).status;
    expect(await call(fieldOf(pair))).toBe(200);
    expect(await call()).toBe(401);
    expect(await call(fieldOf(authority.issue({ name: 'till-1', use: 'client' })))).toBe(401);
  }
});

test('A-371 RFC 9440 4: no upstream gets the field, in whatever spelling', async () => {
  const { json } = await ask(fieldOf(pair));
  const before = harness.upstream.seen.length;
  await sendRequest(harness.url, 'GET', read, {
    headers: {
      ...bearer(String(json.access_token)),
      'client-cert': fieldOf(pair),
      'client-cert-chain': fieldOf({ cert: authority.cert }),
      client_cert: 'x',
    },
  });
  const [request] = harness.upstream.seen.slice(before);
  expect(JSON.stringify(request)).not.toMatch(/client.cert/i);
  expect(request).toBeDefined();
});

test('A-371 the chain must lead to an authority of the operator, and the certificate must be valid and for clients', async () => {
  const wrong = [
    makeAuthority().issue({ name: 'till-1', use: 'client' }),
    authority.issue({ name: 'till-2', use: 'client' }),
    authority.issue({ name: 'till-1', use: 'server' }),
    authority.issue({ name: 'till-1', use: 'client', until: new Date(Date.now() - 1_000) }),
    authority.issue({ name: 'till-1', use: 'client', from: new Date(Date.now() + 3_600_000) }),
  ];
  for (const one of wrong) expect((await ask(fieldOf(one))).json.error).toBe('invalid_client');
  expect((await ask(fieldOf(pair))).status).toBe(200);
});

test('a short key or a signature by SHA-1, which OpenSSL refuses in a handshake, is refused behind a proxy too', async () => {
  const issue = { name: 'till-1', use: 'client' } as const;
  for (const weak of [{ rsaBits: 1_024 }, { digest: 'sha1' }] as const)
    expect((await ask(fieldOf(authority.issue({ ...issue, ...weak })))).json.error).toBe('invalid_client');
  const middle = authority.intermediate({ digest: 'sha1' });
  expect((await ask(fieldOf(middle.issue(issue)), harness.url, clientId, fieldOf(middle))).json.error).toBe(
    'invalid_client',
  );
  expect((await ask(fieldOf(authority.issue({ ...issue, rsaBits: 2_048 })))).status).toBe(200);
});

test('A-440 RFC 9440 2.3: Client-Cert-Chain leads to an authority through those between, and none that may not issue', async () => {
  const chainOf = (...ones: Pick<Pair, 'cert'>[]): string => ones.map(fieldOf).join(', ');
  const with_ = (one: Pair, chain?: string, url = harness.url): Promise<Reply> =>
    ask(fieldOf(one), url, clientId, chain);
  const issue = { name: 'till-1', use: 'client' } as const;
  const middle = authority.intermediate({ name: 'middle' });
  const low = middle.intermediate({ name: 'low' });
  const leaf = low.issue(issue);
  const accepted = await with_(leaf, chainOf(low, middle));
  expect(accepted.status).toBe(200);
  // The root may be sent too, and a certificate that an authority signed itself needs no chain.
  expect((await with_(leaf, chainOf(low, middle, authority))).status).toBe(200);
  expect((await with_(pair, chainOf(low))).status).toBe(200);
  const headers = { ...bearer(String(accepted.json.access_token)), 'client-cert': fieldOf(leaf) };
  expect((await sendRequest(harness.url, 'GET', read, { headers })).status).toBe(200);
  const below = (wishes: Parameters<typeof authority.intermediate>[0]): [Pair, string] => {
    const one = authority.intermediate(wishes);
    return [one.issue(issue), chainOf(one)];
  };
  const short = authority.intermediate({ name: 'short', pathLength: 0 });
  const tooDeep = short.intermediate({ name: 'too deep' });
  const stranger = makeAuthority().intermediate();
  const wrong: [Pair, string | undefined][] = [
    [leaf, undefined],
    [leaf, chainOf(low)],
    [leaf, chainOf(middle, low)],
    [leaf, chainOf(middle)],
    [tooDeep.issue(issue), chainOf(tooDeep, short)],
    [stranger.issue(issue), chainOf(stranger)],
    [stranger.issue(issue), chainOf(stranger, authority)],
    [low.issue({ ...issue, use: 'server' }), chainOf(low, middle)],
    [low.issue({ ...issue, name: 'till-2' }), chainOf(low, middle)],
    below({ isAuthority: false }),
    below({ isConstrained: true }),
    below({ until: new Date(Date.now() - 1_000) }),
    below({ from: new Date(Date.now() + 3_600_000) }),
  ];
  for (const [one, chain] of wrong) expect((await with_(one, chain)).json.error).toBe('invalid_client');
  expect((await with_(short.issue(issue), chainOf(short))).status).toBe(200);
  const unreadable = ['x', `${chainOf(low)},`, `${chainOf(low)};a=1`, chainOf(...Array.from({ length: 6 }, () => low))];
  for (const chain of unreadable)
    expect((await with_(leaf, chain)).json).toMatchObject({
      error: 'invalid_request',
      errors: [expect.objectContaining({ pointer: 'Client-Cert-Chain' })],
    });
  expect((await with_(leaf, chainOf(low, middle), elsewhere.url)).json.error).toBe('invalid_client');
});

test('A-606 an authority of the file with name constraints or without the usage of clients issues nothing behind a proxy', async () => {
  const root = makeAuthority('Root that the file does not name');
  const [constrained, ofServers, withPolicies] = [
    root.intermediate({ name: 'constrained', isConstrained: true }),
    root.intermediate({ name: 'of servers', use: 'server' }),
    root.intermediate({ name: 'with policies', use: 'client', hasPolicies: true }),
  ];
  const caFile = join(folder, 'ca.crt');
  const issue = { name: 'till-1', names: ['till.elsewhere.example'], use: 'client' } as const;
  writeFileSync(caFile, [authority, constrained, ofServers, withPolicies].map(({ cert }) => cert).join(''));
  await until(async () => (await ask(fieldOf(withPolicies.issue(issue)))).status === 200);
  expect((await ask(fieldOf(pair))).status).toBe(200);
  const low = withPolicies.intermediate();
  expect((await ask(fieldOf(low.issue(issue)), harness.url, clientId, fieldOf(low))).status).toBe(200);
  for (const one of [constrained, ofServers]) {
    expect((await ask(fieldOf(one.issue(issue)))).json.error).toBe('invalid_client');
    const below = one.intermediate();
    expect((await ask(fieldOf(below.issue(issue)), harness.url, clientId, fieldOf(below))).json.error).toBe(
      'invalid_client',
    );
  }
  const unknown = authority.issue({ ...issue, isUnknown: true });
  expect((await ask(fieldOf(unknown))).json.error).toBe('invalid_client');
  writeFileSync(caFile, authority.cert);
});

test('A-609 a certificate that was removed long ago does not authenticate by its name after others were registered', async () => {
  const given = { name: 'x', tenants: [await harness.createTenant()] };
  const { clientId: id } = await harness.credentials.createCertificateClient(given, { tlsSubject: 'CN=till-9' });
  const [leaked, other] = [1, 2].map(() => authority.issue({ name: 'till-9', use: 'client' })) as [Pair, Pair];
  const statusOf = async (one: Pair): Promise<number> => (await ask(fieldOf(one), harness.url, id)).status;
  await harness.credentials.addClientCertificate(id, { pem: leaked.cert });
  expect(await statusOf(leaked)).toBe(200);
  const thumbprint = createHash('sha256').update(derOf(leaked)).digest('base64url');
  await harness.credentials.removeClientCertificate(id, thumbprint);
  await until(async () => (await statusOf(leaked)) === 401);
  await sql`update gateway.client_certificates set revoked_at = revoked_at - interval '40 days'
    where client_id = ${id}`.execute(harness.database.db);
  await harness.credentials.addClientCertificate(id, { pem: other.cert });
  const third = authority.issue({ use: 'client' });
  await harness.credentials.addClientCertificate(id, { pem: third.cert });
  await until(async () => (await statusOf(third)) === 200);
  expect([await statusOf(leaked), await statusOf(other)]).toEqual([401, 200]);
});

test('A-372 RFC 9440 2.1: a field that is no single Byte Sequence of one DER certificate is invalid_request', async () => {
  const der = derOf(pair);
  const base64 = der.toString('base64');
  const wrong = [
    base64,
    `:${base64}`,
    `:${base64}:;a=1`,
    `:${base64}:, :${base64}:`,
    `:${base64.slice(0, -4)}:`,
    `:${der.toString('base64url')}_:`,
    ':AAAA:',
    '::',
    `:${Buffer.concat([der, Buffer.from([0])]).toString('base64')}:`,
    `:${Buffer.from(pair.cert).toString('base64')}:`,
    encodeURIComponent(pair.cert),
  ];
  for (const field of wrong) {
    const reply = await ask(field);
    expect([reply.status, reply.json.error, reply.json.errors]).toEqual([
      400,
      'invalid_request',
      [expect.objectContaining({ pointer: 'Client-Cert' })],
    ]);
  }
  const type = ['content-type', 'application/x-www-form-urlencoded'];
  const twice = await sendRequest(harness.url, 'POST', '/api/oauth/token', {
    headers: rawHeaders(harness.url, ...type, 'client-cert', fieldOf(pair), 'Client-Cert', fieldOf(pair)),
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId }).toString(),
  });
  expect([twice.status, twice.json.error]).toEqual([400, 'invalid_request']);
  expect((await ask(fieldOf(pair))).status).toBe(200);
});

test('A-372 from any other address the field is no certificate', async () => {
  const { json } = await ask(fieldOf(pair));
  const claimed = await ask(fieldOf(pair), elsewhere.url);
  expect([claimed.status, claimed.json.error]).toEqual([401, 'invalid_client']);
  const headers = { ...bearer(String(json.access_token)), 'client-cert': fieldOf(pair) };
  expect((await sendRequest(elsewhere.url, 'GET', read, { headers })).status).toBe(401);
  expect((await sendRequest(harness.url, 'GET', read, { headers })).status).toBe(200);
});

test('A-372 a name that can be read in two ways is refused when it is registered', async () => {
  const tenants = [await harness.createTenant()];
  const wrong = ['CN=a, O=b', 'CN=a,', 'a', 'CN=', 'XY=a', 'CN=#0401', 'CN="a"', 'CN=a\\', 'CN=\\FF', 'CN= a'];
  for (const tlsSubject of wrong)
    await expect(harness.credentials.createCertificateClient({ name: 'x', tenants }, { tlsSubject })).rejects.toThrow();
  const wrongSans = ['pos.example', 'dns:*.example', 'dns:', 'ip:1.2.3', 'other:x', 'uri:x', 'DNS:pos.example'];
  for (const tlsSan of [...wrongSans, 'constructor:x'])
    await expect(harness.credentials.createCertificateClient({ name: 'x', tenants }, { tlsSan })).rejects.toMatchObject(
      { code: 'VALIDATION_ERROR' },
    );
  const { clientId: id } = await harness.credentials.createCertificateClient(
    { name: 'x', tenants },
    { tlsSubject: 'cn=A\\2c B \\2b \\C3\\84' },
  );
  expect((await harness.credentials.showClient(id)).certificateName).toBe('subject:CN=A\\, B \\+ Ä');
  const named = authority.issue({ name: 'A, B + Ä', use: 'client' });
  expect((await ask(fieldOf(named), harness.url, id)).status).toBe(200);
});

test('A-373 settings that contradict each other end the start', () => {
  const load = (env: Record<string, string>): unknown => loadSettings({ env });
  const on = { ORDERPASS_CLIENT_CERTIFICATES: 'on' };
  const wrong: [Record<string, string>, RegExp][] = [
    [on, /CLIENT_CERTIFICATES.*PROXIES/],
    [{ ORDERPASS_CLIENT_CERTIFICATE_PROXIES: '10.0.0.1' }, /CLIENT_CERTIFICATES to be on/],
    [{ ORDERPASS_MTLS_ORIGIN: 'https://mtls.example' }, /CLIENT_CERTIFICATES to be on/],
    [{ ...on, ORDERPASS_CLIENT_CERTIFICATE_PROXIES: 'proxy.example' }, /addresses or networks/],
    [{ ...on, ORDERPASS_CLIENT_CERTIFICATE_PROXIES: '10.0.0.1', ORDERPASS_MTLS_ORIGIN: 'http://x' }, /https/],
    [{ ORDERPASS_TLS_CLIENT_CA_FILE: '/ca.crt' }, /needs a certificate and a key/],
  ];
  for (const [env, message] of wrong) expect(() => load(env)).toThrow(message);
  expect(load({ ...on, ORDERPASS_CLIENT_CERTIFICATE_PROXIES: '10.0.0.1, fd00::/8' })).toMatchObject({
    gateway: { client_certificate_proxies: ['10.0.0.1', 'fd00::/8'] },
  });
});

test('A-370 with certificates off, the field and bound tokens count for nothing', async () => {
  const { json } = await ask(fieldOf(pair));
  const off = await harness.openDoor({ settings: { client_certificates: 'off', client_certificate_proxies: '' } });
  const headers = { ...bearer(String(json.access_token)), 'client-cert': fieldOf(pair) };
  expect((await sendRequest(off.url, 'GET', read, { headers })).status).toBe(401);
  expect((await ask(fieldOf(pair), off.url)).json.error).toBe('invalid_client');
  const metadata = await sendRequest(off.url, 'GET', '/.well-known/oauth-authorization-server');
  expect(metadata.text).not.toMatch(/tls/);
  expect((await sendRequest(harness.url, 'GET', read, { headers })).status).toBe(200);
});

test('A-497 a changed file of authorities counts for the field of a proxy too; a broken one leaves the earlier', async () => {
  const later = makeAuthority('Later authority');
  const [before, after] = [pair, later.issue({ name: 'till-1', use: 'client' })].map(fieldOf);
  const statuses = async (): Promise<number[]> => [(await ask(before)).status, (await ask(after)).status];
  const caFile = join(folder, 'ca.crt');
  expect(await statuses()).toEqual([200, 401]);
  writeFileSync(caFile, authority.cert + later.cert);
  await expect.poll(statuses).toEqual([200, 200]);
  writeFileSync(caFile, 'no certificate');
  // The file is looked at once a second: the next change shows that the broken one was seen or passed over.
  for (let n = 0; n < 5; n += 1) {
    expect(await statuses()).toEqual([200, 200]);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  writeFileSync(caFile, later.cert);
  await expect.poll(statuses).toEqual([401, 200]);
});
