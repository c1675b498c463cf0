/**
 * Many gateways in one process, each with connections, keys and caches of its own: `gateways.ts URL KEY COUNT REDIS`. They
 * are built as the program builds one, with all of their services, and have no listener. Says when they run; a line on
 * stdin is answered with the lags of revocations since the last one, in milliseconds, the memory that they take, and the time
 * that the process has used of a core.
 */
import { createInterface } from 'node:readline';
import { createGateway, gatewaySettings } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { openStore } from '#src/platform/db/index.ts';
import { createKv } from '#src/platform/kv/index.ts';
import { createLog } from '#src/platform/log.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createMetrics, type Metrics } from '#src/platform/telemetry/metrics.ts';

const [, , databaseUrl = '', masterKey = '', count = '1', redisUrl = ''] = process.argv;
const log = createLog({ level: 'error', role: 'bench' });
const redisWaitMs = 10;

let lagsMs: number[] = [];

/** Metrics whose histogram of the lag also keeps each value. */
const metricsOf = (): Metrics => {
  const metrics = createMetrics({ process: false });
  return {
    ...metrics,
    histogram: (name, help, buckets) => {
      const histogram = metrics.histogram(name, help, buckets);
      if (name !== 'revocation_lag_seconds') return histogram;
      return {
        child: (labels) => {
          const child = histogram.child(labels as never);
          return {
            observe: (seconds) => {
              lagsMs.push(seconds * 1000);
              child.observe(seconds);
            },
          };
        },
      };
    },
  };
};

const openOne = async (): Promise<() => Promise<void>> => {
  const store = await openStore({ dataDir: '', databaseUrl, applicationName: 'gateway' }, log, { exclusive: false });
  const kv = await createKv({ url: redisUrl === '' ? undefined : redisUrl, waitMsMax: redisWaitMs, log });
  const gateway = await createGateway({
    ...{ settings: gatewaySettings.parse({}), origin: 'http://127.0.0.1:8080', clock: systemClock, log, kv },
    ...{ db: store.db, pool: store.pool, sessions: store.sessions, metrics: metricsOf() },
    box: createSecretBox(Buffer.from(masterKey, 'base64')),
    upstreams: { ordering: 'http://127.0.0.1:49151' },
  });
  const ended = new AbortController();
  const services = supervise(gateway.services, ended.signal, log);
  return async () => {
    ended.abort();
    await services;
    await gateway.close();
    await kv.close();
    await store.close();
  };
};

const say = (value: object): void => {
  process.stdout.write(`${JSON.stringify(value)}\n`);
};

const emptyBytes = process.memoryUsage.rss();
const closes: (() => Promise<void>)[] = [];
for (let made = 0; made < Number(count); made += 1) closes.push(await openOne());
say({});
for await (const _line of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage();
  say({ lagsMs, bytes: process.memoryUsage.rss() - emptyBytes, cpuMs: (user + system) / 1000 });
  lagsMs = [];
}
await Promise.all(closes.map((close) => close()));
process.exit(0);
