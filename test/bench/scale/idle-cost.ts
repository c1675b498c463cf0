/**
 * What does a fleet without a request cost its PostgreSQL? Two gateways, two cores and two workers are started and left alone.
 * Counted by the server, so a slow machine shows no more than a quick one: statements and transactions a second, and
 * connections. The first minute is not counted, in which the connections of the start close. Argument: seconds (default 60).
 * Exit code 1 when a goal is missed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startCountingServer, startFleet, statementsBetween } from '../../platform/idle/idle-fleet.ts';
import { column, print } from '../kit/parts.ts';

const seconds = Number(process.argv[2] ?? 60);
/** Longer than the pool keeps a connection that is not used. */
const settleMs = 75_000;
const goals = { statements: 21, transactions: 15, connections: 14 };
const shownPerSecondMin = 0.05;

const measure = async () => {
  const server = await startCountingServer();
  try {
    const fleet = await startFleet(server, 2);
    try {
      await sleep(settleMs);
      const before = await server.count();
      let connections = new Map<string, number>();
      const totalOf = (counts: ReadonlyMap<string, number>): number =>
        [...counts.values()].reduce((sum, count) => sum + count, 0);
      for (let second = 0; second < seconds; second += 1) {
        await sleep(1_000);
        const now = await server.connections();
        if (totalOf(now) > totalOf(connections)) connections = now;
      }
      const after = await server.count();
      return { before, after, connections, total: totalOf(connections) };
    } finally {
      await fleet.stop();
    }
  } finally {
    await server.stop();
  }
};

const { before, after, connections, total } = await measure();
const ranSeconds = (after.atMs - before.atMs) / 1000;
const found = statementsBetween(before, after);
const rateOf = (process?: string): number =>
  found.reduce((sum, one) => sum + (process === undefined || one.process === process ? one.calls : 0), 0) / ranSeconds;

print(`${column('process', 12)}${column('statements/s', 14)}${column('connections', 13)}`);
for (const [process, count] of [...connections].sort()) {
  print(`${column(process, 12)}${column(rateOf(process).toFixed(1), 14)}${column(String(count), 13)}`);
}
print(`\nof the first process of each role, a second`);
for (const { process, text, calls } of found) {
  if (!process.endsWith('_1') || calls / ranSeconds < shownPerSecondMin) continue;
  print(
    `${column(process, 12)}${column((calls / ranSeconds).toFixed(2), 7)}  ${text.replace(/\s+/g, ' ').slice(0, 110)}`,
  );
}
const figures = {
  statements: rateOf(),
  transactions: (after.transactions - before.transactions) / ranSeconds,
  connections: total,
};
print('');
let isReached = true;
for (const name of ['statements', 'transactions', 'connections'] as const) {
  if (figures[name] > goals[name]) isReached = false;
  print(`${column(name, 12)}${column(figures[name].toFixed(1), 8)}, goal at most ${goals[name]}`);
}
print(isReached ? 'reached' : 'MISSED');
process.exitCode = isReached ? 0 : 1;
