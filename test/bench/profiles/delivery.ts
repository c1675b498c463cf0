/**
 * Where does the processor time of a delivery go? One worker sends to 1,000 receivers:
 *   1. the main thread of the worker by part, by the profiler of V8. A sample counts for the function of the program that runs
 *      or that has called what runs. The shares are applied to the processor time of the thread.
 *   2. the store by statement, as `pg_stat_statements` counts it. The shares are applied to the processor time of PostgreSQL,
 *      because the time of a statement contains what other work took of the core.
 *
 *   node test/bench/profiles/delivery.ts [EVENTS] [--statements]
 *
 * `--statements`: the statements that take most. The profiler costs time itself, so the sum is higher than in
 * `webhooks.ts rate`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { column, pinned, print, processorTimeOf, type startPart, withParts } from '../kit/parts.ts';
import { type Harness, openHarness } from '../kit/webhook-harness.ts';
import { isClaim, partOfStatement, type SampledProfile, threadShares } from '../kit/webhooks/delivery-parts.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { statements: { type: 'boolean', default: false } },
});
const receiversCount = 1_000;
const events = Number(positionals[0] ?? 20_000);
const warmUp = 10_000;
const statistics = JSON.stringify({ shared_preload_libraries: 'pg_stat_statements' });

type Statement = { query: string; ms: number; rows: number };
/** `main`, `store`: microseconds of processor time; `from`, `to`: of the monotonic clock, in microseconds. */
type Measured = {
  from: number;
  to: number;
  main: number;
  store: number;
  statements: Statement[];
  profile: SampledProfile;
};

const monotonicMicros = (): number => Number(process.hrtime.bigint() / 1_000n);

/** Of the server's process and its children, which serve one connection each. */
const storeMicros = (serverPid: number): number => {
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(serverPid)], { encoding: 'utf8' }).split('\n');
  const pids = [serverPid, ...children.map(Number).filter((pid) => pid > 0)];
  return pids.reduce((sum, pid) => sum + processorTimeOf(pid), 0);
};

const serverPidOf = async ({ pool }: Harness): Promise<number> => {
  const { rows } = await pool.query<{ pid: number }>(
    "select split_part(pg_read_file('postmaster.pid'), chr(10), 1)::integer as pid",
  );
  return rows[0]?.pid ?? 0;
};

const statementsOf = async ({ pool }: Harness): Promise<Statement[]> => {
  const { rows } = await pool.query<Statement>(
    `select trim(query) as query, total_exec_time as ms, rows::integer from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database()) order by total_exec_time desc`,
  );
  return rows;
};

const profileOf = async (folder: string, pid: number | undefined): Promise<SampledProfile> => {
  const name = (await readdir(folder)).find((file) => file.includes(`.${pid}.0.`));
  if (name === undefined) throw new Error('the worker has written no profile');
  return JSON.parse(await readFile(join(folder, name), 'utf8')) as SampledProfile;
};

const measure = async (start: typeof startPart, folder: string): Promise<Measured> => {
  const receivers = await start('webhook-receivers', 1, [String(receiversCount)]);
  const store = await start('store', 1, [statistics]);
  const harness = await openHarness(String(store.ready.url), 'bench_profile');
  const targets = (receivers.ready.ports as number[]).map(
    (port) => [`rst_${port}`, `http://127.0.0.1:${port}/hook`] as const,
  );
  for (const [tenant, url] of targets) await harness.addEndpoint(tenant, url);
  await harness.pool.query('create extension pg_stat_statements');
  const serverPid = await serverPidOf(harness);
  const options = `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-interval=500`;
  const worker = await harness.startWorker({ NODE_OPTIONS: options });
  const tenants = targets.map(([tenant]) => tenant);
  /** Resolves when the events are recorded, and then when the deliveries have arrived: what it costs to record does not count. */
  const begin = async (count: number): Promise<{ arrived: Promise<unknown> }> => {
    await receivers.ask({ forget: true });
    const arrived = receivers.ask({ count });
    await harness.record(tenants, count);
    harness.freeSigningThread();
    return { arrived };
  };
  try {
    await (await begin(warmUp)).arrived;
    const { arrived } = await begin(events);
    await harness.pool.query('select pg_stat_statements_reset()');
    const [from, mainBefore, storeBefore] = [monotonicMicros(), harness.mainMicros(), storeMicros(serverPid)];
    await arrived;
    const to = monotonicMicros();
    const [main, ofStore] = [harness.mainMicros() - mainBefore, storeMicros(serverPid) - storeBefore];
    const statements = await statementsOf(harness);
    await worker.stop();
    return { from, to, main, store: ofStore, statements, profile: await profileOf(folder, worker.child.pid) };
  } finally {
    await worker.stop();
    await harness.close();
  }
};

const report = (title: string, shares: ReadonlyMap<string, number>, together: number): void => {
  const row = (name: string, micros: number): void => print(`${name.padEnd(48)}${column(micros.toFixed(1), 8)}`);
  print('');
  print(title);
  for (const [name, share] of [...shares].toSorted(([, a], [, b]) => b - a)) row(name, share * together);
  row('together', together);
};

const storeShares = (statements: readonly Statement[]): Map<string, number> => {
  const all = statements.reduce((sum, { ms }) => sum + ms, 0);
  const shares = new Map<string, number>();
  for (const { query, ms } of statements) {
    const part = partOfStatement(query);
    shares.set(part, (shares.get(part) ?? 0) + ms / all);
  }
  return shares;
};

const folder = await mkdtemp(join(tmpdir(), 'orderpass-bench-profile-'));
try {
  const { from, to, main, store, statements, profile } = await withParts((start) => measure(start, folder));
  const claimed = statements.filter(({ query }) => isClaim(query)).reduce((sum, { rows }) => sum + rows, 0);
  print(`${events} deliveries to ${receiversCount} receivers, ${pinned}`);
  print(`${((claimed / events) * 100).toFixed(0)} % were claimed, the others took the fast path`);
  report('µs of the main thread for a delivery', threadShares(profile, from, to), main / events);
  report('µs of the store for a delivery', storeShares(statements), store / events);
  if (values.statements)
    for (const { query, ms } of statements.slice(0, 30))
      print(`${column(((ms * 1_000) / events).toFixed(1), 8)}  ${query.replaceAll(/\s+/g, ' ').slice(0, 160)}`);
} finally {
  await rm(folder, { recursive: true });
}
