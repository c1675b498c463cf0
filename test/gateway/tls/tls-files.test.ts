/** Certificates that change while the program runs, certificates of clients, and TLS on the internal listener (interface 16). */
import { X509Certificate } from 'node:crypto';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';
import { type Authority, makeAuthority, type Pair } from '../harness/make-certificate.ts';
import { echoPath, sendTls, shake, startTls, type TlsStand } from './tls-harness.ts';

const clients: Authority = makeAuthority('Authority of clients');
const dayMs = 86_400_000;

let stand: TlsStand;
let internalUrl: string;
/** Mounted as Kubernetes mounts a secret: two symbolic links to files in a folder behind a third one. */
let mount: string;
let version = 0;

/** A new version of the mounted files, put in place at once. */
const mountVersion = ({ cert, key }: Pair): string => {
  version += 1;
  const folder = join(mount, `..v${version}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key, { mode: 0o644 });
  symlinkSync(folder, join(mount, '..next'));
  renameSync(join(mount, '..next'), join(mount, '..data'));
  return folder;
};

beforeAll(async () => {
  const port = await freePort();
  internalUrl = `https://127.0.0.1:${port}`;
  stand = await startTls(({ folder, certFile, keyFile }) => {
    mount = join(folder, 'mount');
    mkdirSync(mount);
    mountVersion(makeAuthority().issue());
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(mount, name));
    writeFileSync(join(folder, 'clients.crt'), clients.cert);
    return {
      ORDERPASS_LOG_LEVEL: 'info',
      ORDERPASS_TLS_CERT_FILE: join(mount, 'tls.crt'),
      ORDERPASS_TLS_KEY_FILE: join(mount, 'tls.key'),
      ORDERPASS_TLS_CLIENT_CA_FILE: join(folder, 'clients.crt'),
      ORDERPASS_INTERNAL_PORT: String(port),
      ORDERPASS_INTERNAL_TLS_CERT_FILE: certFile,
      ORDERPASS_INTERNAL_TLS_KEY_FILE: keyFile,
    };
  });
  const known = stand.authority.issue();
  mountVersion(known);
  await serves(known);
});

afterAll(() => stand.close());

/** The certificate that a new connection gets. */
const certificateOf = async (port: number): Promise<X509Certificate> => {
  const socket = await shake(port, { rejectUnauthorized: false });
  const found = socket.getPeerX509Certificate();
  socket.destroy();
  if (found === undefined) throw new Error('no certificate');
  return found;
};

const serialOf = ({ cert }: Pair): string => new X509Certificate(cert).serialNumber;

const serves = (pair: Pair): Promise<void> =>
  until(async () => (await certificateOf(stand.port)).serialNumber === serialOf(pair));

/** Sends one request after the other on one connection until `end` is called, which returns what they were answered. */
const keepSending = (): { end(): Promise<{ statuses: Set<number>; connections: number; count: number }> } => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number>();
  agent.on('free', (socket) => ports.add(socket.localPort));
  const statuses = new Set<number>();
  let [count, ended] = [0, false];
  const running = (async () => {
    while (!ended) {
      statuses.add((await stand.send('GET', '/healthz', { agent })).status);
      count += 1;
    }
  })();
  return {
    end: async () => {
      ended = true;
      await running;
      agent.destroy();
      return { statuses, connections: ports.size, count };
    },
  };
};

test('A-172 a new certificate is served when its files are swapped, written or renamed, and no connection drops', async () => {
  const [first, second, third] = [0, 0, 0].map(() => stand.authority.issue()) as [Pair, Pair, Pair];
  const requests = keepSending();
  const folder = mountVersion(first);
  await serves(first);
  // One file after the other, as a slow program writes them.
  writeFileSync(join(folder, 'tls.crt'), second.cert);
  writeFileSync(join(folder, 'tls.key'), second.key);
  await serves(second);
  for (const [name, text] of [
    ['tls.key', third.key],
    ['tls.crt', third.cert],
  ] as const) {
    writeFileSync(join(folder, `${name}.new`), text);
    renameSync(join(folder, `${name}.new`), join(folder, name));
  }
  await serves(third);
  const { statuses, connections, count } = await requests.end();
  expect([...statuses]).toEqual([200]);
  expect(connections).toBe(1);
  expect(count).toBeGreaterThan(10);
});

test('A-172 SIGHUP reads the certificates at once', async () => {
  // The watcher reads changed files after two looks, one a second: only an attempt that ends before that shows what SIGHUP does.
  let tookMs = Infinity;
  for (let tries = 0; tookMs >= 1_000 && tries < 10; tries += 1) {
    const pair = stand.authority.issue();
    const before = stand.program.errors().length;
    const startedAt = performance.now();
    mountVersion(pair);
    stand.program.child.kill('SIGHUP');
    await until(() =>
      stand.program
        .errors()
        .slice(before)
        .includes('SIGHUP: the program reads the certificates and the route table again'),
    );
    expect((await certificateOf(stand.port)).serialNumber).toBe(serialOf(pair));
    tookMs = performance.now() - startedAt;
  }
});

const readyz = async (): Promise<unknown> => JSON.parse((await stand.send('GET', '/readyz')).text);

const metricOf = async (name: string): Promise<number> => {
  const { text } = await sendTls(internalUrl, 'GET', '/metrics', { ca: stand.authority.cert });
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
};

test('A-173 files that cannot be used change nothing; the log, a metric and /readyz tell it until good ones come', async () => {
  const good = stand.authority.issue();
  mountVersion(good);
  await serves(good);
  const other = stand.authority.issue();
  const bad: [Pair, string][] = [
    [{ cert: good.cert, key: other.key }, 'is not the key of the first certificate'],
    [{ cert: 'nothing', key: good.key }, 'holds no certificate'],
    [{ cert: good.cert, key: 'nothing' }, 'holds no private key'],
    [stand.authority.issue({ until: new Date(Date.now() - dayMs / 2) }), 'the certificate expired on'],
    [stand.authority.issue({ from: new Date(Date.now() + dayMs) }), 'the certificate is not valid before'],
  ];
  for (const [pair, reason] of bad) {
    const before = stand.program.errors().length;
    mountVersion(pair);
    await until(() => stand.program.errors().slice(before).includes(reason));
    expect(stand.program.errors()).not.toContain(pair.key.split('\n')[1] || 'PRIVATE');
    expect(await readyz()).toMatchObject({ status: 'degraded', certificate: 'not_renewed' });
    expect(await metricOf('orderpass_tls_certificate_renewed')).toBe(0);
    expect((await certificateOf(stand.port)).serialNumber).toBe(serialOf(good));
  }
  mountVersion(other);
  await serves(other);
  expect(await readyz()).toMatchObject({ status: 'ok', certificate: 'ok' });
  expect(await metricOf('orderpass_tls_certificate_renewed')).toBe(1);
  expect(await metricOf('orderpass_tls_certificate_expires_seconds')).toBeCloseTo((30 * dayMs) / 1000, -4);
});

test('A-696 a new certificate that is not valid yet is served once it is, without another change of its files', async () => {
  const [first, second] = [0, 0].map(() => stand.authority.issue()) as [Pair, Pair];
  mountVersion(first);
  await serves(first);
  const later = stand.authority.issue({ from: new Date(Date.now() + 15_000) });
  mountVersion(later);
  await until(async () => Reflect.get(Object(await readyz()), 'certificate') === 'not_renewed');
  await serves(later);
  expect(await readyz()).toMatchObject({ status: 'ok', certificate: 'ok' });
  mountVersion(second);
  await serves(second);
});

/** The line of the access log of one request. */
const lineOf = async (requestId: string): Promise<Record<string, unknown>> => {
  const find = (): string | undefined =>
    stand.program
      .errors()
      .split('\n')
      .find((line) => line.includes(`"${requestId}"`));
  await until(() => find() !== undefined);
  return JSON.parse(find() ?? '');
};

const called = async (requestId: string, options: ConnectionOptions): Promise<Record<string, unknown>> => {
  const headers = { ...stand.asClient, 'x-request-id': requestId };
  expect((await stand.send('GET', echoPath, { ...options, headers })).status).toBe(200);
  return lineOf(requestId);
};

test('A-174 a client certificate of a named authority is accepted and its thumbprint logged; without one a call is served', async () => {
  const pair = clients.issue({ use: 'client', name: 'till-1', names: ['till-1.example', 'spiffe://shop/a,b'] });
  const digest = new X509Certificate(pair.cert).fingerprint256.replaceAll(':', '');
  const thumbprint = Buffer.from(digest, 'hex').toString('base64url');
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const presented = await called(`with-${maxVersion}`, { ...pair, maxVersion });
    expect(presented).toMatchObject({ client_certificate: thumbprint, kind: 'api_client' });
    expect(await called(`without-${maxVersion}`, { maxVersion })).not.toHaveProperty('client_certificate');
  }
});

test('A-174 a resumed session has the client certificate of its first handshake, or none', async () => {
  const pair = clients.issue({ use: 'client' });
  for (const [name, presented] of [
    ['resumed-with', pair],
    ['resumed-without', {}],
  ] as const) {
    const session = await sessionWith(presented);
    const { client_certificate } = await called(name, { ...presented, session });
    expect(client_certificate === undefined).toBe(presented !== pair);
  }
});

const sessionWith = async (presented: ConnectionOptions): Promise<Buffer> => {
  const socket = await shake(stand.port, { ca: stand.authority.cert, ...presented });
  const session = new Promise<Buffer>((resolve) => socket.once('session', resolve));
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  socket.resume();
  const found = await session;
  socket.destroy();
  return found;
};

test('A-174 a client certificate that is foreign, expired or for servers ends the connection', async () => {
  const refused = [
    makeAuthority('Authority of clients').issue({ use: 'client' }),
    clients.issue({ use: 'client', until: new Date(Date.now() - dayMs / 2) }),
    clients.issue({ use: 'server' }),
  ];
  const before = stand.seen.length;
  for (const pair of refused)
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
      await expect(
        stand.send('GET', echoPath, { ...pair, maxVersion, headers: stand.asClient }),
        `${maxVersion}`,
      ).rejects.toThrow();
  expect(stand.seen.length).toBe(before);
  expect(stand.program.errors()).toContain('the client certificate is refused');
  expect(await metricOf('orderpass_tls_handshake_failures_total\\{reason="client_certificate"\\}')).toBe(6);
});

test('A-177 the internal listener speaks TLS, and the gateway of the same process still reaches its core', async () => {
  expect((await stand.send('GET', '/api/orders/list', { headers: stand.asClient })).status).toBe(200);
  const { status, headers } = await sendTls(internalUrl, 'GET', '/metrics', { ca: stand.authority.cert });
  expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('text/plain')]);
  await expect(fetch(`${internalUrl.replace('https', 'http')}/metrics`)).rejects.toThrow();
});

test('A-497 a new certificate of the internal listener is served without a restart', async () => {
  const port = Number(new URL(internalUrl).port);
  const next = stand.authority.issue();
  expect((await certificateOf(port)).serialNumber).not.toBe(serialOf(next));
  stand.files.write(next);
  await until(async () => (await certificateOf(port)).serialNumber === serialOf(next));
  const { status } = await sendTls(internalUrl, 'GET', '/metrics', { ca: stand.authority.cert });
  expect(status).toBe(200);
  expect((await stand.send('GET', '/api/orders/list', { headers: stand.asClient })).status).toBe(200);
});

test('A-497 a changed file of authorities counts for the next handshake: new ones are accepted, removed ones refused', async () => {
  const later: Authority = makeAuthority('Later authority of clients');
  const [before, after] = [clients.issue({ use: 'client' }), later.issue({ use: 'client' })];
  const file = join(stand.files.folder, 'clients.crt');
  const call = (pair: Pair): Promise<number | 'refused'> =>
    stand.send('GET', echoPath, { ...pair, headers: stand.asClient }).then(
      ({ status }) => status,
      () => 'refused' as const,
    );
  expect([await call(before), await call(after)]).toEqual([200, 'refused']);
  writeFileSync(file, clients.cert + later.cert);
  await until(async () => (await call(after)) === 200);
  expect(await call(before)).toBe(200);
  writeFileSync(file, 'no certificate');
  await until(() => stand.program.errors().includes('clients.crt holds no certificate'));
  expect([await call(before), await call(after)]).toEqual([200, 200]);
  writeFileSync(file, later.cert);
  await until(async () => (await call(before)) === 'refused');
  expect(await call(after)).toBe(200);
});

test('A-178 a key file that every user may read is warned about', () => {
  expect(stand.program.errors()).toContain('take that right away (chmod o-r)');
});
