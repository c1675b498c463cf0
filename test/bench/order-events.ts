/**
 * What do events take away from the rate of orders? Eight writers send orders of known customers through the gateway of the
 * whole program, in turn with the order events of every restaurant on and off. First on a disk that takes 20 ms for a commit,
 * as a busy network disk does (`commit_delay`; commits of the same time share a write): there a lock that commits share would
 * show, and the goal holds. Then on the disk as it is, where events also cost the work of recording and dispatching them on
 * cores that program, database and load share. There are no endpoints: deliveries are measured by webhooks.ts. Exit code 1
 * when the goal is missed.
 */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { createLog } from '#src/platform/log.ts';
import { makeDataDir, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';
import { openShops } from './kit/orders/order-shops.ts';
import { column, median, print, ratiosOf, startPart, stopPart } from './kit/parts.ts';

const goal = 0.95;
const roundsDefault = 14;
/** Short, so that what disturbs the machine meets both sides. */
const roundMs = 2_000;
const writers = 8;
const slowCommitMs = 20;

const rounds = Number(process.argv[2] ?? roundsDefault);
const data = makeDataDir();
const env = {
  ORDERPASS_DATA_DIR: data.path,
  ORDERPASS_RATE_MINUTE_UNITS: '1000000000',
  ORDERPASS_RATE_BURST_UNITS: '1000000000',
  ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
  NODE_ENV: 'production',
};
const program = await startProgram(env);
const load = await startPart('load', undefined, [String(writers)]);
const closers = [() => stopPart(load), () => program.stop(), data.remove];
try {
  const { connection, restaurants, request } = await openShops(program, env);
  const log = createLog({ level: 'silent', role: 'bench' });
  const pool = createPool({ connection, applicationName: 'bench', max: 1 }, log);
  closers.unshift(() => pool.end());
  const db = createDatabase(pool);

  const delayCommits = async (ms: number): Promise<void> => {
    await pool.query(`alter system set commit_delay = ${ms * 1_000}`);
    await pool.query('alter system set commit_siblings = 0');
    await pool.query('select pg_reload_conf()');
  };
  const isDispatched = async (): Promise<boolean> =>
    (await sql`select from outbox.waiting limit 1`.execute(db)).rows.length === 0;
  const rateWith = async (orders: boolean): Promise<number> => {
    for (const { restuid } of restaurants) await setKinds(db, restuid, { orders });
    const target = { url: program.url, path: '/api/order/create', method: 'POST', ...request };
    const { requests, failures, ms } = await load.ask({ ...target, ms: roundMs });
    if (failures !== 0) throw new Error(`${String(failures)} orders were refused`);
    await until(isDispatched);
    return (Number(requests) * 1000) / Number(ms);
  };
  /** Median, smallest and largest ratio of the rounds. */
  const compare = async (): Promise<[number, number, number]> => {
    // The first round warms both sides up and does not count.
    await rateWith(true);
    await rateWith(false);
    const [withEvents, without]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      withEvents.push(await rateWith(true));
      without.push(await rateWith(false));
    }
    print(`  with events    ${column(median(withEvents).toFixed(0), 6)} orders/s`);
    print(`  without events ${column(median(without).toFixed(0), 6)} orders/s`);
    const ratios = ratiosOf(withEvents, without);
    return [median(ratios), Math.min(...ratios), Math.max(...ratios)];
  };
  const shown = ([middle, least, most]: [number, number, number]): string =>
    `  ratio ${middle.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;

  print(`${rounds} rounds of ${roundMs / 1000} s, ${writers} writers, ${restaurants.length} restaurants`);
  print(`a commit takes ${slowCommitMs} ms`);
  await delayCommits(slowCommitMs);
  const slow = await compare();
  const reached = slow[0] >= goal;
  print(`${shown(slow)}, goal ${goal.toFixed(2)}  ${reached ? 'reached' : 'MISSED'}`);
  print('the disk as it is');
  await delayCommits(0);
  print(shown(await compare()));
  process.exitCode = reached ? 0 : 1;
} finally {
  for (const close of closers) await close();
}
