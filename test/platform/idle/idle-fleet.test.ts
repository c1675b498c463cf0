/** What a fleet costs its PostgreSQL while no request comes, and that its default pools fit into the connections of a server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectionsMax as importConnectionsMax } from '#src/app/import-process/serve-core.ts';
import { loadSettings } from '#src/app/settings/config.ts';
import { until } from '../../support/until.ts';
import { type CountingServer, startCountingServer, startFleet, statementsBetween } from './idle-fleet.ts';

/** Of each process. An idle gateway sends about 2 a second, a core less than one in five seconds, a worker about 5. */
const perSecondMax = { gateway_1: 4, ordering_1: 1.5, worker_1: 8 };
const windowMs = 3_000;
/** The statements of the start end with time; polls never do. */
const windowsMax = 10;

let server: CountingServer;
let fleet: Awaited<ReturnType<typeof startFleet>>;

beforeAll(async () => {
  server = await startCountingServer();
  fleet = await startFleet(server, 1);
});

afterAll(async () => {
  await fleet?.stop();
  await server?.stop();
});

test('A-269 an idle gateway, core and worker send few statements to PostgreSQL', async () => {
  let seen = '';
  let isQuiet = false;
  for (let window = 0; window < windowsMax && !isQuiet; window += 1) {
    const before = await server.count();
    await sleep(windowMs);
    const after = await server.count();
    const sent = statementsBetween(before, after);
    const seconds = (after.atMs - before.atMs) / 1000;
    const rateOf = (process: string): number =>
      sent.reduce((sum, one) => sum + (one.process === process ? one.calls : 0), 0) / seconds;
    isQuiet = Object.entries(perSecondMax).every(([process, max]) => rateOf(process) <= max);
    seen = sent.map(({ process, calls, text }) => `${process} ${calls} ${text}`).join('\n');
  }
  expect(isQuiet, seen).toBe(true);
  // What was counted is what the processes sent: a worker sends heartbeats, however quiet it is.
  expect(seen).toContain('update webhooks.workers set seen');
});

/** `max_connections` of PostgreSQL is 100, and `superuser_reserved_connections` 3. */
const serverConnections = 97;
/** Outside of the pools: the lock of a worker. */
const sessions = [{ process: 'worker_1', name: 'webhook-worker', count: 1 }];
/** One of a worker's pool listens, and has a name of its own for that. */
const isPooled = (name: string): boolean => name.startsWith('orderpass-') || name === 'webhook-dispatch';

test('A-270 the default connections of two gateways, two cores and two workers fit into those of a PostgreSQL', async () => {
  const { database_connections_max: ofPool } = loadSettings({ env: {} });
  const roles = ['gateway', 'ordering', 'worker'];
  await until(async () => (await server.namedConnections()).some(({ name }) => name === 'webhook-worker'));
  const open = await server.namedConnections();
  const [pooled, outside] = [true, false].map((is) => open.filter(({ name }) => isPooled(name) === is));
  for (const role of roles) {
    const counts = pooled?.flatMap(({ process, count }) => (process === `${role}_1` ? [count] : [])) ?? [];
    const sum = counts.reduce((all, one) => all + one, 0);
    expect([role, sum > 0, sum <= ofPool]).toEqual([role, true, true]);
  }
  expect(outside).toEqual(sessions);
  expect(2 * (roles.length * ofPool + importConnectionsMax + sessions.length)).toBeLessThanOrEqual(serverConnections);
});
