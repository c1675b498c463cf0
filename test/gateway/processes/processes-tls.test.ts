/** Several processes of a gateway with TLS and a port that redirects, and with a Redis (interface 16, 21). */
import { X509Certificate } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { startProgram } from '../../support/program.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import type { Pair } from '../harness/make-certificate.ts';
import { startUpstream, type TestUpstream } from '../harness/public-door.ts';
import { sendTls, shake, startTls, type TlsStand } from '../tls/tls-harness.ts';

const count = 2;
const minuteUnits = 300;

let upstream: TestUpstream;
let stand: TlsStand;
let redirectPort: number;

beforeAll(async () => {
  upstream = await startUpstream();
  const port = await freePort();
  redirectPort = await freePort();
  stand = await startTls(() => ({
    PORT: String(port),
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_PROCESSES: String(count),
    ORDERPASS_ORIGIN: `https://localhost:${port}`,
    ORDERPASS_UPSTREAMS: `ordering=${upstream.url},echo=${upstream.url}`,
    ORDERPASS_TLS_REDIRECT_PORT: String(redirectPort),
    ORDERPASS_RATE_MINUTE_UNITS: String(minuteUnits),
    ORDERPASS_RATE_BURST_UNITS: '1000000',
  }));
});

afterAll(async () => {
  await stand?.close();
  await upstream?.close();
});

const replace = (file: string, text: string): void => {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
};

/** Serial numbers of the certificates of as many new connections, which the processes get in turn. */
const serialsOf = (connections: number): Promise<(string | undefined)[]> =>
  Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = await shake(stand.port, { ca: stand.authority.cert });
      const { serialNumber } = socket.getPeerX509Certificate() ?? {};
      socket.destroy();
      return serialNumber;
    }),
  );

const install = ({ cert, key }: Pair): string => {
  replace(stand.files.keyFile, key);
  replace(stand.files.certFile, cert);
  return new X509Certificate(cert).serialNumber;
};

test('A-230 A-172 a renewed certificate is served by every process, and no connection drops', async () => {
  const agents = Array.from({ length: 2 * count }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const statuses = async () =>
    Promise.all(agents.map(async (agent) => (await stand.send('GET', '/healthz', { agent })).status));
  const all = agents.map(() => 200);
  const clientPorts = () =>
    agents.flatMap(({ freeSockets }) =>
      Object.values(freeSockets)
        .flat()
        .map((socket) => socket?.localPort),
    );
  expect(await statuses()).toEqual(all);
  const before = clientPorts();
  expect(before).toHaveLength(agents.length);
  const serial = install(stand.authority.issue());
  await until(async () => (await serialsOf(4 * count)).every((one) => one === serial));
  expect(await statuses()).toEqual(all);
  expect(clientPorts()).toEqual(before);
  // The plain port redirects whichever process has the connection.
  for (let i = 0; i < 2 * count; i += 1) {
    const moved = await fetch(`http://127.0.0.1:${redirectPort}/docs`, {
      redirect: 'manual',
      headers: { connection: 'close' },
    });
    expect([moved.status, moved.headers.get('location')]).toEqual([308, `https://localhost:${stand.port}/docs`]);
  }
  for (const agent of agents) agent.destroy();
});

test.skipIf(!hasRedis)('A-233 with a Redis the limit of a minute holds over all processes too', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.kill());
  const port = String(await freePort());
  const program = await startProgram({
    ...stand.env,
    ...{ PORT: port, ORDERPASS_ORIGIN: `https://localhost:${port}`, REDIS_URL: redis.url },
    // A busy machine must not make the processes count by themselves, which is what the wait bounds.
    ...{ ORDERPASS_REDIS_WAIT_MS: '1000', ORDERPASS_TLS_REDIRECT_PORT: '' },
  });
  onTestFinished(() => program.kill());
  const agents = Array.from({ length: 2 * count }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const passed = await Promise.all(
    agents.map(async (agent) => {
      let own = 0;
      const options = { ca: stand.authority.cert, headers: stand.asClient, agent };
      for (let i = 0; i < (minuteUnits + 60) / agents.length; i += 1)
        if ((await sendTls(program.url, 'GET', '/api/orders/list', options)).status === 200) own += 1;
      agent.destroy();
      return own;
    }),
  );
  const all = passed.reduce((sum, one) => sum + one, 0);
  expect(all).toBeGreaterThanOrEqual(0.95 * minuteUnits);
  expect(all).toBeLessThanOrEqual(1.05 * minuteUnits);
});
