/** The whole program with TLS on its listeners, an upstream of the test behind it, and clients that speak TLS. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type RunningProgram, runJson, startProgram } from '../../support/program.ts';
import {
  type Authority,
  type CertificateFolder,
  makeAuthority,
  writeCertificate,
} from '../harness/make-certificate.ts';
import { closeServer, type Headers, listen, routeFile } from '../harness/public-door.ts';

export const echoPath = '/api/echo';

/** Default: with the authority of the test, and no connection is used twice. */
export type ClientOptions = ConnectionOptions & { headers?: Headers | string[]; body?: string; agent?: Agent };

type Reply = { status: number; headers: IncomingHttpHeaders; text: string };

export type TlsStand = {
  authority: Authority;
  files: CertificateFolder;
  program: RunningProgram;
  database: TestDatabase;
  env: Record<string, string>;
  url: string;
  port: number;
  /** Heads of the requests that reached the upstream. */
  seen: IncomingHttpHeaders[];
  asClient: Headers;
  send(method: string, target: string, options?: ClientOptions): Promise<Reply>;
  close(): Promise<void>;
};

/** Rejects when the connection is refused or the answer is cut. */
export const sendTls = (
  url: string,
  method: string,
  target: string,
  { headers = {}, body, agent, ...tls }: ClientOptions,
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const outgoing = request(
      { hostname, port, method, path: target, headers, agent: agent ?? false, servername: 'localhost', ...tls },
      (res) => {
        let text = '';
        res.setEncoding('utf8');
        res.on('data', (chunk: string) => {
          text += chunk;
        });
        res.on('error', reject);
        res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });

/** Resolves when the handshake has ended; rejects with the error of the connection. */
export const shake = (port: number, options: ConnectionOptions): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ...options }, () => resolve(socket));
    socket.once('error', reject);
  });

/** Answers `data: N` events with `?events`, the start of an answer with `?cut`, WebSockets with what they send, and everything else with its own head. */
const startEcho = async (seen: IncomingHttpHeaders[]): Promise<{ url: string; server: Server }> => {
  const server = createServer((req, res) => {
    seen.push(req.headers);
    req.resume();
    if (req.url?.includes('cut')) return void res.write('the start', () => res.destroy());
    if (!req.url?.includes('events')) return void res.setHeader('content-type', 'application/json').end('{"ok":true}');
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    let count = 0;
    const timer = setInterval(() => {
      count += 1;
      res.write(`data: ${count}\n\n`);
    }, 20);
    res.once('close', () => clearInterval(timer));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket: WebSocket, req) => {
    seen.push(req.headers);
    socket.on('error', () => undefined);
    socket.on('message', (data) => socket.send(String(data)));
  });
  return { url: await listen(server), server };
};

/** `more`: settings, made of the files of the certificate. */
export const startTls = async (
  more: (files: CertificateFolder) => Record<string, string> = () => ({}),
): Promise<TlsStand> => {
  const authority = makeAuthority();
  const files = writeCertificate(authority);
  const database = await createTestDatabase();
  const seen: IncomingHttpHeaders[] = [];
  const echo = await startEcho(seen);
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-routes-'));
  const routes = join(folder, 'routes.json');
  const table = routeFile();
  const first = table.routes.find(({ id }) => id === 'orders.list');
  table.routes.push({ ...first, id: 'echo.get', path: echoPath, upstream: 'echo', upgrade: true });
  writeFileSync(routes, JSON.stringify(table));
  const env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ROUTES_FILE: routes,
    ORDERPASS_UPSTREAMS: `echo=${echo.url}`,
    ORDERPASS_TLS_CERT_FILE: files.certFile,
    ORDERPASS_TLS_KEY_FILE: files.keyFile,
    ...more(files),
  };
  const program = await startProgram(env);
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Over TLS'], env);
  const client = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  return {
    ...{ authority, files, program, database, env, seen, url: program.url, port: Number(new URL(program.url).port) },
    asClient: { 'x-client-id': String(client.client_id), 'x-client-secret': String(client.client_secret) },
    send: (method, target, options = {}) => sendTls(program.url, method, target, { ca: authority.cert, ...options }),
    close: async () => {
      await program.stop();
      await closeServer(echo.server);
      await database.drop();
      files.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
