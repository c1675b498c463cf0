/** Claims of unexpected types and sizes were once answered with 500. */
import { generateKeyPairSync } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, sendRequest } from '../gateway/harness/public-door.ts';
import { bearer, nowSeconds, openRfcHarness, type RfcHarness } from '../rfc/rfc-harness.ts';
import { until } from '../support/until.ts';

let harness: RfcHarness;

beforeAll(async () => {
  harness = await openRfcHarness({ rate_failures_max: 1_000 });
});

afterAll(() => harness.close());

test('an assertion whose subject is no text names no client: 401, not 500, although every client of the listener can send it', async () => {
  const { client_id } = harness.client;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await harness.credentials.addClientKey(client_id, publicKey.export({ format: 'jwk' }));
  let count = 0;
  const send = async (sub: unknown) => {
    count += 1;
    const claims = { iss: client_id, sub, aud: origin, exp: nowSeconds() + 60, jti: `a${count}` };
    return harness.post('token', {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await new SignJWT(claims as JWTPayload).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
    });
  };
  for (const sub of [null, 1, true, {}, [], [client_id], { toString: client_id }]) {
    const { status, json } = await send(sub);
    expect([status, json.error]).toEqual([401, 'invalid_client']);
  }
  // A gateway knows a new key within a second.
  await until(async () => (await send(client_id)).status === 200);
});

test('F-36 a token signed with the key of the server and any odd claim is invalid_token at every door, not 500, and leaves nothing behind', async () => {
  const times = [1e300, -1e300, 1e308, 8.64e12 + 1, -1, -1e13, 'x', '1', {}, [], null, true];
  const names = ['', 'nul\u0000', '\ud800', 'line\nbreak', 'x'.repeat(300), 7, null, {}, ['x']];
  const odd: Record<string, unknown>[] = [
    ...['exp', 'iat', 'nbf'].flatMap((claim) => times.map((value) => ({ [claim]: value }))),
    ...['jti', 'sub', 'client_id', 'scope', 'iss', 'aud'].flatMap((claim) =>
      names.map((value) => ({ [claim]: value })),
    ),
    ...names.map((value) => ({ client_id: value, sub: value })),
    ...names.map((value) => ({ client_id: value, sub: value, exp: 1 })),
    ...names.map((value) => ({ cnf: { jkt: value } })),
    { cnf: 'x' },
  ];
  // A scope that names nothing is well-formed and allows nothing; a binding that is off counts as none.
  const harmless = [JSON.stringify({ scope: '' })];
  for (const claims of odd) {
    const token = await harness.forge({ claims: claims as JWTPayload });
    const said = JSON.stringify(claims);
    const read = await harness.read(bearer(token));
    expect([said, read.status < 500]).toEqual([said, true]);
    if (/"(exp|iat|nbf|jti)":/.test(said))
      expect([said, read.status, read.json.error]).toEqual([said, 401, 'invalid_token']);
    else if (!harmless.includes(said)) expect([said, [401, 403].includes(read.status)]).toEqual([said, true]);
    const answer = await harness.post('introspect', { token, ...harness.service });
    expect([said, answer.status]).toEqual([said, 200]);
    // A token that is bound to some key counts, but not for who shows it as Bearer.
    if (read.status === 401 && claims.cnf === undefined) expect(answer.json).toEqual({ active: false });
    expect([said, (await harness.post('revoke', { token, ...harness.other })).status < 500]).toEqual([said, true]);
  }
  // What was refused is written, and the audit goes on.
  expect((await harness.read(bearer(await harness.forge()))).status).toBe(200);
  expect((await sendRequest(harness.door.url, 'GET', '/readyz')).json).toMatchObject({ status: 'ok', audit: 'ok' });
});

test('F-36 an assertion with any odd claim proves no client: 401, not 500', async () => {
  const { client_id } = harness.client;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await harness.credentials.addClientKey(client_id, publicKey.export({ format: 'jwk' }));
  const odd = [
    ...[1e300, -1e300, 'x', {}, null].flatMap((value) => [{ exp: value }, { nbf: value }]),
    ...['nul\u0000', '\ud800', '', 7, {}].map((jti) => ({ jti })),
  ].filter((claims) => JSON.stringify(claims) !== JSON.stringify({ nbf: -1e300 }));
  const send = async (claims: object) => {
    const whole = { iss: client_id, sub: client_id, aud: origin, exp: nowSeconds() + 60, jti: 'odd', ...claims };
    return harness.post('token', {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await new SignJWT(whole as JWTPayload).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
    });
  };
  for (const claims of odd) {
    const { status, json } = await send(claims);
    expect([claims, status, json.error]).toEqual([claims, 401, 'invalid_client']);
  }
  await until(async () => (await send({})).status === 200);
});

test('a token whose nbf or exp is no time is invalid_token, not 500', async () => {
  for (const claims of [{ nbf: {} }, { nbf: 'x' }, { nbf: 1e308 }, { nbf: 1e13 }, { exp: -1e308 }, { exp: -1e13 }]) {
    const { status, json } = await harness.read(bearer(await harness.forge({ claims: claims as JWTPayload })));
    expect([status, json.error]).toEqual([401, 'invalid_token']);
  }
  expect((await harness.read(bearer(await harness.forge()))).status).toBe(200);
});
