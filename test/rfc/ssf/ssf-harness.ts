/** A transmitter with a receiver's requests: SSF 1.0 with the messages of RFC 8417, 8935 and 8936. */
import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { type Reply, sendRequest } from '../../gateway/harness/public-door.ts';
import { bearer, openRfcHarness, type RfcHarness } from '../rfc-harness.ts';

export const event = (name: string): string => `https://schemas.openid.net/secevent/caep/event-type/${name}`;
export const verificationType = 'https://schemas.openid.net/secevent/ssf/event-type/verification';
export const pushMethod = 'urn:ietf:rfc:8935';
export const pollMethod = 'urn:ietf:rfc:8936';

export type SecurityEvent = JWTPayload & {
  txn: string;
  sub_id: Record<string, unknown>;
  events: Record<string, Record<string, unknown>>;
};

export type Receiver = {
  clientId: string;
  secret: string;
  call(method: string, path: string, body?: unknown): Promise<Reply>;
  /** The id of a new stream. */
  createStream(body?: object): Promise<string>;
  /** Events that wait, verified, by their `jti`. */
  poll(streamId: string, more?: object): Promise<Map<string, SecurityEvent>>;
  verify(set: string): Promise<SecurityEvent>;
};

export type SsfHarness = RfcHarness & {
  metadata: Record<string, string>;
  jwks: JSONWebKeySet;
  pathOf(name: string): string;
  receiver(scope?: string): Promise<Receiver>;
};

export const openSsfHarness = async (): Promise<SsfHarness> => {
  const harness = await openRfcHarness({ signals: 'on' });
  const get = async (path: string) => (await sendRequest(harness.door.url, 'GET', path)).json;
  const metadata: Record<string, string> = await get('/.well-known/ssf-configuration');
  const pathOf = (name: string): string => new URL(String(metadata[name])).pathname;
  const jwks: JSONWebKeySet = await get(pathOf('jwks_uri'));
  const keys = createLocalJWKSet(jwks);
  const receiver = async (scope = 'ssf.manage ssf.read'): Promise<Receiver> => {
    const made = await harness.createClient({ scopes: [...scope.split(' '), 'read:orders'] });
    const token = await harness.tokenOf(made, { scope });
    const call: Receiver['call'] = (method, path, body) =>
      sendRequest(harness.door.url, method, path, {
        headers: { ...bearer(token), ...(body === undefined ? undefined : { 'content-type': 'application/json' }) },
        ...(body === undefined ? undefined : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
    const verify: Receiver['verify'] = async (set) => {
      const checks = { issuer: metadata.issuer ?? '', audience: made.client_id, typ: 'secevent+jwt' };
      return (await jwtVerify(set, keys, { ...checks, algorithms: ['RS256'] })).payload as SecurityEvent;
    };
    return {
      clientId: made.client_id,
      secret: made.client_secret,
      call,
      verify,
      createStream: async (body = {}) => {
        const { status, json, text } = await call('POST', pathOf('configuration_endpoint'), body);
        if (status !== 201) throw new Error(`no stream: ${text}`);
        return String(json.stream_id);
      },
      poll: async (streamId, more = { returnImmediately: true }) => {
        const { status, json, text } = await call('POST', `/api/oauth/signals/poll?stream_id=${streamId}`, more);
        if (status !== 200) throw new Error(`no answer to a poll: ${text}`);
        const found = Object.entries(json.sets as Record<string, string>);
        return new Map(await Promise.all(found.map(async ([jti, set]) => [jti, await verify(set)] as const)));
      },
    };
  };
  return { ...harness, metadata, jwks, pathOf, receiver };
};
