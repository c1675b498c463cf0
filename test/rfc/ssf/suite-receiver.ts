/** A receiver that asks and checks what the modules of the OpenID conformance suite ask and check of a transmitter. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type Server } from 'node:https';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { expect } from 'vitest';
import { closeServer, listen } from '../../gateway/harness/public-door.ts';
import type { sendTls, TlsStand } from '../../gateway/tls/tls-harness.ts';
import { until } from '../../support/until.ts';
import { event, pollMethod, pushMethod, type SecurityEvent } from './ssf-harness.ts';

export type Delivery = 'poll' | 'push';
export type Reply = Awaited<ReturnType<typeof sendTls>> & { json: Record<string, unknown> };
type Push = { method: string; headers: IncomingHttpHeaders; body: string };

/** The types that every module requests, supported or not. */
export const requested = [
  'session-revoked',
  'credential-change',
  'device-compliance-change',
  'token-claims-change',
].map(event);
const delivered = ['session-revoked', 'credential-change', 'token-claims-change'].map(event);
const description = 'Stream for OIDF Conformance Test-Suite';

/** `stream`: as the answer to its creation shows it. `authorization`: of the pushes. */
type Module = {
  delivery: Delivery;
  stream: Record<string, unknown>;
  authorization: string | undefined;
  call(method: string, path: string, body?: unknown): Promise<Reply>;
  setStatus(status: string): Promise<void>;
  /** The state that its event must have. */
  verify(): Promise<string>;
  poll(body: object): Promise<{ sets: Record<string, string>; moreAvailable?: boolean }>;
  /** Checks every event that comes, by polls that acknowledge or by pushes, until `isDone` holds. */
  receiveUntil(isDone: (events: SecurityEvent[]) => boolean): Promise<SecurityEvent[]>;
  remove(): Promise<void>;
};

export type SuiteReceiver = {
  metadata: Record<string, string>;
  streams: string;
  pushes: Push[];
  /** A request with a token, or with none. */
  send(method: string, path: string, token?: string, body?: unknown): Promise<Reply>;
  tokenOf(scope?: string): Promise<string>;
  /** What every module does first: a token, the removal of a stream that an earlier one left, and a new stream. */
  begin(delivery: Delivery, more?: { withAuthorization?: boolean }): Promise<Module>;
  check(set: string): Promise<SecurityEvent>;
  close(): Promise<void>;
};

export const pathOf = (url: unknown): string => {
  const { pathname, search } = new URL(String(url));
  return pathname + search;
};

const startPushEndpoint = async (stand: TlsStand, pushes: Push[]): Promise<{ url: string; server: Server }> => {
  const server = createServer(stand.authority.issue(), (req, res) => {
    let body = '';
    req.setEncoding('utf8');
    req.on('data', (chunk: string) => {
      body += chunk;
    });
    req.on('end', () => {
      pushes.push({ method: String(req.method), headers: req.headers, body });
      res.writeHead(202).end();
    });
  });
  const url = (await listen(server)).replace('http:', 'https:');
  return { url: `${url}/test/a/orderpass/ssf-push`, server };
};

type Client = { client_id: string; client_secret: string };

export const openSuiteReceiver = async (stand: TlsStand, client: Client): Promise<SuiteReceiver> => {
  const pushes: Push[] = [];
  const endpoint = await startPushEndpoint(stand, pushes);
  const send: SuiteReceiver['send'] = async (method, path, token, body) => {
    const headers = {
      accept: 'application/json',
      ...(token === undefined ? undefined : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? undefined : { 'content-type': 'application/json' }),
    };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await stand.send(method, path, { headers, ...(body === undefined ? undefined : { body: text }) });
    return { ...reply, json: reply.text.startsWith('{') ? (JSON.parse(reply.text) as Record<string, unknown>) : {} };
  };
  const metadata = (await send('GET', '/.well-known/ssf-configuration')).json as Record<string, string>;
  const keys = createLocalJWKSet((await send('GET', pathOf(metadata.jwks_uri))).json as unknown as JSONWebKeySet);
  const tokenOf: SuiteReceiver['tokenOf'] = async (scope = 'ssf.manage ssf.read') => {
    const basic = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64');
    const body = new URLSearchParams({ grant_type: 'client_credentials', scope, client_id: client.client_id });
    const headers = { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' };
    const reply = await stand.send('POST', '/api/oauth/token', { headers, body: body.toString() });
    const issued = JSON.parse(reply.text) as Record<string, unknown>;
    expect([reply.status, issued.token_type, issued.scope]).toEqual([200, 'Bearer', scope]);
    expect(issued.expires_in).toBeLessThanOrEqual(3_600);
    return String(issued.access_token);
  };
  const check = (set: string): Promise<SecurityEvent> => checkSet(set, keys, stand.url, client.client_id);
  const streams = pathOf(metadata.configuration_endpoint);
  return {
    ...{ metadata, streams, pushes, send, tokenOf, check },
    begin: async (delivery, { withAuthorization = true } = {}) => {
      const token = await tokenOf();
      const call: Module['call'] = (method, path, body) => send(method, path, token, body);
      await cleanUp(call, streams);
      pushes.length = 0;
      const authorization = withAuthorization ? `Bearer push_token_${randomUUID()}` : undefined;
      const asked =
        delivery === 'poll'
          ? { method: pollMethod }
          : { method: pushMethod, endpoint_url: endpoint.url, authorization_header: authorization };
      const made = await call('POST', streams, { description, delivery: asked, events_requested: requested });
      expect(made.status).toBe(201);
      expect(made.json).toMatchObject({ iss: metadata.issuer, aud: client.client_id, description });
      expect(made.json.events_delivered).toEqual(delivered);
      expect(made.json.delivery).toMatchObject({ method: asked.method });
      return moduleOf({ delivery, stream: made.json, authorization, call, metadata, streams, pushes, check });
    },
    close: () => closeServer(endpoint.server),
  };
};

/** By the module itself, since a list answer is no object. */
const cleanUp = async (call: Module['call'], streams: string): Promise<void> => {
  const { status, text } = await call('GET', streams);
  expect(status).toBe(200);
  for (const { stream_id } of JSON.parse(text) as { stream_id: string }[])
    expect((await call('DELETE', `${streams}?stream_id=${stream_id}`)).status).toBe(204);
};

/** What the suite checks of every SET: signature, type, envelope and form of the subject. */
const checkSet = async (
  set: string,
  keys: ReturnType<typeof createLocalJWKSet>,
  issuer: string,
  audience: string,
): Promise<SecurityEvent> => {
  const { payload } = await jwtVerify(set, keys, { issuer, audience, algorithms: ['RS256'] });
  expect(decodeProtectedHeader(set).typ).toBe('secevent+jwt');
  const { sub, exp, iat, jti, txn, sub_id, events } = payload as SecurityEvent;
  expect([sub, exp, typeof jti, typeof txn]).toEqual([undefined, undefined, 'string', 'string']);
  expect(iat).toBeLessThanOrEqual(Date.now() / 1000);
  const names = Object.keys(events);
  expect(names).toHaveLength(1);
  if (!names[0]?.includes('/caep/')) return payload as SecurityEvent;
  expect(Object.keys(sub_id).sort()).toEqual(['format', 'iss', 'sub']);
  expect([sub_id.format, sub_id.iss]).toEqual(['iss_sub', issuer]);
  const { event_timestamp, initiating_entity, reason_admin, ...more } = events[names[0]] ?? {};
  expect(Number.isInteger(event_timestamp)).toBe(true);
  expect(['admin', 'user', 'policy', 'system']).toContain(initiating_entity);
  expect(reason_admin).toEqual({ en: expect.stringMatching(/./) });
  if (names[0] === event('credential-change')) {
    expect(['password', 'app', 'x509']).toContain(more.credential_type);
    expect(['create', 'revoke', 'update', 'delete']).toContain(more.change_type);
  }
  if (names[0] === event('token-claims-change')) expect(Object.keys(more.claims as object)).not.toEqual([]);
  return payload as SecurityEvent;
};

type ModuleDeps = Pick<Module, 'delivery' | 'stream' | 'authorization' | 'call'> &
  Pick<SuiteReceiver, 'metadata' | 'streams' | 'pushes' | 'check'>;

const moduleOf = ({ metadata, streams, pushes, check, ...known }: ModuleDeps): Module => {
  const { delivery, stream, authorization, call } = known;
  const { stream_id } = stream;
  const poll: Module['poll'] = async (body) => {
    const reply = await call('POST', pathOf((stream.delivery as { endpoint_url: string }).endpoint_url), body);
    expect([reply.status, reply.headers['content-type']]).toEqual([200, expect.stringMatching(/^application\/json/)]);
    return reply.json as Awaited<ReturnType<Module['poll']>>;
  };
  const readPushes = async (): Promise<SecurityEvent[]> => {
    const found: SecurityEvent[] = [];
    for (const { method, headers, body } of pushes) {
      expect([method, headers['content-type'], headers.accept]).toEqual([
        'POST',
        'application/secevent+jwt',
        'application/json',
      ]);
      expect(headers.authorization).toBe(authorization);
      found.push(await check(body));
    }
    return found;
  };
  const polled = new Map<string, SecurityEvent>();
  const pollOnce = async (): Promise<SecurityEvent[]> => {
    const body = { maxEvents: 10, returnImmediately: true, ack: [...polled.keys()] };
    for (const [jti, set] of Object.entries((await poll(body)).sets)) {
      const checked = await check(set);
      expect(checked.jti).toBe(jti);
      polled.set(jti, checked);
    }
    return [...polled.values()];
  };
  return {
    ...known,
    poll,
    setStatus: async (status) => {
      const reply = await call('POST', pathOf(metadata.status_endpoint), { stream_id, status, reason: 'of a test' });
      expect([reply.status, reply.json]).toEqual([200, { stream_id, status, reason: 'of a test' }]);
    },
    verify: async () => {
      const state = randomUUID();
      const reply = await call('POST', pathOf(metadata.verification_endpoint), { stream_id, state });
      expect(reply.status).toBe(204);
      return state;
    },
    receiveUntil: async (isDone) => {
      let found: SecurityEvent[] = [];
      await until(async () => {
        found = await (delivery === 'poll' ? pollOnce() : readPushes());
        return isDone(found);
      });
      return found;
    },
    remove: async () => {
      expect((await call('DELETE', `${streams}?stream_id=${stream_id}`)).status).toBe(204);
    },
  };
};
