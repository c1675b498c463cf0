/** Commits that wait for a standby that is gone: the server waits on, also after its client has left. */
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { createWriteProbe } from '#src/platform/db/write-probe.ts';
import { signalOne } from '../../support/signal.ts';
import { until } from '../../support/until.ts';
import { startPair } from './database-pair.ts';

/** Longer than the 5 s after which the probe calls a write failing. */
const silentMsMax = 6_500;

test('A-530 the probe of writes cancels a commit that waits for a lost standby, and leaves one at most that cannot be cancelled', async () => {
  const pair = await startPair();
  onTestFinished(pair.close);
  const pool = createPool(
    { connection: pair.primary.url, applicationName: 'probed', silentMsMax },
    pino({ level: 'silent' }),
  );
  onTestFinished(() => pool.end());
  const probe = createWriteProbe(createDatabase(pool));
  const waiting = async (): Promise<unknown[]> => {
    const found = await pair.primary.query(
      `select pid from pg_stat_activity where application_name = 'probed' and wait_event = 'SyncRep'`,
    );
    return found.map(({ pid }) => pid);
  };
  expect(await probe()).toBe('ok');
  await pair.standby.freeze();
  await until(async () => (await probe()) === 'failing');
  await until(async () => (await waiting()).length === 0);

  await until(async () => (await probe()) === 'failing' && (await waiting()).length === 1);
  const [stopped] = await waiting();
  signalOne(Number(stopped), 'SIGSTOP');
  const left = new Set<unknown>();
  try {
    // The client gives the connection up, and the probe is asked several times after that.
    await until(() => pool.totalCount === pool.idleCount);
    const end = performance.now() + 2 * silentMsMax;
    while (performance.now() < end) {
      expect(await probe()).toBe('failing');
      for (const pid of await waiting()) left.add(pid);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect([...left]).toEqual([stopped]);
  } finally {
    signalOne(Number(stopped), 'SIGCONT');
  }
  await pair.primary.query("alter system set synchronous_standby_names = ''");
  await pair.primary.query('select pg_reload_conf()');
  await until(async () => (await probe()) === 'ok');
  expect(await waiting()).toEqual([]);
});
