/** A gateway under the FAPI 2.0 Security Profile, and a client that keeps to it, or breaks one rule at a time. */
import { type KeyObject, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { type Harness, openHarness, postToken, read } from '../../gateway/harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../../gateway/harness/public-door.ts';
import { makeProof, newProofKey, type ProofChange, type ProofKey } from '../../support/proofs.ts';

export const grant = { grant_type: 'client_credentials' };
export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

type AssertionChange = {
  /** A claim that is undefined is left out. */
  claims?: Record<string, unknown>;
  signedBy?: { alg: string; privateKey: KeyObject };
};

type Change = { assertion?: AssertionChange; proof?: ProofChange | 'none'; form?: Record<string, string> };

export type Fapi2Client = {
  id: string;
  secret: string;
  /** Key of its assertions and of its proofs. */
  key: ProofKey;
  assert(change?: AssertionChange): Promise<string>;
  /** A token request. */
  ask(change?: Change): Promise<Reply>;
  /** Throws when none is issued. */
  token(): Promise<string>;
  /** A read operation with a bound token. */
  call(token: string, proof?: ProofChange, headers?: Headers): Promise<Reply>;
};

export type Fapi2Harness = Harness & {
  /** With the key of the algorithm. `at`: another gateway of the harness. */
  newClient(options?: { alg?: string; at?: string; scopes?: string[] }): Promise<Fapi2Client>;
};

export const openFapi2Harness = async (
  settings: Record<string, unknown> = { profile: 'fapi2' },
): Promise<Fapi2Harness> => {
  const harness = await openHarness({ settings });
  const tenant = await harness.createTenant();
  return {
    ...harness,
    newClient: async ({ alg = 'ES256', at = harness.url, scopes } = {}) => {
      const { client_id, client_secret } = await harness.createClient([tenant], scopes);
      const key = newProofKey(alg);
      await harness.credentials.addClientKey(client_id, key.jwk);
      return clientOf(harness, at, client_id, client_secret, key);
    },
  };
};

const clientOf = (harness: Harness, at: string, id: string, secret: string, key: ProofKey): Fapi2Client => {
  const now = (): Date => harness.clock.now();
  const assert: Fapi2Client['assert'] = ({ claims = {}, signedBy = key } = {}) => {
    const seconds = Math.floor(now().getTime() / 1000);
    return new SignJWT({
      iss: id,
      sub: id,
      aud: harness.url,
      jti: randomUUID(),
      iat: seconds,
      exp: seconds + 60,
      ...claims,
    })
      .setProtectedHeader({ alg: signedBy.alg })
      .sign(signedBy.privateKey);
  };
  const ask: Fapi2Client['ask'] = async ({ assertion, proof, form = {} } = {}) => {
    const fields = {
      ...grant,
      client_assertion_type: assertionType,
      client_assertion: await assert(assertion),
      ...form,
    };
    const about = { method: 'POST', url: `${harness.url}/api/oauth/token`, now: now() };
    return postToken(at, fields, proof === 'none' ? {} : { dpop: await makeProof(key, about, proof) });
  };
  return {
    ...{ id, secret, key, assert, ask },
    token: async () => {
      const reply = await ask();
      if (reply.status !== 200) throw new Error(`no token: ${reply.text}`);
      return String(reply.json.access_token);
    },
    call: async (token, proof, headers = {}) => {
      const dpop = await makeProof(key, { method: 'GET', url: harness.url + read, now: now(), token }, proof);
      return sendRequest(at, 'GET', read, { headers: { authorization: `DPoP ${token}`, dpop, ...headers } });
    },
  };
};
