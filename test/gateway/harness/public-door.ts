/** Opens the public door in front of upstreams that a test makes itself, and sends plain requests to it. */

import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from 'node:http';
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import {
  attachDoor,
  createCredentials,
  createGateway,
  gatewayServerOptions,
  gatewaySettings,
} from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import { supervise } from '#src/platform/supervisor.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import { boxOfEarlierStore } from '../../cli/store/earlier-store.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';

export const origin = 'https://api.example';
export const metadata = `${origin}/.well-known/oauth-protected-resource`;
export const plainChallenge = `Bearer realm="orderpass", resource_metadata="${metadata}"`;
export const masterKey = Buffer.alloc(32, 7);

export type Headers = Record<string, string>;

export type PublicDoor = {
  url: string;
  port: number;
  /** Each is the set of headers of one caller who holds every scope that its kind can hold. */
  asKey: Headers;
  asClient: Headers;
  asBearer: Headers;
  asExpired: Headers;
  bearerWith(scopes: readonly string[]): Promise<Headers>;
  /** `tenants`: new ones, made here. Default: rst_1. */
  clientWith(scopes: readonly string[], tenants?: readonly string[]): Promise<Headers>;
  revokeKey(): Promise<void>;
  /** For commands on the same store. */
  database: TestDatabase;
  masterKey: string;
  close(): Promise<void>;
};

/** For tests of everything but limits, which send many requests. */
export const unlimited = { rate_minute_units: 1_000_000, rate_burst_units: 1_000_000, rate_failures_max: 1_000_000 };

type RouteFile = { scopes: { name: string }[]; apiKeyScopes: string[]; routes: Record<string, unknown>[] };

export const routeFile = (): RouteFile =>
  JSON.parse(readFileSync(new URL('../../../config/routes.json', import.meta.url), 'utf8')) as RouteFile;

/** `upstream`: address of what stands behind every route; undefined: `table` names it. `routes`: members that every route gets, such as a time limit. */
export const openDoor = async (
  upstream: string | undefined,
  change: {
    routes?: Record<string, unknown>;
    /** What becomes of each route; `routes` first. */
    perRoute?: (route: Record<string, unknown>) => Record<string, unknown>;
    /** Further routes, which get no other member. */
    moreRoutes?: Record<string, unknown>[];
    /** Members of the route table beside its routes. */
    table?: Record<string, unknown>;
    settings?: Record<string, unknown>;
    /** Default: silent. */
    log?: Logger;
    metrics?: Metrics;
    /** After so long without activity a connection is looked at (src/gateway/edge/node-http/end-unread.ts). Default: two minutes. */
    inactiveMs?: number;
    /** Default: none. */
    pages?: Parameters<typeof createGateway>[0]['pages'];
  } = {},
): Promise<PublicDoor> => {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'orderpass-routes-'));
  const file = routeFile();
  const routes_file = join(folder, 'routes.json');
  writeFileSync(
    routes_file,
    JSON.stringify({
      ...file,
      ...change.table,
      routes: [
        ...file.routes.map((route) => (change.perRoute ?? ((same) => same))({ ...route, ...change.routes })),
        ...(change.moreRoutes ?? []),
      ],
    }),
  );
  const settings = gatewaySettings.parse({ routes_file, ...unlimited, ...change.settings });
  const box = await boxOfEarlierStore(database.db, masterKey);
  const log = change.log ?? pino({ level: process.env.TEST_LOG ?? 'silent' });
  const { db, pool } = database;
  const gateway = await createGateway({
    settings,
    origin,
    db,
    pool,
    box,
    clock: systemClock,
    log,
    upstreams: upstream === undefined ? {} : { ordering: upstream },
    ...(change.metrics && { metrics: change.metrics }),
    ...(change.pages && { pages: change.pages }),
  });
  const ended = new AbortController();
  const services = supervise(gateway.services, ended.signal, log);
  const server = createServer({ ...gatewayServerOptions, shouldUpgradeCallback: gateway.wantsUpgrade });
  attachDoor(server, () => gateway);
  if (change.inactiveMs !== undefined && server.timeout > 0) server.timeout = change.inactiveMs;
  const url = await listen(server);
  const credentials = createCredentials({ db, box, clock: systemClock });
  await credentials.createTenant('rst_1');
  const clientWith = async (scopes?: readonly string[], tenants?: readonly string[]) => {
    for (const tenant of tenants ?? []) await credentials.createTenant(tenant);
    const made = await credentials.createClient({
      name: 'test',
      tenants: tenants ?? ['rst_1'],
      ...(scopes === undefined ? undefined : { scopes }),
    });
    return { 'x-client-id': made.clientId, 'x-client-secret': made.secret };
  };
  const asClient = await clientWith();
  const tokenFor = async (scopes?: readonly string[]): Promise<Headers> => {
    const answer = await sendRequest(url, 'POST', '/api/oauth/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: asClient['x-client-id'],
        client_secret: asClient['x-client-secret'],
        ...(scopes === undefined ? undefined : { scope: scopes.join(' ') }),
      }).toString(),
    });
    return { authorization: `Bearer ${String(answer.json.access_token)}` };
  };
  const { value: api_key, keyId: key_id } = await credentials.createApiKey({ tenant: 'rst_1', name: 'test' });
  return {
    url,
    port: Number(new URL(url).port),
    asKey: { 'x-api-key': api_key },
    asClient,
    asBearer: await tokenFor(),
    asExpired: { authorization: 'Bearer not.a.token' },
    bearerWith: tokenFor,
    clientWith,
    database,
    masterKey: masterKey.toString('base64'),
    revokeKey: () => credentials.revokeApiKey(key_id),
    close: async () => {
      // Upgraded connections are the gateway's; the server would wait for them.
      const closing = closeServer(server);
      await gateway.close();
      await closing;
      ended.abort();
      await services;
      await rm(folder, { recursive: true, force: true });
      await database.drop();
    },
  };
};

export const listen = async (server: Server | ReturnType<typeof createNetServer>): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

export const closeServer = async (server: Server): Promise<void> => {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
};

type SeenRequest = { method: string; target: string; headers: IncomingHttpHeaders };

export type TestUpstream = {
  url: string;
  seen: SeenRequest[];
  /** What it does with the next requests. */
  answer: RequestListener;
  close(): Promise<void>;
};

/** An upstream of HTTP that answers `{"success":true}` until a test sets another answer. */
export const startUpstream = async (): Promise<TestUpstream> => {
  const seen: SeenRequest[] = [];
  // The assertion repeats the target, so a service behind the gateway takes longer heads than the gateway itself.
  const server = createServer({ maxHeaderSize: 64 * 1024 }, (req, res) => {
    seen.push({ method: req.method ?? '', target: req.url ?? '', headers: req.headers });
    upstream.answer(req, res);
  });
  const upstream: TestUpstream = {
    url: await listen(server),
    seen,
    answer: (req, res) => {
      req.resume();
      res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
    },
    close: () => closeServer(server),
  };
  return upstream;
};

export type RawUpstream = {
  url: string;
  /** Called with each piece of a request. */
  onData: (socket: Socket, text: string) => void;
  connections(): number;
  close(): Promise<void>;
};

/** An upstream that writes whatever bytes the test wants. */
export const startRawUpstream = async (onData: RawUpstream['onData']): Promise<RawUpstream> => {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createNetServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => upstream.onData(socket, chunk.toString('latin1')));
  });
  // A test may close it and listen there itself.
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const upstream: RawUpstream = {
    url: `http://127.0.0.1:${port}`,
    onData,
    connections: () => connections,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return upstream;
};

// biome-ignore lint/suspicious/noExplicitAny: answers are read member by member, and a wrong shape fails the assertion.
type Json = any;

export type Reply = { status: number; headers: IncomingHttpHeaders; body: Buffer; text: string; json: Json };

export type RequestOptions = {
  headers?: Headers | string[];
  body?: string | Buffer;
  /** Address of loopback that the request comes from. */
  localAddress?: string;
};

/** One request with exactly this target; rejects when the answer is cut. */
export const sendRequest = (
  url: string,
  method: string,
  target: string,
  { headers = {}, body, localAddress }: RequestOptions = {},
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const options = {
      hostname,
      port,
      method,
      path: target,
      headers,
      agent: false,
      ...(localAddress && { localAddress }),
    };
    const outgoing = httpRequest(options, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        const whole = Buffer.concat(chunks);
        const text = whole.toString();
        const isJson = /json/.test(res.headers['content-type'] ?? '') && text !== '';
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          body: whole,
          text,
          json: isJson ? JSON.parse(text) : undefined,
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });

/**
 * Bytes in, bytes out: everything that the server says until it closes the connection, or until `enough` is true. Rejects when
 * the connection ends before `enough` is true.
 */
export const sendRaw = (port: number, text: string, enough?: (answer: string) => boolean): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (enough?.(answer) === true) socket.destroy();
    });
    socket.on('error', (error) => (answer === '' ? reject(error) : undefined));
    socket.on('close', () => {
      if (enough === undefined || enough(answer)) resolve(answer);
      else reject(new Error(`the connection ended before the answer was complete:\n${answer}`));
    });
  });
