/** Client libraries of others, by private_key_jwt and DPoP, at a gateway under the profile. */
import { exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { read } from '../../gateway/harness/gateway-harness.ts';
import { type Fapi2Harness, openFapi2Harness } from './fapi2-harness.ts';

let harness: Fapi2Harness;

beforeAll(async () => {
  harness = await openFapi2Harness({ profile: 'fapi2', dpop: 'nonce' });
});

afterAll(() => harness?.close());

type Algorithm = 'ES256' | 'PS256' | 'Ed25519';

/** A client whose only key is made by the library. */
const newCaller = async (
  alg: Algorithm,
): Promise<{ client_id: string; keys: Awaited<ReturnType<typeof oauth.generateKeyPair>> }> => {
  const { client_id } = await harness.createClient([await harness.createTenant()], ['read:orders']);
  const keys = await oauth.generateKeyPair(alg, { extractable: true });
  await harness.credentials.addClientKey(client_id, await exportJWK(keys.publicKey));
  return { client_id, keys };
};

const insecure = { [oauth.allowInsecureRequests]: true };

/** RFC 9449 section 8: the first request learns the nonce. */
const again = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (oauth.isDPoPNonceError(error)) return work();
    throw error;
  }
};

test.each<Algorithm>(['ES256', 'PS256', 'Ed25519'])(
  'A-383 oauth4webapi with keys for %s gets and uses a bound token',
  async (alg) => {
    const { client_id, keys } = await newCaller(alg);
    const as = await oauth.processDiscoveryResponse(
      new URL(harness.url),
      await oauth.discoveryRequest(new URL(harness.url), { ...insecure, algorithm: 'oauth2' }),
    );
    const self: oauth.Client = { client_id };
    const DPoP = oauth.DPoP(self, await oauth.generateKeyPair(alg));
    const authenticate = oauth.PrivateKeyJwt(keys.privateKey);
    const request = () => oauth.clientCredentialsGrantRequest(as, self, authenticate, {}, { ...insecure, DPoP });
    const got = await again(async () => oauth.processClientCredentialsResponse(as, self, await request()));
    expect([got.token_type, got.scope]).toEqual(['dpop', 'read:orders']);
    const url = new URL(read, harness.url);
    const use = () =>
      oauth.protectedResourceRequest(got.access_token, 'GET', url, undefined, null, { ...insecure, DPoP });
    expect((await again(use)).status).toBe(200);
    const unbound = oauth.clientCredentialsGrantRequest(as, self, authenticate, {}, insecure);
    await expect(
      unbound.then((response) => oauth.processClientCredentialsResponse(as, self, response)),
    ).rejects.toMatchObject({
      error: 'invalid_dpop_proof',
    });
  },
);

test('A-383 openid-client discovers the server, gets a bound token and uses it', async () => {
  const { client_id, keys } = await newCaller('PS256');
  const config = await openid.discovery(
    new URL(harness.url),
    client_id,
    undefined,
    openid.PrivateKeyJwt(keys.privateKey),
    { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
  );
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'));
  const got = await openid.clientCredentialsGrant(config, { scope: 'read:orders' }, { DPoP });
  expect(got.token_type).toBe('dpop');
  const url = new URL(read, harness.url);
  const answer = await openid.fetchProtectedResource(config, got.access_token, url, 'GET', undefined, undefined, {
    DPoP,
  });
  expect(answer.status).toBe(200);
});
