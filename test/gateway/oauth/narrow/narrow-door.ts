/** A gateway with services of several audiences and two cells, a client of two restaurants, and requests with its tokens. */
import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { createCredentials } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import {
  closeServer,
  type Headers,
  listen,
  masterKey,
  openDoor,
  type PublicDoor,
  type Reply,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../../harness/public-door.ts';

export const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
export const reports = 'https://reports.example/api';
export const menus = 'urn:example:menus';
export const north = 'https://north.example';

/** Pairs where a name is given several times. */
type Fields = Record<string, string> | [string, string][];

type Client = { client_id: string; client_secret: string };

export type NarrowDoor = {
  door: PublicDoor;
  upstream: TestUpstream;
  credentials: ReturnType<typeof createCredentials>;
  /** Of the restaurants rst_1 and rst_2, with every scope. */
  client: Client;
  other: Client;
  /** May introspect. */
  service: Client;
  post(endpoint: string, fields: Fields, headers?: Headers): Promise<Reply>;
  /** Asks for a token of `client`. */
  ask(fields?: Fields, headers?: Headers): Promise<Reply>;
  tokenOf(details?: unknown, fields?: Record<string, string>): Promise<string>;
  /** Exchanges a token of `client`. */
  exchange(subject: string, fields?: Record<string, string>, headers?: Headers): Promise<Reply>;
  call(token: string, method: string, target: string, headers?: Headers): Promise<Reply>;
  /** The restaurants that the service learned with its last request. */
  tenantsSeen(): string[];
  close(): Promise<void>;
};

export const detail = (members: Record<string, unknown>): object => ({ type: 'orderpass_access', ...members });

const route = (id: string, path: string, upstream: string, members: Record<string, unknown> = {}) => ({
  ...{ id, path, upstream, scopes: ['read:orders'], body: 'any' },
  ...members,
});

const moreRoutes = [
  route('reports.day', '/reports/{shop}', 'reports', { tenant: '{shop}', method: ['GET', 'POST'] }),
  route('reports.both', '/both', 'reports', { method: ['GET', 'HEAD'] }),
  route('menus.all', '/menus/*', 'menus'),
  route('shops', '/shops', 'shops', { tenant: '?shop' }),
  route('live', '/live', 'live', { upgrade: true }),
];

const asPairs = (fields: Fields): [string, string][] => (Array.isArray(fields) ? fields : Object.entries(fields));

/** `settings`: beside `/auth/check`, which is on. */
export const openNarrowDoor = async (
  settings: Record<string, unknown> = {},
  pages?: NonNullable<Parameters<typeof openDoor>[1]>['pages'],
): Promise<NarrowDoor> => {
  const upstream = await startUpstream();
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  const live = await listen(server);
  const service = (audience: string, address = upstream.url) => ({
    addresses: [address],
    identity: { kind: 'jwt', audience },
  });
  const upstreams = {
    reports: service(reports),
    menus: service(menus),
    shops: { cells: { default: 'south', north: 'north' } },
    south: service('https://south.example'),
    north: service(north),
    live: { addresses: [live] },
  };
  const door = await openDoor(upstream.url, {
    settings: { auth_check: 'on', ...settings },
    table: { upstreams },
    moreRoutes,
    ...(pages && { pages }),
  });
  const credentials = createCredentials({
    db: door.database.db,
    box: createSecretBox(masterKey),
    clock: systemClock,
  });
  for (const tenant of ['rst_2', 'rst_3']) await credentials.createTenant(tenant);
  await credentials.setTenantCell('rst_2', 'north');
  const createClient = async (tenants: string[], more = {}): Promise<Client> => {
    const made = await credentials.createClient({ name: 'narrow', tenants, ...more });
    return { client_id: made.clientId, client_secret: made.secret };
  };
  const client = await createClient(['rst_1', 'rst_2']);
  const post: NarrowDoor['post'] = (endpoint, fields, headers = {}) =>
    sendRequest(door.url, 'POST', `/api/oauth/${endpoint}`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(asPairs(fields)).toString(),
    });
  const ask: NarrowDoor['ask'] = (fields = {}, headers = {}) =>
    post('token', [['grant_type', 'client_credentials'], ...Object.entries(client), ...asPairs(fields)], headers);
  return {
    door,
    upstream,
    credentials,
    client,
    other: await createClient(['rst_1']),
    service: await createClient(['rst_1'], { mayIntrospect: true }),
    post,
    ask,
    tokenOf: async (details, fields = {}) => {
      const wish = details === undefined ? {} : { authorization_details: JSON.stringify(details) };
      const reply = await ask({ ...wish, ...fields });
      if (reply.status !== 200) throw new Error(`no token: ${reply.text}`);
      return String(reply.json.access_token);
    },
    exchange: (subject_token, fields = {}, headers = {}) =>
      post(
        'token',
        { grant_type: exchangeGrant, ...client, subject_token, subject_token_type: accessTokenType, ...fields },
        headers,
      ),
    call: (token, method, target, headers = {}) =>
      sendRequest(door.url, method, target, { headers: { authorization: `Bearer ${token}`, ...headers } }),
    tenantsSeen: () => tenantsIn(upstream.seen.at(-1)?.headers ?? {}),
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      await door.close();
      await upstream.close();
      await closeServer(server);
    },
  };
};

/** Of either form of the identity. */
const tenantsIn = (headers: Readonly<Record<string, string | string[] | undefined>>): string[] => {
  const token = String(headers['x-orderpass-assertion'] ?? headers['x-orderpass-token']);
  const { tenants } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    tenants: string[];
  };
  return tenants;
};
