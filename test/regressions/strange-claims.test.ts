/** Claims of types and sizes that nobody expects were answered with 500 once. */
import { generateKeyPairSync } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin } from '../gateway/public-door.ts';
import { bearer, nowSeconds, openRfcStand, type RfcStand } from '../rfc/rfc-stand.ts';

let stand: RfcStand;

beforeAll(async () => {
  stand = await openRfcStand({ rate_failures_max: 1_000 });
});

afterAll(() => stand.close());

test('an assertion whose subject is no text names no client: 401, not 500, though anybody can send it', async () => {
  const { client_id } = stand.client;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await stand.credentials.addClientKey(client_id, publicKey.export({ format: 'jwk' }));
  let count = 0;
  const send = async (sub: unknown) => {
    count += 1;
    const claims = { iss: client_id, sub, aud: origin, exp: nowSeconds() + 60, jti: `a${count}` };
    return stand.post('token', {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await new SignJWT(claims as JWTPayload).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
    });
  };
  for (const sub of [null, 1, true, {}, [], [client_id], { toString: client_id }]) {
    const { status, json } = await send(sub);
    expect([status, json.error]).toEqual([401, 'invalid_client']);
  }
  expect((await send(client_id)).status).toBe(200);
});

test('a token whose nbf or exp is no time is invalid_token, not 500', async () => {
  for (const claims of [{ nbf: {} }, { nbf: 'x' }, { nbf: 1e308 }, { nbf: 1e13 }, { exp: -1e308 }, { exp: -1e13 }]) {
    const { status, json } = await stand.read(bearer(await stand.forge({ claims: claims as JWTPayload })));
    expect([status, json.error]).toEqual([401, 'invalid_token']);
  }
  expect((await stand.read(bearer(await stand.forge()))).status).toBe(200);
});
