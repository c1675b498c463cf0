/** Workload login: a client trusts a subject of an issuer instead of keeping a secret (RFC 7523 section 2.2, interface 28). */
import { createHmac } from 'node:crypto';
import { decodeJwt } from 'jose';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { whileLocked } from '../../support/contention.ts';
import { makeProof, newProofKey } from '../../support/proofs.ts';
import { until } from '../../support/until.ts';
import { bearer, type Door, type Harness, openHarness, postToken, read } from '../harness/gateway-harness.ts';
import { type OidcIssuer, startOidcIssuer } from '../harness/oidc-issuer.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let second: Door;
let issuer: OidcIssuer;
const audience = 'https://orders.example';
const subject = 'system:serviceaccount:kitchen:printer';

beforeAll(async () => {
  issuer = await startOidcIssuer(() => new Date());
  harness = await openHarness({ settings: { internal_issuers: [issuer.url] } });
  second = await harness.openDoor();
});

afterAll(async () => {
  await harness.close();
  await issuer.close();
});

const jwtBearer = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const login = (assertion: string, clientId?: string, url = harness.url, headers = {}): Promise<Reply> =>
  postToken(
    url,
    {
      grant_type: 'client_credentials',
      client_assertion_type: jwtBearer,
      client_assertion: assertion,
      ...(clientId === undefined ? undefined : { client_id: clientId }),
    },
    headers,
  );

type Trust = Partial<Parameters<Harness['credentials']['addTrust']>[0]>;

const trusting = async (trust: Trust = {}) => {
  const { client_id: clientId } = await harness.createClient([await harness.createTenant()]);
  const { trustId } = await harness.credentials.addTrust({ clientId, issuer: issuer.url, subject, audience, ...trust });
  return { clientId, trustId };
};

const lastEvent = async (clientId: string, action: string) => {
  const { rows } = await sql<{ credential_id: string | null; reason: string | null; details: string }>`
    select credential_id, reason, details from gateway.audit_events
    where client_id = ${clientId} and action = ${action} order by at desc, seq desc limit 1`.execute(
    harness.database.db,
  );
  return { ...rows[0], details: JSON.parse(rows[0]?.details ?? '{}') as Record<string, unknown> };
};

const error = ({ status, json }: Reply) => [status, json.error, json.error_description];
const generic = [401, 'invalid_client', 'Client authentication failed'];

const shapes = [
  {
    of: 'a service account of Kubernetes',
    claims: {
      aud: [audience],
      sub: subject,
      'kubernetes.io': { namespace: 'kitchen', serviceaccount: { name: 'printer', uid: 'a-b' } },
    },
    alg: 'RS256',
    header: {},
  },
  {
    of: 'GitHub Actions',
    claims: { aud: audience, sub: 'repo:org/menu:ref:refs/heads/main', repository: 'org/menu', run_id: '1' },
    alg: 'RS256',
    header: { typ: 'JWT' },
  },
  {
    of: 'SPIFFE',
    claims: { aud: [audience], sub: 'spiffe://kitchen.example/printer', jti: undefined, iat: undefined },
    alg: 'ES384',
    header: { typ: 'JOSE' },
  },
];

test.each(shapes)(
  'A-388 an assertion of $of gets a token, with and without client_id',
  async ({ claims, alg, header }) => {
    const { clientId, trustId } = await trusting({ subject: claims.sub });
    const key = await issuer.makeKey(`of-${claims.sub}`, alg);
    issuer.published = [...issuer.published, { ...key.jwk, use: alg === 'ES384' ? 'jwt-svid' : 'sig' }];
    const door = await harness.openDoor();
    for (const named of [clientId, undefined]) {
      const reply = await login(await issuer.sign(claims, { key, header }), named, door.url);
      expect([reply.status, reply.json.token_type]).toEqual([200, 'Bearer']);
      const token = String(reply.json.access_token);
      expect(decodeJwt(token).client_id).toBe(clientId);
      expect((await sendRequest(harness.url, 'GET', read, { headers: bearer(token) })).status).toBe(200);
    }
    await door.close();
    const { credential_id, details } = await lastEvent(clientId, 'token.issued');
    expect(credential_id).toBe(trustId);
    expect(details.workload).toMatchObject({ trust: trustId, issuer: issuer.url, subject: claims.sub, audience });
    const shown = await harness.credentials.showClient(clientId);
    expect(shown.trusts).toMatchObject([{ id: trustId, state: 'active', issuer: issuer.url, subject: claims.sub }]);
  },
);

test('A-389 a wrong claim is named after the signature was found right, with neither value; the audit has both', async () => {
  const { clientId } = await trusting();
  const seconds = Math.floor(Date.now() / 1000);
  const good = { sub: subject, aud: audience };
  const wrong: [string, Record<string, unknown>][] = [
    ['sub', { ...good, sub: `${subject}2` }],
    ['sub', { ...good, sub: subject.toUpperCase() }],
    ['aud', { ...good, aud: `${audience}/` }],
    ['aud', { ...good, aud: [audience, 'https://other.example'] }],
    ['aud', { ...good, aud: [] }],
    ['exp', { ...good, exp: seconds - 1 }],
    ['exp', { ...good, exp: seconds + 90_000 }],
    ['exp', { ...good, exp: undefined }],
    ['exp', { ...good, exp: String(seconds + 60) }],
    ['nbf', { ...good, nbf: seconds + 120 }],
    ['iat', { ...good, iat: seconds + 120 }],
    ['jti', { ...good, jti: 7 }],
    ['jti', { ...good, jti: 'x'.repeat(256) }],
  ];
  for (const [claim, claims] of wrong) {
    const reply = await login(await issuer.sign(claims), clientId);
    expect([claim, reply.status, reply.json.error]).toEqual([claim, 401, 'invalid_client']);
    expect(reply.json.error_description).toContain(`claim ${claim} of the assertion`);
    expect(reply.text).not.toContain(subject);
    expect(reply.text).not.toContain(audience);
    const { details } = await lastEvent(clientId, 'token.refused');
    expect(details).toMatchObject({ claim, issuer: issuer.url });
  }
  expect((await login(await issuer.sign({ ...good, nbf: seconds + 20, iat: seconds + 20 }), clientId)).status).toBe(
    200,
  );
});

test('a subject may have blanks and letters of every script between others, as GitHub writes names of environments', async () => {
  for (const sub of ['repo:acme/app:environment:Production West', 'repo:acme/app:ref:refs/heads/größe']) {
    const { clientId } = await trusting({ subject: sub });
    expect((await login(await issuer.sign({ sub, aud: audience }), clientId)).status).toBe(200);
    expect((await login(await issuer.sign({ sub: `${sub} `, aud: audience }), clientId)).status).toBe(401);
  }
  for (const sub of ['', ' a', 'a ', 'a\nb', 'a\u00a0b', 'a\u202eb', 'a'.repeat(513), 'repo:*'])
    await expect(trusting({ subject: sub })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
});

test('A-389 without a right signature, a trusted issuer or a live client the refusal is generic', async () => {
  const [{ clientId, trustId }, other] = [await trusting(), await harness.createClient([await harness.createTenant()])];
  const claims = { sub: subject, aud: audience };
  const good = await issuer.sign(claims, {});
  const stranger = { ...(await issuer.makeKey('first')), kid: issuer.current.kid };
  const parts = good.split('.');
  const generically = [
    await login(await issuer.sign({ ...claims, sub: 'x' }, { key: stranger }), clientId),
    await login(`${parts[0]}.${parts[1]}.${parts[2]?.split('').reverse().join('')}`, clientId),
    await login(await issuer.sign({ ...claims, iss: `${issuer.url}/` }), clientId),
    await login(await issuer.sign({ ...claims, iss: 'https://attacker.example' })),
    await login(await issuer.sign(claims), other.client_id),
    await login(await issuer.sign(claims), 'opc_unknown'),
    await login(`${'x'.repeat(9_000)}`, clientId),
  ];
  for (const reply of generically) expect(error(reply)).toEqual(generic);
  await harness.credentials.removeTrust(clientId, trustId);
  expect(error(await login(good, clientId))).toEqual(generic);
  const disabled = await trusting();
  await harness.credentials.disableClient(disabled.clientId);
  await expect.poll(async () => error(await login(await issuer.sign(claims), disabled.clientId))).toEqual(generic);
  const quarantined = await trusting();
  await harness.credentials.quarantine('client', quarantined.clientId, 'looks stolen');
  await expect
    .poll(async () => (await login(await issuer.sign(claims), quarantined.clientId)).json.error)
    .toBe('unauthorized_client');
});

test('A-389 keys come from the issuer alone, and algorithms from its keys', async () => {
  const { clientId } = await trusting();
  const claims = { sub: subject, aud: audience };
  const own = await issuer.makeKey('own', 'ES256');
  const embedded: [string, Record<string, unknown>][] = [
    ['jwk', { jwk: own.jwk }],
    ['jku', { jku: `${issuer.url}/keys` }],
    ['x5u', { x5u: 'http://169.254.169.254/' }],
    ['x5c', { x5c: ['AAAA'] }],
    ['crit', { crit: ['strange'], strange: 1 }],
  ];
  for (const [member, header] of embedded) {
    const reply = await login(await issuer.sign(claims, { key: own, header }), clientId);
    expect([member, reply.status]).toEqual([member, 401]);
    expect(reply.json.error_description).toContain(`must not have ${member}`);
  }
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = encode(decodeJwt(await issuer.sign(claims)));
  const secret = JSON.stringify(issuer.current.jwk);
  for (const alg of ['none', 'HS256']) {
    const signed = `${encode({ alg, kid: issuer.current.kid })}.${body}`;
    const signature = alg === 'none' ? '' : createHmac('sha256', secret).update(signed).digest('base64url');
    const reply = await login(`${signed}.${signature}`, clientId);
    expect([alg, reply.status, reply.json.error]).toEqual([alg, 401, 'invalid_client']);
  }
  // The key is for RS256 by its document; PS256 with the same key is another algorithm.
  const asOther = await issuer.sign(claims, { header: { alg: 'RS256', typ: 'at+jwt' } });
  expect((await login(asOther, clientId)).json.error_description).toContain('typ');
  expect((await login(await issuer.sign(claims), clientId)).status).toBe(200);
});

test('A-390 an assertion with a jti is used once over all gateways, unless the trust says otherwise', async () => {
  const { clientId } = await trusting();
  const claims = { sub: subject, aud: audience };
  const once = await issuer.sign(claims);
  const replies = await Promise.all([
    ...[1, 2, 3].map(() => login(once, clientId)),
    ...[1, 2, 3].map(() => login(once, clientId, second.url)),
  ]);
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401, 401]);
  expect(error(await login(once, clientId))).toEqual([
    401,
    'invalid_client',
    'The claim jti of the assertion was used before',
  ]);
  const reused = await trusting({ subject: 'file', reusable: true });
  const file = await issuer.sign({ sub: 'file', aud: audience });
  const without = await issuer.sign({ ...claims, jti: undefined });
  for (let i = 0; i < 2; i += 1) {
    expect((await login(file, reused.clientId)).status).toBe(200);
    expect((await login(without, clientId)).status).toBe(200);
  }
});

test('A-623 an assertion of an issuer stays usable, once, when its request is asked for a nonce', async () => {
  const { clientId } = await trusting();
  const door = await harness.openDoor({ settings: { dpop: 'nonce' } });
  const assertion = await issuer.sign({ sub: subject, aud: audience });
  const key = newProofKey();
  const url = `${harness.url}/api/oauth/token`;
  const ask = async (nonce?: unknown): Promise<Reply> => {
    const proof = await makeProof(key, { method: 'POST', url, now: harness.clock.now() }, { claims: { nonce } });
    return login(assertion, clientId, door.url, { dpop: proof });
  };
  const asked = await ask();
  expect([asked.status, asked.json.error]).toEqual([400, 'use_dpop_nonce']);
  const nonce = asked.headers['dpop-nonce'];
  const issued = await ask(nonce);
  expect([issued.status, issued.json.token_type]).toEqual([200, 'DPoP']);
  const again = await ask(nonce);
  expect([again.status, again.json.error_description]).toEqual([401, expect.stringContaining('jti')]);
  await door.close();
});

test('A-390 a subject that several clients trust needs client_id', async () => {
  const [one, other] = [await trusting({ subject: 'shared' }), await trusting({ subject: 'shared' })];
  const claims = { sub: 'shared', aud: audience };
  const ambiguous = await login(await issuer.sign(claims));
  expect([ambiguous.status, ambiguous.json.error_description]).toEqual([
    401,
    'Several clients trust this assertion; send client_id',
  ]);
  for (const { clientId } of [one, other]) {
    const reply = await login(await issuer.sign(claims), clientId);
    expect(decodeJwt(String(reply.json.access_token)).client_id).toBe(clientId);
  }
});

test('A-611 the trust of a disabled client does not stand in the way of the client that replaces it', async () => {
  const gone = await trusting({ subject: 'replaced', jwksUri: `${issuer.url}/no-keys` });
  await harness.credentials.disableClient(gone.clientId);
  const { clientId } = await trusting({ subject: 'replaced' });
  const reply = await login(await issuer.sign({ sub: 'replaced', aud: audience }));
  expect([reply.status, decodeJwt(String(reply.json.access_token)).client_id]).toEqual([200, clientId]);
  expect((await login(await issuer.sign({ sub: 'replaced', aud: audience }), gone.clientId)).status).toBe(401);
});

test('A-610 assertions of invented issuers leave connections to the store for other callers', async () => {
  const { clientId } = await trusting({ subject: 'beside-a-flood' });
  const { value } = await harness.credentials.createApiKey({ tenant: await harness.createTenant(), name: 'till' });
  const invented = await Promise.all(
    Array.from({ length: 100 }, (_, n) => issuer.sign({ iss: `https://${n}.example`, sub: `s${n}`, aud: audience })),
  );
  const statuses: number[] = [];
  const replies = await whileLocked(
    harness.database.db,
    sql`lock table gateway.client_trusts in access exclusive mode`,
    1,
    () => Promise.all(invented.map((one) => login(one))),
    async () => {
      const headers = { 'x-api-key': value };
      statuses.push((await sendRequest(harness.url, 'GET', read, { headers })).status);
    },
  );
  expect(statuses).toEqual([200]);
  const busy = replies.filter(({ status }) => status === 503);
  expect(busy.length).toBeGreaterThan(0);
  for (const reply of busy) {
    expect(reply.json.error).toBe('temporarily_unavailable');
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
  }
  const after = await login(await issuer.sign({ sub: 'beside-a-flood', aud: audience }), clientId);
  expect(after.status).toBe(200);
});

test('A-747 while assertions of invented issuers from one address wait, a workload at another address logs in before them', async () => {
  const { clientId } = await trusting({ subject: 'not-in-the-flood' });
  const right = () => issuer.sign({ sub: 'not-in-the-flood', aud: audience });
  expect((await login(await right(), clientId)).status).toBe(200);
  const invented = await Promise.all(
    Array.from({ length: 100 }, (_, n) => issuer.sign({ iss: `https://${n}.example`, sub: `s${n}`, aud: audience })),
  );
  let refused = 0;
  const flood = async (assertion: string): Promise<void> => {
    const { status } = await sendRequest(harness.url, 'POST', '/api/oauth/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        ...{ grant_type: 'client_credentials', client_assertion_type: jwtBearer, client_assertion: assertion },
      }).toString(),
      localAddress: '127.0.0.2',
    });
    if (status === 503) refused += 1;
  };
  const assertion = await right();
  let logged: Promise<Reply> | undefined;
  await whileLocked(
    harness.database.db,
    sql`lock table gateway.client_trusts in access exclusive mode`,
    4,
    () => Promise.all(invented.map(flood)),
    async () => {
      // Those beyond the queue are refused at once, so the rest fills it.
      await until(() => refused > 0);
      logged = login(assertion, clientId);
      await sendRequest(harness.url, 'GET', '/healthz');
    },
  );
  expect((await logged)?.status).toBe(200);
});

test('A-374 a client that was switched to FAPI 2.0 does not log in by an issuer', async () => {
  const { clientId } = await trusting({ subject: 'fapi' });
  const claims = { sub: 'fapi', aud: audience };
  expect((await login(await issuer.sign(claims), clientId)).status).toBe(200);
  await harness.credentials.setClientFapi2Required(clientId, true);
  await until(async () => (await login(await issuer.sign(claims), clientId)).status === 401);
  expect((await login(await issuer.sign(claims), clientId)).json).toMatchObject({
    error: 'invalid_client',
    error_description: expect.stringContaining('FAPI 2.0'),
  });
});

test('A-390 what cannot be trusted is refused with what to change', async () => {
  const { client_id: clientId } = await harness.createClient([await harness.createTenant()]);
  const good = { clientId, issuer: 'https://issuer.example', subject: 'a', audience: 'b' };
  for (const [pointer, change] of [
    ['issuer', { issuer: 'http://issuer.example' }],
    ['issuer', { issuer: 'https://issuer.example/?a=1' }],
    ['issuer', { issuer: 'issuer' }],
    ['jwks-uri', { jwksUri: 'http://issuer.example/keys' }],
    ['subject', { subject: 'repo:org/*' }],
    ['subject', { subject: '' }],
    ['audience', { audience: 'a b' }],
  ] as const) {
    const refusal = harness.credentials.addTrust({ ...good, ...change });
    await expect(refusal).rejects.toMatchObject({ code: 'VALIDATION_ERROR', errors: [{ pointer }] });
  }
  await harness.credentials.addTrust(good);
  await expect(harness.credentials.addTrust(good)).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(harness.credentials.removeTrust(clientId, 'trs_none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
