/**
 * Does a request cost more where there is more? The same operations of the core on two databases of one server: one
 * restaurant with 10,000 orders, one with 1,000,000, customers and ledger in proportion. Calls take turns, so that a
 * disturbance of the machine meets both; of each round the medians are compared, and the median of all rounds counts. Exit
 * code 1 when the goal is missed. Arguments: rounds, orders of the large one.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '#src/platform/db/index.ts';
import { createLog } from '#src/platform/log.ts';
import { openScaled, type Scaled } from './kit/orders/order-scaled.ts';
import { column, median, print } from './kit/parts.ts';
import { costGoal as goal, timesInTurns } from './scale/compare.ts';

const roundsDefault = 15;
const callsOfRound = 12;
const warmUpCalls = 60;
const smallOrders = 10_000;
const largeOrders = Number(process.argv[3] ?? 1_000_000);

const measure = async (small: Scaled, large: Scaled, rounds: number): Promise<boolean> => {
  print(`${''.padEnd(46)}${column('small', 10)}${column('large', 10)}${column('ratio', 8)}`);
  let reached = true;
  for (const [name, { call: callSmall, hasGoal }] of small.calls) {
    const callLarge = large.calls.get(name)?.call;
    if (callLarge === undefined) throw new Error(`no call ${name}`);
    for (let i = 0; i < warmUpCalls; i += 1) {
      await callSmall();
      await callLarge();
    }
    const figures: [number, number][] = [];
    for (let round = 0; round < rounds; round += 1) {
      figures.push(await timesInTurns(callsOfRound, callSmall, callLarge, round));
    }
    const ratio = median(figures.map(([few, many]) => many / few));
    const ok = ratio <= goal;
    if (hasGoal) reached &&= ok;
    const [few, many] = [median(figures.map(([each]) => each)), median(figures.map(([, each]) => each))];
    print(
      `${name.padEnd(46)}${column(`${few.toFixed(2)} ms`, 10)}${column(`${many.toFixed(2)} ms`, 10)}${column(ratio.toFixed(2), 8)}  ${hasGoal ? (ok ? 'reached' : 'MISSED') : 'no goal'}`,
    );
  }
  return reached;
};

const folder = await mkdtemp(join(tmpdir(), 'orderpass-bench-'));
// Started by root, the database server runs as a user that must be able to enter.
await chmod(folder, 0o755);
const log = createLog({ level: 'warn', role: 'bench' });
const dataDir = join(folder, 'data');
const store = await openStore({ dataDir, applicationName: 'bench' }, log, { exclusive: true });
const opened: Scaled[] = [];
try {
  const cursorKey = randomBytes(32);
  const startedAt = performance.now();
  for (const orders of [smallOrders, largeOrders])
    opened.push(await openScaled(store, { dataDir, orders, cursorKey, log }));
  const [small, large] = opened;
  if (small === undefined || large === undefined) throw new Error('two databases are compared');
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  const rounds = Number(process.argv[2] ?? roundsDefault);
  print(
    `${smallOrders} and ${largeOrders} orders, made in ${seconds} s; ${rounds} rounds of ${callsOfRound} calls each`,
  );
  const reached = await measure(small, large, rounds);
  print(`goal: at most ${goal} times: ${reached ? 'reached' : 'MISSED'}`);
  process.exitCode = reached ? 0 : 1;
} finally {
  for (const each of opened) await each.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
}
