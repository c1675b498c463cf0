/**
 * What do changes of credentials cost gateways? Two of them hold 10,000 API keys in use, as each gateway remembers them, while
 * ten keys a second change and one in five of the changes is a revocation. Measured for each gateway: the share of look-ups that
 * need no store, and the time from the commit of a revocation until the key counts as revoked; for the store: statements a
 * second of a gateway, with its look-ups. Argument: seconds (default 30). Exit code 1 when a goal is missed.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { type CredentialCache, createCredentialCache } from '#src/gateway/credentials/lookup/cache.ts';
import { createCredentials, gatewayMigrations } from '#src/gateway/index.ts';
import { newApiKey } from '#src/gateway/model/credential-values.ts';
import { systemClock } from '#src/platform/clock.ts';
import { openStore, platformMigrations } from '#src/platform/db/index.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { createLog } from '#src/platform/log.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { print, withParts } from './kit/parts.ts';

const keysInUse = 10_000;
const gateways = 2;
/** Of each gateway; one core carries more requests. */
const lookUpsPerSecond = 4_000;
const changesPerSecond = 10;
const revokedEvery = 5;
const hitRateMin = 0.99;
const revokedMsMax = 1_000;

const log = createLog({ level: 'warn', role: 'bench' });
const box = createSecretBox(randomBytes(32));

type Key = { id: string; value: string };

/** Written directly to the store, since each key would have an entry in the audit. */
const insertKeys = async (db: Kysely<unknown>, keys: readonly Key[]): Promise<void> => {
  const digests = keys.map(({ value }) => box.digest(value).toString('hex'));
  await sql`
    insert into gateway.api_keys (tenant, key_id, name, digest, created)
    select 'rst_1', id, 'bench', decode(digest, 'hex'), now()
    from unnest(${keys.map(({ id }) => id)}::text[], ${digests}::text[]) as key (id, digest)`.execute(db);
};

const warmUp = async (cache: CredentialCache, keys: readonly Key[]): Promise<void> => {
  const atOnce = 50;
  for (let first = 0; first < keys.length; first += atOnce) {
    await Promise.all(keys.slice(first, first + atOnce).map(({ value }) => cache.findKey(value)));
  }
};

/** Asks for keys in turn, at an even rate. */
const use = async (cache: CredentialCache, keys: readonly Key[], signal: AbortSignal): Promise<void> => {
  const startedAt = performance.now();
  for (let asked = 0; !signal.aborted; await sleep(5)) {
    const due = ((performance.now() - startedAt) * lookUpsPerSecond) / 1000;
    for (; asked < due; asked += 1) {
      // A promise only when the store is asked, which no other look-up waits for.
      const found = cache.findKey(keys[asked % keys.length]?.value ?? '');
      if (found instanceof Promise) found.catch((error: unknown) => print(String(error)));
    }
  }
};

const revokedAfterMs = async (cache: CredentialCache, { value }: Key): Promise<number> => {
  const startedAt = performance.now();
  while ((await cache.findKey(value))?.revoked !== true) await sleep(2);
  return performance.now() - startedAt;
};

const commits = async (db: Kysely<unknown>): Promise<number> => {
  // A server process writes its counts when it has been idle for ten seconds.
  await sleep(11_000);
  const { rows } = await sql<{ commits: number }>`
    select xact_commit as commits from pg_stat_database where datname = current_database()`.execute(db);
  return rows[0]?.commits ?? 0;
};

const measure = (seconds: number) =>
  withParts(async (startPart) => {
    const part = await startPart('store', undefined, []);
    const open = () =>
      openStore({ dataDir: '', databaseUrl: String(part.ready.url), applicationName: 'bench' }, log, {
        exclusive: false,
      });
    const stores = await Promise.all(Array.from({ length: gateways + 1 }, open));
    const [admin, ...own] = stores;
    if (admin === undefined) throw new Error('no store');
    await migrate(admin.pool, [...platformMigrations, ...gatewayMigrations], { log });
    const credentials = createCredentials({ db: admin.db, box, clock: systemClock });
    await credentials.createTenant('rst_1');
    const keys = Array.from({ length: keysInUse }, newApiKey);
    await insertKeys(admin.db, keys);
    const ended = new AbortController();
    const caches = own.map(({ db, pool }) => createCredentialCache({ db, pool, box, log, clock: systemClock }));
    const services = supervise(
      caches.map(({ service }) => service),
      ended.signal,
      log,
    );
    await Promise.all(caches.map((cache) => warmUp(cache, keys)));

    const before = { commits: await commits(admin.db), figures: caches.map(({ figures }) => figures()) };
    const startedAt = performance.now();
    const stopped = new AbortController();
    const using = caches.map((cache) => use(cache, keys, stopped.signal));
    const waits: Promise<number>[] = [];
    let changes = 0;
    for (; changes < seconds * changesPerSecond; changes += 1) {
      const key = keys[Math.floor((changes * keysInUse) / (seconds * changesPerSecond))];
      if (key === undefined) throw new Error('no key');
      const next = startedAt + ((changes + 1) * 1000) / changesPerSecond;
      if (changes % revokedEvery === 0) {
        await credentials.revokeApiKey(key.id);
        waits.push(...caches.map((cache) => revokedAfterMs(cache, key)));
      } else await credentials.setLimits('key', key.id, { minute: 1_000 });
      await sleep(Math.max(0, next - performance.now()));
    }
    const tookMs = (await Promise.all(waits)).toSorted((a, b) => a - b);
    stopped.abort();
    await Promise.all(using);
    const ranSeconds = (performance.now() - startedAt) / 1000;
    const after = caches.map(({ figures }) => figures());
    // A change is a transaction, its hint a second one, and each server process that takes the hint counts one more.
    const statements = (await commits(admin.db)) - before.commits - changes * (2 + gateways);
    ended.abort();
    await services;
    for (const store of stores) await store.close();
    const rates = after.map(({ hits, misses }, index) => {
      const earlier = before.figures[index] ?? { hits: 0, misses: 0 };
      return (hits - earlier.hits) / (hits - earlier.hits + misses - earlier.misses);
    });
    return { rates, tookMs, perSecond: statements / gateways / ranSeconds, changes: changes / ranSeconds };
  });

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

const seconds = Number(process.argv[2] ?? 30);
const { rates, tookMs, perSecond, changes } = await measure(seconds);
print(
  `${keysInUse} keys, ${changes.toFixed(1)} changes/s, ${lookUpsPerSecond} look-ups/s of each of ${gateways} gateways`,
);
for (const rate of rates) print(`answered without the store ${(rate * 100).toFixed(2)} %, goal ${hitRateMin * 100} %`);
print(
  `revoked after ${at(tookMs, 0.5).toFixed(0)} ms (median), ${at(tookMs, 0.99).toFixed(0)} ms (p99 of ${tookMs.length}), goal ${revokedMsMax} ms`,
);
print(`statements/s of a gateway ${perSecond.toFixed(1)}, look-ups of changed keys included`);
const reached = rates.every((rate) => rate >= hitRateMin) && at(tookMs, 0.99) < revokedMsMax;
print(reached ? 'reached' : 'MISSED');
process.exitCode = reached ? 0 : 1;
