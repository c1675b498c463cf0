/** What src/gateway/oauth/provider leans on in oidc-provider, beyond its documentation. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import Provider, { type ClientMetadata, ExternalSigningKey } from 'oidc-provider';
import { expect, test } from 'vitest';

const changed = (what: string): string => `oidc-provider changed what src/gateway/oauth/provider leans on: ${what}`;

const origin = 'https://gateway.example';
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signature = new Uint8Array(64).fill(7);

/** Notes what it is given, and answers a signature that no other code can make. */
const createProvider = () => {
  const signed: string[] = [];
  const stored: string[] = [];
  class NotingKey extends ExternalSigningKey {
    override get kid(): string {
      return 'parity';
    }
    override get alg(): string {
      return 'ES256';
    }
    override keyObject(): KeyObject {
      return publicKey;
    }
    override sign(data: Uint8Array): Uint8Array {
      signed.push(Buffer.from(data).toString());
      return signature;
    }
  }
  const note = (method: string) => async () => void stored.push(method);
  const provider = new Provider(origin, {
    adapter: () => ({
      upsert: note('upsert'),
      find: note('find'),
      findByUserCode: note('findByUserCode'),
      findByUid: note('findByUid'),
      consume: note('consume'),
      destroy: note('destroy'),
      revokeByGrantId: note('revokeByGrantId'),
    }),
    jwks: { keys: [new NotingKey()] },
    clientAuthMethods: ['client_secret_basic'],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    responseTypes: [],
    scopes: [],
    ttl: { ClientCredentials: 321 },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: false },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
    },
  });
  return { provider, signed, stored };
};

type ProviderClient = InstanceType<Provider['Client']>;

const clientOf = (provider: Provider): ProviderClient => {
  const Client = provider.Client as unknown as new (metadata: ClientMetadata) => ProviderClient;
  return new Client({
    client_id: 'parity-client',
    client_secret: 'never compared',
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  });
};

const resourceServer = {
  scope: 'things:read',
  scopes: new Set(['things:read']),
  audience: origin,
  accessTokenFormat: 'jwt' as const,
  jwt: { sign: { alg: 'ES256' as const, kid: 'parity' } },
  identifier: () => origin,
};

const decoded = (part: string | undefined): unknown => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());

test('a client is made from its metadata alone, within the call', () => {
  const { provider, stored } = createProvider();
  let client: unknown;
  expect(() => {
    client = clientOf(provider);
  }, changed('new provider.Client(metadata)')).not.toThrow();
  expect(client, changed('clientId of a client')).toMatchObject({ clientId: 'parity-client' });
  expect(stored, changed('a client is made without the adapter')).toEqual([]);
});

test('the model makes a JWT for its resource server, signed by the method of an external key', async () => {
  const { provider, signed, stored } = createProvider();
  const token = new provider.ClientCredentials({ client: clientOf(provider), scope: 'things:read', resourceServer });
  token.jkt = 'thumbprint';
  const jwt = await token.save().catch(String);
  expect(jwt, changed('save of a token answers the JWT')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  const [header, payload, signatureText] = jwt.split('.');
  expect(token.expiration, changed('expiration is the lifetime of the configuration')).toBe(321);
  expect(decoded(header), changed('the header of the token')).toEqual({ typ: 'at+jwt', alg: 'ES256', kid: 'parity' });
  const claims = decoded(payload) as { iat: number };
  expect(claims, changed('the claims of the token')).toEqual({
    jti: expect.stringMatching(/^[\w-]{21,}$/),
    sub: 'parity-client',
    client_id: 'parity-client',
    iss: origin,
    aud: origin,
    scope: 'things:read',
    cnf: { jkt: 'thumbprint' },
    iat: expect.any(Number),
    exp: claims.iat + 321,
  });
  expect(signed, changed('ExternalSigningKey.sign gets the text to sign, once')).toEqual([`${header}.${payload}`]);
  expect(signatureText, changed('the signature is that of ExternalSigningKey.sign')).toBe(
    Buffer.from(signature).toString('base64url'),
  );
  expect(stored, changed('a JWT is not stored')).toEqual([]);
});

test('members of the model that narrow a token are written as they are set', async () => {
  const { provider } = createProvider();
  const token = new provider.ClientCredentials({ client: clientOf(provider), scope: 'things:read', resourceServer });
  const iat = Math.floor(Date.now() / 1000) - 60;
  const exp = iat + 77;
  Object.assign(token, { aud: [origin], rar: [{ type: 'parity' }], iat, exp });
  const [, payload] = (await token.save().catch(String)).split('.');
  expect(decoded(payload), changed('aud, rar, iat and exp of a token')).toMatchObject({
    aud: [origin],
    authorization_details: [{ type: 'parity' }],
    iat,
    exp,
  });
});
