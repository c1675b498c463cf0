/**
 * What do events take away from the rate of orders? Eight writers send orders of known customers through the gateway of the
 * whole program, in turn with the order events of every restaurant on and off. An event costs rows and the work of the
 * dispatcher, which runs in the same program; a lock that every commit shares would cost more with each writer. There are no
 * endpoints: deliveries are measured by webhooks.ts. Exit code 1 when the goal is missed.
 */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { createLog } from '#src/platform/log.ts';
import { makeDataDir, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';
import { openShops } from './kit/order-shops.ts';
import { column, median, print, ratiosOf, startPart, stopPart } from './kit/parts.ts';

const goal = 0.95;
const roundsDefault = 14;
/** Short, so that what disturbs the machine meets both sides. */
const roundMs = 2_000;
const writers = 8;

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
try {
  const { connection, restaurants, request } = await openShops(program, env);
  const pool = createPool(
    { connection, applicationName: 'bench', max: 1 },
    createLog({ level: 'silent', role: 'bench' }),
  );
  const db = createDatabase(pool);
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
  try {
    const rounds = Number(process.argv[2] ?? roundsDefault);
    print(`${rounds} rounds of ${roundMs / 1000} s, ${writers} writers, ${restaurants.length} restaurants`);
    // The first ones warm both sides up.
    for (const orders of [true, false]) await rateWith(orders);
    const [withEvents, without]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      withEvents.push(await rateWith(true));
      without.push(await rateWith(false));
    }
    print(`order/create with events    ${column(median(withEvents).toFixed(0), 6)} orders/s`);
    print(`order/create without events ${column(median(without).toFixed(0), 6)} orders/s`);
    const ratios = ratiosOf(withEvents, without);
    const reached = median(ratios) >= goal;
    const figures = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((figure) => figure.toFixed(2));
    print(
      `ratio ${figures[0]} (${figures[1]} to ${figures[2]}), goal ${goal.toFixed(2)}  ${reached ? 'reached' : 'MISSED'}`,
    );
    process.exitCode = reached ? 0 : 1;
  } finally {
    await pool.end();
  }
} finally {
  await stopPart(load);
  await program.stop();
  data.remove();
}
