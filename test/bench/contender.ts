/** One contender of the bench: says where it listens and what to send, lives until its stdin ends. */
import { createSign, generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastifyHttpProxy from '@fastify/http-proxy';
import fastifyJwt from '@fastify/jwt';
import fastify from 'fastify';
import { Pool } from 'undici';

const path = '/api/orders/list';
const connectionsMax = 256;

/** A request as a browser-like client of an API would send it. */
const plainHeaders = { accept: 'application/json', 'user-agent': 'bench/1.0' };

type Ready = { url: string; path: string; headers: Record<string, string> };
type Start = (upstreamUrl: string) => Promise<Ready & { close: () => Promise<void> }>;

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'host']);

/** The least that a proxy has to do: headers and body both ways, backpressure, a client that goes away. */
const startBare: Start = async (upstreamUrl) => {
  const pool = new Pool(upstreamUrl, { connections: connectionsMax, pipelining: 1 });
  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    const headers: string[] = [];
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
          const kept: string[] = [];
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
  });
  server.keepAliveTimeout = 65_000;
  const url = await listen(server);
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await pool.destroy();
  };
  return { url, path, headers: { ...plainHeaders, authorization: `Bearer ${'x'.repeat(600)}` }, close };
};

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token of the same claims and length as the gateway's own. */
const signToken = (privateKey: string): string => {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: 'http://127.0.0.1:8080',
    aud: 'http://127.0.0.1:8080',
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

const startFastify =
  (cache: boolean): Start =>
  async (upstreamUrl) => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
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

const startGateway: Start = async (upstreamUrl) => {
  // Loaded only here, so that the other contenders' processes hold nothing that they do not use.
  const { startBenchGateway } = await import('./gateway.ts');
  const { url, authorization, close } = await startBenchGateway(upstreamUrl);
  return { url, path, headers: { ...plainHeaders, authorization }, close };
};

const starts: Record<string, Start> = {
  gateway: startGateway,
  bare: startBare,
  fastify: startFastify(false),
  'fastify-cached': startFastify(true),
};

const [, , name = '', upstreamUrl = ''] = process.argv;
const start = starts[name];
if (start === undefined) throw new Error(`no such contender: ${name}`);
const { close, ...ready } = await start(upstreamUrl);
process.stdout.write(`${JSON.stringify(ready)}\n`);
await new Promise((resolve) => process.stdin.on('end', resolve).resume());
await close();
process.exit(0);
