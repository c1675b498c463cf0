/**
 * One contender of the bench: says where it listens and what to send, and lives until its stdin ends. The line
 * `{"profile":"start"}` starts the profiler of V8; `{"profile":FILE}` ends it and writes the profile into that file.
 */
import { createSign, generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import fastifyHttpProxy from '@fastify/http-proxy';
import fastifyJwt from '@fastify/jwt';
import fastify from 'fastify';
import { Pool } from 'undici';
import { createBenchTlsServer } from './tls-server.ts';

const path = '/api/orders/list';
/** Open event streams need one each (streams.ts); otherwise this is the default of the program. */
const connectionsMax = Number(process.argv[5] ?? 256);

/** A request as a browser-like client of an API would send it. */
const plainHeaders = { accept: 'application/json', 'user-agent': 'bench/1.0' };

type Target = {
  url: string;
  path: string;
  headers: Record<string, string>;
  authorizations?: string[];
  method?: 'POST';
  body?: string;
};
/** `others`: more ways in to the same process, by name. */
type Ready = Target & { others?: Record<string, Target> };
type Start = (upstreamUrl: string, storeUrl: string) => Promise<Ready & { close: () => Promise<void> }>;

const listen = async (server: Server, scheme = 'http'): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'host']);

type Fields = { request: readonly string[]; answer: readonly string[] };

/** As many fields as the gateway adds, of the same length; the token of the caller takes the place of its credential. */
const fieldsOfGateway: Fields = {
  request: [
    ...['x-request-id', `req_${'0'.repeat(24)}`, 'x-forwarded-for', '127.0.0.1', 'x-forwarded-proto', 'http'],
    ...['x-forwarded-host', '127.0.0.1:8080'],
  ],
  answer: [
    ...['x-request-id', `req_${'0'.repeat(24)}`, 'x-api-version', '1.0.0', 'x-content-type-options', 'nosniff'],
    ...['ratelimit-policy', `"minute";q=${'0'.repeat(150)}`, 'ratelimit', `"minute";r=${'0'.repeat(130)}`],
    ...['cache-control', 'no-store'],
  ],
};

/** The least that a proxy has to do: headers and body both ways, backpressure, a client that goes away. */
const startBare = async (upstreamUrl: string, added: Fields): ReturnType<Start> => {
  const pool = new Pool(upstreamUrl, { connections: connectionsMax, pipelining: 1 });
  const proxy = (req: IncomingMessage, res: ServerResponse): void => {
    const headers = [...added.request];
    for (const name in req.headers) {
      const value = req.headers[name];
      if (!hopByHop.has(name) && typeof value === 'string') headers.push(name, value);
    }
    const hasBody = req.method !== 'GET' && req.method !== 'HEAD';
    let abort: (() => void) | undefined;
    res.once('close', () => abort?.());
    pool.dispatch(
      { path: req.url ?? '/', method: req.method ?? 'GET', headers, body: hasBody ? req : null },
      {
        onRequestStart: (controller) => {
          abort = () => controller.abort(new Error('client gone'));
        },
        onResponseStart: (_controller, status, answered) => {
          const kept = [...added.answer];
          for (const name in answered) {
            const value = answered[name];
            if (!hopByHop.has(name) && typeof value === 'string') kept.push(name, value);
          }
          res.writeHead(status, kept);
        },
        onResponseData: (controller, chunk) => {
          if (res.write(chunk)) return;
          controller.pause();
          res.once('drain', () => controller.resume());
        },
        onResponseEnd: () => {
          abort = undefined;
          res.end();
        },
        onResponseError: () => {
          abort = undefined;
          res.destroy();
        },
      },
    );
  };
  const servers = [createServer(proxy), createBenchTlsServer({}).on('request', proxy)] as const;
  for (const server of servers) server.keepAliveTimeout = 65_000;
  const url = await listen(servers[0]);
  const secureUrl = await listen(servers[1], 'https');
  const close = async (): Promise<void> => {
    for (const server of servers) server.closeAllConnections();
    for (const server of servers) server.close();
    await pool.destroy();
  };
  const headers = { ...plainHeaders, authorization: `Bearer ${'x'.repeat(600)}` };
  const others = { 'bare-tls': { url: secureUrl, path, headers }, 'bare-stream': { url, path, headers } };
  return { url, path, headers, others, close };
};

const issuer = 'http://127.0.0.1:8080';

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token of the same claims and length as the gateway's own. */
const signToken = (privateKey: string): string => {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: issuer,
    aud: issuer,
    sub: 'opc_0000000000000000',
    client_id: 'opc_0000000000000000',
    scope: 'read:orders',
    iat: now,
    exp: now + 3600,
    jti: 'x'.repeat(21),
  };
  const input = `${base64url({ alg: 'ES256', typ: 'at+jwt', kid: 'x'.repeat(43) })}.${base64url(claims)}`;
  const signature = createSign('sha256').update(input).sign({ key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
};

const createKeys = (): { publicKey: string; privateKey: string } =>
  generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

const startHaproxyAlone: Start = async (upstreamUrl) => {
  const { startHaproxy } = await import('./haproxy.ts');
  const { publicKey, privateKey } = createKeys();
  const { url, close } = await startHaproxy(upstreamUrl, { publicKey, issuer });
  return { url, path, headers: { ...plainHeaders, authorization: `Bearer ${signToken(privateKey)}` }, close };
};

const startFastify =
  (cache: boolean): Start =>
  async (upstreamUrl) => {
    const { publicKey, privateKey } = createKeys();
    const app = fastify({ logger: false, keepAliveTimeout: 65_000 });
    await app.register(fastifyJwt, {
      secret: { public: publicKey, private: privateKey },
      sign: { algorithm: 'ES256' },
      verify: { algorithms: ['ES256'], cache },
    });
    await app.register(fastifyHttpProxy, {
      upstream: upstreamUrl,
      undici: { connections: connectionsMax, pipelining: 1 },
      preHandler: async (request) => {
        await request.jwtVerify();
      },
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const headers = { ...plainHeaders, authorization: `Bearer ${signToken(privateKey)}` };
    return { url, path, headers, close: () => app.close() };
  };

const tokens = 2_000;
const revokedTokens = 10_000;

/** `requestLogDays` 0: without the log of callers' requests. */
const startGateway = async (
  upstreamUrl: string,
  storeUrl: string,
  requestLogDays?: number,
): Promise<Awaited<ReturnType<Start>>> => {
  // Loaded only here, so that the other contenders' processes hold nothing that they do not use.
  const [{ startBenchGateway }, { uploadPath }] = await Promise.all([
    import('./gateway.ts'),
    import('./bench-routes.ts'),
  ]);
  const gateway = await startBenchGateway(upstreamUrl, {
    ...{ storeUrl, tokens, revokedTokens, connectionsMax },
    ...(requestLogDays === undefined ? undefined : { requestLogDays }),
  });
  const { url, secureUrl, authorizations, apiKey, clientId, clientSecret, close } = gateway;
  const target = (headers: Record<string, string>): Target => ({ url, path, headers: { ...plainHeaders, ...headers } });
  const others = {
    'gateway-tokens': { ...target({}), authorizations },
    'gateway-client': target({ 'x-client-id': clientId, 'x-client-secret': clientSecret }),
    'gateway-key': target({ 'x-api-key': apiKey }),
    'gateway-tls': { ...target({ authorization: authorizations[0] ?? '' }), url: secureUrl },
    'gateway-stream': target({ authorization: authorizations[0] ?? '' }),
    'gateway-write': { ...target({ 'x-api-key': apiKey, 'content-type': 'application/json' }), ...write },
    'gateway-upload': { ...target({ 'x-api-key': apiKey }), path: uploadPath },
  };
  return { ...target({ authorization: authorizations[0] ?? '' }), others, close };
};

const write = { path: '/api/customer/create', method: 'POST' as const, body: '{"email":"ada@example.com"}' };

const tokenRequest = (url: string, clientId: string, clientSecret: string): Target => ({
  ...{ url, path: '/api/oauth/token', method: 'POST' },
  headers: { ...plainHeaders, 'content-type': 'application/x-www-form-urlencoded' },
  body: `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}&scope=read:orders`,
});

const startIssuer: Start = async (upstreamUrl, storeUrl) => {
  const { startBenchGateway } = await import('./gateway.ts');
  const { url, clientId, clientSecret, close } = await startBenchGateway(upstreamUrl, { storeUrl });
  return { ...tokenRequest(url, clientId, clientSecret), close };
};

/** The library as its documentation sets it up for this grant: a client in the configuration, the store in memory. */
const startProvider: Start = async () => {
  const { default: Provider } = await import('oidc-provider');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const server = createServer();
  const url = await listen(server);
  const [client_id, client_secret] = ['opc_0000000000000000', 'x'.repeat(43)];
  const provider = new Provider(url, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'bench' }] },
    clients: [
      {
        ...{ client_id, client_secret, token_endpoint_auth_method: 'client_secret_post' as const },
        ...{ grant_types: ['client_credentials'], redirect_uris: [], response_types: [], scope: 'read:orders' },
        id_token_signed_response_alg: 'ES256',
      },
    ],
    scopes: ['read:orders'],
    routes: { token: '/api/oauth/token' },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => url,
        getResourceServerInfo: () => ({
          ...{ scope: 'read:orders', audience: url, accessTokenFormat: 'jwt' as const },
          jwt: { sign: { alg: 'ES256' as const } },
        }),
      },
    },
  });
  server.on('request', provider.callback());
  return {
    ...tokenRequest(url, client_id, client_secret),
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
};

const starts: Record<string, Start> = {
  gateway: startGateway,
  unlogged: (upstreamUrl, storeUrl) => startGateway(upstreamUrl, storeUrl, 0),
  bare: (upstreamUrl) => startBare(upstreamUrl, { request: [], answer: [] }),
  'bare-fields': (upstreamUrl) => startBare(upstreamUrl, fieldsOfGateway),
  issuer: startIssuer,
  provider: startProvider,
  fastify: startFastify(false),
  'fastify-cached': startFastify(true),
  haproxy: startHaproxyAlone,
};

let session: Session | undefined;
const sampleEveryUs = 250;

const profile = async (order: string): Promise<void> => {
  if (order === 'start') {
    session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: sampleEveryUs });
    await session.post('Profiler.start');
    return;
  }
  const ended = await session?.post('Profiler.stop');
  session?.disconnect();
  await writeFile(order, JSON.stringify(ended?.profile));
};

const [, , name = '', upstreamUrl = '', storeUrl = ''] = process.argv;
const start = starts[name];
if (start === undefined) throw new Error(`no such contender: ${name}`);
const { close, ...ready } = await start(upstreamUrl, storeUrl);
process.stdout.write(`${JSON.stringify(ready)}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  await profile((JSON.parse(line) as { profile: string }).profile);
  process.stdout.write('{}\n');
}
await close();
process.exit(0);
