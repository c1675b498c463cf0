/**
 * What do 200 gateways ask of one store while no request comes? They are real ones without a listener, in a few processes:
 * each watches credentials, audits, counts and reloads with connections of its own. PostgreSQL gets as many connections as
 * all of their pools may open, since its default would end the bench; Redis is used where redis-server is installed.
 *
 * Printed are statements and transactions a second, connections, the time of a core that a gateway uses, and the statements
 * that keep the store busiest, at rest and while one key a second is revoked; the memory of a gateway; and the time from a
 * revocation until a gateway applies it, over all gateways. In an installation each gateway has a machine of its own: here all
 * of them share this one, so that time is theirs only as long as cores are left. Exit code 1 when p99 of it is not below
 * one second, or when a gateway misses a revocation. Arguments: gateways, seconds of each measurement, processes.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { createCredentials } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { openStore } from '#src/platform/db/index.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { createLog } from '#src/platform/log.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { databaseUrl, run } from '../../support/test-server.ts';
import { type Part, print, withParts } from '../kit/parts.ts';

const gateways = Number(process.argv[2] ?? 200);
const seconds = Number(process.argv[3] ?? 30);
const processes = Number(process.argv[4] ?? 4);

const lagMsMax = 1_000;
const lateMsMax = 10_000;
const settleMs = 5_000;
const poolMax = 10;
const otherConnections = 50;

const log = createLog({ level: 'error', role: 'bench' });

const serverSettings = {
  ...{ shared_preload_libraries: 'pg_stat_statements', max_connections: String(gateways * poolMax + otherConnections) },
};

type Counts = { statements: number; transactions: number; connections: number };

const readCounts = async (client: pg.Client): Promise<Counts> => {
  const { rows } = await client.query<Counts>(
    `select (select sum(calls)::float8 from pg_stat_statements(false) where dbid = datid) as statements,
       xact_commit::float8 as transactions,
       (select count(*)::int from pg_stat_activity where application_name like 'gateway%') as connections
     from pg_stat_database where datname = 'gateways'`,
  );
  return rows[0] ?? { statements: 0, transactions: 0, connections: 0 };
};

const busiestShown = 5;

/** Prints the statements that took most of the time of the store since the counts were reset. */
const printBusiest = async (client: pg.Client, tookSeconds: number): Promise<void> => {
  const { rows } = await client.query<{ query: string; calls: number; ms: number }>(
    `select left(regexp_replace(query, '\\s+', ' ', 'g'), 90) as query, calls::float8 as calls, total_exec_time as ms
     from pg_stat_statements where dbid = (select oid from pg_database where datname = 'gateways')
     order by total_exec_time desc limit ${busiestShown}`,
  );
  for (const { query, calls, ms } of rows)
    print(`  ${(calls / tookSeconds).toFixed(1)}/s, ${(ms / tookSeconds).toFixed(1)} ms/s: ${query}`);
};

type Sources = { client: pg.Client; parts: readonly Part[] };

/** Prints what the store and the gateways did meanwhile. */
const measure = async ({ client, parts }: Sources, name: string, during: () => Promise<unknown>): Promise<void> => {
  const usedMs = (await askAll(parts)).cpuMs;
  await client.query('select pg_stat_statements_reset()');
  const [before, startedAt] = [await readCounts(client), performance.now()];
  await during();
  const [after, tookSeconds] = [await readCounts(client), (performance.now() - startedAt) / 1000];
  const rate = (of: 'statements' | 'transactions'): string => ((after[of] - before[of]) / tookSeconds).toFixed(0);
  const coreMs = ((await askAll(parts)).cpuMs - usedMs) / tookSeconds / gateways;
  const each = ((after.statements - before.statements) / tookSeconds / gateways).toFixed(2);
  print(
    `${name}: ${rate('statements')} statements/s (${each} of a gateway), ${rate('transactions')} transactions/s, ${after.connections} connections, ${coreMs.toFixed(1)} ms/s of a core for a gateway`,
  );
  await printBusiest(client, tookSeconds);
};

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

/** Lags since the last time are collected, since an answer holds each of them once. */
const lagsMs: number[] = [];

/** Memory and time of all processes together. */
const askAll = async (parts: readonly Part[]): Promise<{ bytes: number; cpuMs: number }> => {
  const answers = await Promise.all(parts.map((part) => part.ask({})));
  lagsMs.push(...answers.flatMap((answer) => answer.lagsMs as number[]));
  const sumOf = (name: string): number => answers.reduce((sum, answer) => sum + Number(answer[name]), 0);
  return { bytes: sumOf('bytes'), cpuMs: sumOf('cpuMs') };
};

/** Waits until there are so many lags, or one is too late. */
const untilApplied = async (parts: readonly Part[], expected: number): Promise<void> => {
  for (const startedAt = performance.now(); performance.now() - startedAt < lateMsMax; await sleep(100)) {
    if (lagsMs.length >= expected) return;
    await askAll(parts);
  }
};

process.exitCode = await withParts(async (start) => {
  const redis = hasRedis ? await startRedis() : undefined;
  try {
    const { ready } = await start('store', undefined, [JSON.stringify(serverSettings)]);
    await run(String(ready.url), 'create database gateways');
    const url = databaseUrl(String(ready.url), 'gateways');
    const masterKey = randomBytes(32);
    const store = await openStore({ dataDir: '', databaseUrl: url, applicationName: 'bench' }, log, {
      exclusive: false,
    });
    const client = new pg.Client({ connectionString: databaseUrl(url, 'postgres') });
    await client.connect();
    await client.query('create extension pg_stat_statements');
    await migrate(store.pool, allMigrations, { log });
    const credentials = createCredentials({ db: store.db, box: createSecretBox(masterKey), clock: systemClock });
    await credentials.createTenant('rst_1');
    const keys: string[] = [];
    while (keys.length < seconds) keys.push((await credentials.createApiKey({ tenant: 'rst_1', name: 'bench' })).keyId);
    const share = Math.ceil(gateways / processes);
    const parts: Part[] = [];
    for (let left = gateways; left > 0; left -= share) {
      const own = [url, masterKey.toString('base64'), String(Math.min(share, left)), redis?.url ?? ''];
      parts.push(await start('../scale/gateways', undefined, own));
    }
    print(`${gateways} gateways in ${parts.length} processes, ${redis === undefined ? 'without' : 'with'} Redis`);
    await sleep(settleMs);
    const sources = { client, parts };
    await measure(sources, 'at rest', () => sleep(seconds * 1000));
    lagsMs.length = 0;
    await measure(sources, 'while a key a second is revoked', async () => {
      const startedAt = performance.now();
      for (const [turn, keyId] of keys.entries()) {
        await sleep(Math.max(0, startedAt + turn * 1000 - performance.now()));
        await credentials.revokeApiKey(keyId);
      }
    });
    await untilApplied(parts, gateways * keys.length);
    const { bytes } = await askAll(parts);
    print(`memory of a gateway: ${(bytes / gateways / 1e6).toFixed(1)} MB`);
    const sorted = lagsMs.toSorted((a, b) => a - b);
    const [p50, p99, most] = [at(sorted, 0.5), at(sorted, 0.99), at(sorted, 1)];
    const count = `${lagsMs.length} of ${gateways * keys.length} times`;
    print(
      `revoked after ${p50.toFixed(0)} ms (median), ${p99.toFixed(0)} ms (p99), ${most.toFixed(0)} ms at most, ${count}`,
    );
    const reached = p99 < lagMsMax && lagsMs.length >= gateways * keys.length;
    print(`goal: p99 below ${lagMsMax} ms at every gateway: ${reached ? 'reached' : 'MISSED'}`);
    await client.end();
    await store.close();
    return reached ? 0 : 1;
  } finally {
    await redis?.kill();
  }
});
