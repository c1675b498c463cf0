/** One door with its credentials and its signing key in the test's hands, for the tests by RFC and the fuzzers. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import { createCredentials } from '#src/gateway/index.ts';
import { openSigningKeys, type SigningKey } from '#src/gateway/oauth/keys/signing-keys.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import {
  type Headers,
  masterKey,
  openDoor,
  origin,
  type PublicDoor,
  type Reply,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../gateway/harness/public-door.ts';

type Client = { client_id: string; client_secret: string };

type Forgery = {
  claims?: JWTPayload;
  header?: Partial<JWTHeaderParameters>;
  by?: KeyObject;
  without?: string;
};

export type RfcHarness = {
  door: PublicDoor;
  upstream: TestUpstream;
  credentials: ReturnType<typeof createCredentials>;
  /** Each holds every scope of the tenant rst_1. */
  client: Client;
  other: Client;
  /** May introspect. */
  service: Client;
  key: SigningKey;
  /** A client that no other test fails as. */
  createClient(change?: { scopes?: string[]; tenants?: string[] }): Promise<Client>;
  /** POST of a form, below /api/oauth/. */
  post(endpoint: string, form: Record<string, string> | [string, string][] | string, headers?: Headers): Promise<Reply>;
  tokenOf(client: Client, more?: Record<string, string>): Promise<string>;
  /** A read operation. */
  read(headers?: Headers | string[], target?: string): Promise<Reply>;
  /** A token as the gateway would sign it, but for what is changed. */
  forge(change?: Forgery): Promise<string>;
  close(): Promise<void>;
};

export const readTarget = '/api/orders/list';
export const formType = 'application/x-www-form-urlencoded';

export const basic = (id: string, secret: string, scheme = 'Basic'): Headers => ({
  authorization: `${scheme} ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

type PerRoute = (route: Record<string, unknown>) => Record<string, unknown>;

/** `perRoute`: what becomes of each route. */
export const openRfcHarness = async (
  settings: Record<string, unknown> = {},
  perRoute: PerRoute = (route) => route,
): Promise<RfcHarness> => {
  const upstream = await startUpstream();
  const door = await openDoor(upstream.url, { settings: { rate_failures_max: 10, ...settings }, perRoute });
  const { db } = door.database;
  const box = createSecretBox(masterKey);
  const credentials = createCredentials({ db, box, clock: systemClock });
  const createClient: RfcHarness['createClient'] = async (change = {}) => {
    const { clientId: client_id, secret: client_secret } = await credentials.createClient({
      name: 'test',
      tenants: ['rst_1'],
      ...change,
    });
    return { client_id, client_secret };
  };
  const made = await credentials.createClient({ name: 'service', tenants: ['rst_1'], mayIntrospect: true });
  const client = await createClient();
  const signing = { token_lifetime: 3_600, signing_key_days: 90 };
  const key = (await openSigningKeys({ db, box, clock: systemClock, settings: signing })).current();
  const post: RfcHarness['post'] = (endpoint, form, headers = {}) =>
    sendRequest(door.url, 'POST', `/api/oauth/${endpoint}`, {
      headers: { 'content-type': formType, ...headers },
      body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
    });
  return {
    door,
    upstream,
    credentials,
    client,
    other: await createClient(),
    service: { client_id: made.clientId, client_secret: made.secret },
    key,
    createClient,
    post,
    tokenOf: async (of, more = {}) => {
      const reply = await post('token', { grant_type: 'client_credentials', ...of, ...more });
      if (reply.status !== 200) throw new Error(`no token: ${reply.text}`);
      return String(reply.json.access_token);
    },
    read: (headers = {}, target = readTarget) => sendRequest(door.url, 'GET', target, { headers }),
    forge: ({ claims = {}, header = {}, by = key.privateKey, without } = {}) => {
      const payload: JWTPayload = {
        iss: origin,
        aud: origin,
        sub: client.client_id,
        client_id: client.client_id,
        scope: 'read:orders',
        iat: nowSeconds(),
        exp: nowSeconds() + 60,
        jti: 'forged',
        ...claims,
      };
      if (without !== undefined) delete payload[without];
      return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.kid, ...header }).sign(by);
    },
    close: async () => {
      await door.close();
      await upstream.close();
    },
  };
};

export const strangersKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
