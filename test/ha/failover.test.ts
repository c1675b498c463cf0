/**
 * The primary of a PostgreSQL under Patroni is killed, lost with its machine or frozen, at random moments under load, and so
 * is the primary of Redis. The history of all calls is compared with the database, the feed of events and the receiver.
 * TEST_HA_ROUNDS is the number of failovers (default 20), TEST_SEED repeats what was random, and TEST_HA_REFUSED_SECONDS is
 * how long writes may be refused in each (default 15).
 */
import { onTestFinished, test } from 'vitest';
import { createRandom, randomSeed } from '../support/random.ts';
import { findPrograms } from './cluster/programs.ts';
import { type FailoverFleet, type Route, routes, startFailoverFleet } from './failover-fleet.ts';
import { roundMsMax, runRounds } from './failover-rounds.ts';

const rounds = Number(process.env.TEST_HA_ROUNDS ?? 20);
const refusedMsMax = Number(process.env.TEST_HA_REFUSED_SECONDS ?? 15) * 1_000;
const startMsMax = 600_000;
const closeMsMax = 240_000;

const programs = findPrograms();
const start = (route: Route): Promise<FailoverFleet> =>
  typeof programs === 'string' ? Promise.reject(new Error(programs)) : startFailoverFleet(programs, route);

for (const route of routes) {
  const problem = typeof programs === 'string' ? programs : undefined;
  if (problem !== undefined) process.stderr.write(`skipped: failovers of PostgreSQL by ${route}: ${problem}\n`);
  test.skipIf(problem !== undefined)(
    `by ${route}: while the primary of PostgreSQL is killed, lost or frozen under load, no acknowledged write is lost or doubled, no event is lost or out of order, and no revoked credential passes`,
    async () => {
      const random = createRandom(randomSeed());
      const say = (text: string): void => void process.stdout.write(`failover by ${route}: ${text}\n`);
      say(`seed ${random.seed}`);
      const fleet = await start(route);
      let hasPassed = false;
      onTestFinished(async () => {
        if (!hasPassed) say(`failed with seed ${random.seed}; the logs of the servers are in ${fleet.folder}`);
        await fleet.close(!hasPassed);
      }, closeMsMax);
      await runRounds(fleet, { rounds, refusedMsMax, random, say });
      hasPassed = true;
    },
    startMsMax + rounds * roundMsMax,
  );
}
