import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { makeProof, newProofKey } from '../../support/proofs.ts';
import {
  closeServer,
  type Headers,
  listen,
  openDoor,
  origin,
  type PublicDoor,
  sendRequest,
} from '../harness/public-door.ts';

const path = '/api/orders/list';
const key = newProofKey();
let server: Server;
let sockets: WebSocketServer;
let door: PublicDoor;
let token: string;

const form = 'application/x-www-form-urlencoded';
const client = () => ({
  client_id: door.asClient['x-client-id'] ?? '',
  client_secret: door.asClient['x-client-secret'] ?? '',
});

beforeAll(async () => {
  server = createServer();
  sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
  door = await openDoor(await listen(server), {
    settings: { dpop: 'on' },
    perRoute: (route) => ({ ...route, upgrade: route.method === 'GET' }),
  });
  const { json } = await sendRequest(door.url, 'POST', '/api/oauth/token', {
    headers: {
      'content-type': form,
      dpop: await makeProof(key, { method: 'POST', url: `${origin}/api/oauth/token`, now: new Date() }),
    },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      ...client(),
    }).toString(),
  });
  token = json.access_token;
});

afterAll(async () => {
  for (const socket of sockets.clients) socket.terminate();
  await door?.close();
  await closeServer(server);
});

const open = (dpop: string, headers: Headers = { authorization: `DPoP ${token}`, dpop }): WebSocket =>
  new WebSocket(door.url.replace('http', 'ws') + path, [], { headers });

const statusOf = (socket: WebSocket): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    socket.once('upgrade', () => resolve(101));
    socket.once('unexpected-response', (_request, response) => {
      response.resume();
      resolve(response.statusCode);
    });
    socket.once('error', reject);
  });

test('a bound token opens a WebSocket with a proof for its https address, once, and keeps it open without another', async () => {
  const about = { method: 'GET', now: new Date(), token };
  expect(await statusOf(open(await makeProof(key, { ...about, url: `${origin}/api/customers/list` })))).toBe(401);
  expect(await statusOf(open(await makeProof(newProofKey(), { ...about, url: origin + path })))).toBe(401);
  const proof = await makeProof(key, { ...about, url: origin + path });
  const socket = open(proof);
  expect(await statusOf(socket)).toBe(101);
  expect(await statusOf(open(proof))).toBe(401);
  // The credentials of open tunnels are looked at again and again; the end of this one shows that it happened.
  const other = open('', door.asBearer);
  expect(await statusOf(other)).toBe(101);
  const ended = new Promise((resolve) => other.once('close', resolve));
  await sendRequest(door.url, 'POST', '/api/oauth/revoke', {
    headers: { 'content-type': form },
    body: new URLSearchParams({ ...client(), token: door.asBearer.authorization?.slice(7) ?? '' }).toString(),
  });
  await ended;
  const answered = new Promise((resolve) => socket.once('message', resolve));
  socket.send('still there');
  await answered;
  expect(socket.readyState).toBe(WebSocket.OPEN);
  socket.terminate();
});
