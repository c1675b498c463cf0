/** What the route table says about an upstream: addresses, TLS, Host, times and bounds; and what the settings override. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { plainAddressProblems, routeTableProblems } from '#src/gateway/config.ts';
import { until } from '../../support/until.ts';
import { makeAuthority, type Pair, writeCertificate } from '../harness/make-certificate.ts';
import {
  closeServer,
  openDoor,
  type PublicDoor,
  sendRequest,
  startRawUpstream,
  startUpstream,
} from '../harness/public-door.ts';

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const started = async <T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
  const one = await starting;
  closers.push(() => one.close());
  return one;
};

/** The gateway in front of the upstream `ordering` with this policy. */
const openWith = (
  policy: Record<string, unknown>,
  more: { upstream?: string; settings?: Record<string, unknown> } = {},
) =>
  started(
    openDoor(more.upstream, {
      table: { upstreams: { ordering: policy } },
      routes: { timeouts: { answerMs: 20_000 } },
      ...(more.settings && { settings: more.settings }),
    }),
  );

const get = (door: PublicDoor, headers: Record<string, string> = {}) =>
  sendRequest(door.url, 'GET', '/api/orders/list', { headers: { ...door.asKey, ...headers } });

test('A-198 addresses in the route table get requests by their weights, and those of the settings win', async () => {
  const [one, two, three] = [
    await started(startUpstream()),
    await started(startUpstream()),
    await started(startUpstream()),
  ];
  const addresses = [one.url, { url: two.url, weight: 3 }];
  const door = await openWith({ addresses });
  for (let i = 0; i < 8; i += 1) expect((await get(door)).status).toBe(200);
  expect([one.seen.length, two.seen.length]).toEqual([2, 6]);
  const overridden = await openWith({ addresses }, { upstream: three.url });
  for (let i = 0; i < 4; i += 1) expect((await get(overridden)).status).toBe(200);
  expect([one.seen.length, two.seen.length, three.seen.length]).toEqual([2, 6, 4]);
});

test('A-198 the upstream gets its own name as Host, and with preserveHost that of the caller', async () => {
  const upstream = await started(startUpstream());
  upstream.answer = (req, res) =>
    void res.writeHead(201, { location: `http://${String(req.headers.host)}/api/orders/7` }).end();
  const plain = await openWith({ addresses: [upstream.url] });
  const replaced = await get(plain, { host: 'shop.example' });
  expect(upstream.seen.at(-1)?.headers.host).toBe(new URL(upstream.url).host);
  expect(replaced.headers.location).toBe('https://api.example/api/orders/7');
  const preserving = await openWith({ addresses: [upstream.url], preserveHost: true });
  await get(preserving, { host: 'shop.example' });
  expect(upstream.seen.at(-1)?.headers.host).toBe('shop.example');
});

test('A-198 the bounds on connections and waiting requests stand in the table, and those of the settings win', async () => {
  const held: Socket[] = [];
  const upstream = await started(startRawUpstream((socket) => void held.push(socket)));
  const policy = { addresses: [upstream.url], connections: { max: 2, waitingMax: 0 } };
  const refusedAfter = async (door: PublicDoor, requests: number): Promise<number> => {
    held.length = 0;
    const asked = Array.from({ length: requests }, () => get(door));
    await until(() => held.length === requests);
    const refused = await get(door);
    for (const socket of held) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => 200));
    return refused.status;
  };
  expect(await refusedAfter(await openWith(policy), 2)).toBe(503);
  const settings = { upstream_connections_max: 3 };
  expect(await refusedAfter(await openWith(policy, { settings }), 3)).toBe(503);
});

type TlsService = {
  url: string;
  names: (string | undefined)[];
  clients: (string | undefined)[];
  close(): Promise<void>;
};

/** A service that answers 200 and remembers the server names and the client certificates of its connections. */
const startTlsService = async (pair: Pair, clientCa?: string): Promise<TlsService> => {
  const service: Pick<TlsService, 'names' | 'clients'> = { names: [], clients: [] };
  const server = createTlsServer({ ...pair, ...(clientCa && { ca: clientCa, requestCert: true }) }, (req, res) => {
    const { socket } = req;
    if (!(socket instanceof TLSSocket)) throw new Error('no TLS');
    service.names.push((socket as TLSSocket & { servername?: string }).servername || undefined);
    service.clients.push(socket.getPeerX509Certificate()?.subject);
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { ...service, url, close: () => closeServer(server) };
};

test('A-199 a service is trusted by the authority of its upstream alone, under the server name of the table', async () => {
  const authority = makeAuthority();
  const files = writeCertificate(authority, authority.issue({ names: ['pos.internal'] }));
  closers.push(files.remove);
  const service = await started(startTlsService(authority.issue({ names: ['pos.internal'] })));
  const addresses = [service.url];
  const named = await openWith({ addresses, tls: { caFile: files.caFile, serverName: 'pos.internal' } });
  expect((await get(named)).status).toBe(200);
  expect(service.names).toEqual(['pos.internal']);
  const preserving = await openWith({
    ...{ addresses, preserveHost: true },
    tls: { caFile: files.caFile, serverName: 'pos.internal' },
  });
  for (const host of ['one.example', 'two.example', 'one.example'])
    expect((await get(preserving, { host })).status).toBe(200);
  expect(service.names.slice(1)).toEqual(Array(3).fill('pos.internal'));
  const other = writeCertificate(makeAuthority());
  closers.push(other.remove);
  for (const tls of [undefined, { caFile: files.caFile }, { caFile: other.caFile, serverName: 'pos.internal' }]) {
    const door = await openWith({ addresses, ...(tls && { tls }) });
    const answer = await get(door);
    expect([tls, answer.status, answer.json.error]).toEqual([tls, 502, 'UPSTREAM_UNREACHABLE']);
    expect(answer.text).not.toMatch(/certificate|authority|pos\.internal/i);
  }
});

test('A-199 a service that demands a client certificate gets that of its upstream, on checks too', async () => {
  const [authority, clients] = [makeAuthority(), makeAuthority('Clients')];
  const own = writeCertificate(clients, clients.issue({ name: 'gateway', use: 'client' }));
  const ca = writeCertificate(authority);
  closers.push(own.remove, ca.remove);
  const service = await started(startTlsService(authority.issue(), clients.cert));
  const tls = { caFile: ca.caFile, certFile: own.certFile, keyFile: own.keyFile };
  const health = { path: '/healthz', intervalMs: 100 };
  const door = await openWith({ addresses: [service.url], tls, health });
  expect((await get(door)).status).toBe(200);
  await until(() => service.clients.length >= 4);
  expect(new Set(service.clients)).toEqual(new Set(['CN=gateway']));
  const without = await openWith({ addresses: [service.url], tls: { caFile: ca.caFile } });
  expect((await get(without)).status).toBe(502);
});

test('A-199 every mistake in an upstream is named with its path in one pass, missing and wrong files among them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-upstreams-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const authority = makeAuthority();
  const [pair, other] = [authority.issue({ use: 'client' }), authority.issue({ use: 'client' })];
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return name;
  };
  const certFile = write('own.crt', pair.cert);
  const addresses = ['https://10.0.0.5:8443'];
  const upstreams: Record<string, [policy: Record<string, unknown>, path: string]> = {
    absent: [{ addresses, tls: { caFile: 'none.pem' } }, 'tls.caFile'],
    'no-pem': [{ addresses, tls: { caFile: write('text.pem', 'text') } }, 'tls.caFile'],
    leaf: [{ addresses, tls: { caFile: certFile } }, 'tls.caFile'],
    keyless: [{ addresses, tls: { certFile } }, 'tls.keyFile'],
    'other-key': [{ addresses, tls: { certFile, keyFile: write('other.key', other.key) } }, 'tls.keyFile'],
    plain: [{ addresses: ['http://a:1'], tls: { serverName: 'a' } }, 'tls'],
    name: [{ addresses, tls: { serverName: 'UPPER' } }, 'tls.serverName'],
    weight: [{ addresses: [{ url: 'http://a:1', weight: 0 }] }, 'addresses.0.weight'],
    twice: [{ addresses: ['http://a:1', { url: 'http://a:1/' }] }, 'addresses.1'],
    empty: [{ addresses: [] }, 'addresses'],
    host: [{ addresses, preserveHost: 'yes' }, 'preserveHost'],
    connect: [{ addresses, timeouts: { connectMs: 1 } }, 'timeouts.connectMs'],
    bounds: [{ addresses, connections: { max: 0 } }, 'connections.max'],
    check: [{ addresses, health: { intervalMs: 1_000 } }, 'health.path'],
    path: [{ addresses, health: { path: 'healthz' } }, 'health.path'],
    interval: [{ addresses, health: { path: '/', intervalMs: 1 } }, 'health.intervalMs'],
    budget: [{ addresses, retries: { budgetPercent: 101 } }, 'retries.budgetPercent'],
    member: [{ addresses, retry: {} }, ''],
  };
  const routes = Object.keys(upstreams).map((upstream) => ({
    id: upstream,
    path: `/${upstream}`,
    upstream,
    scopes: [],
  }));
  const table = {
    routes,
    upstreams: Object.fromEntries(Object.entries(upstreams).map(([name, [policy]]) => [name, policy])),
  };
  const file = join(folder, write('routes.json', JSON.stringify(table)));
  const problems = routeTableProblems(file, []);
  for (const [name, [, path]] of Object.entries(upstreams)) {
    const place = path === '' ? `upstreams.${name}:` : `upstreams.${name}.${path}:`;
    expect([name, problems.filter((one) => one.startsWith(place)).length]).toEqual([name, 1]);
  }
  expect(problems).toHaveLength(Object.keys(upstreams).length);
  expect(problems.join('\n')).not.toContain('PRIVATE KEY');
  expect(plainAddressProblems(file, { leaf: 'https://a|http://b' })).toEqual([
    expect.stringMatching(/^upstreams\.leaf\.tls: /),
  ]);
});
