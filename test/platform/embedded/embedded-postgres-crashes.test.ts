import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startEmbedded } from '#src/platform/db/embedded/embedded.ts';
import { serversOf } from '#src/platform/db/embedded/leftover.ts';
import { readPidFile } from '#src/platform/db/embedded/pid-file.ts';
import { createPool } from '#src/platform/db/pool.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import { signalOne } from '../../support/signal.ts';
import {
  type Folder,
  makeFolder,
  type PreparedData,
  prepareData,
  query,
  startOwner,
  untilNoServer,
} from '../../support/store-owner.ts';
import { until } from '../../support/until.ts';

const log = pino({ level: 'silent' });

let prepared: PreparedData;
beforeAll(async () => {
  prepared = await prepareData();
});
afterAll(() => prepared.remove());

let folder: Folder;
beforeEach(async () => {
  folder = await makeFolder();
  await prepared.copyTo(folder);
});
afterEach(() => folder.remove());

const postmaster = async (): Promise<number | undefined> => (await readPidFile(folder.cluster))?.pid;

describe('kill -9 of the process that owns the store', () => {
  test('stops its PostgreSQL too, and the next start has everything that was committed', async () => {
    const owner = await startOwner(folder);
    await query(owner.connection, 'create table dishes (name text)', `insert into dishes values ('soup')`);
    await owner.kill();
    await untilNoServer(folder.cluster);
    const next = await startEmbedded({ dataDir: folder.dataDir, log });
    try {
      expect(await query(next.connection, 'select name from dishes')).toEqual([{ name: 'soup' }]);
    } finally {
      await next.stop();
    }
  });

  test('does not hinder a start at the same moment, with a client still at work in the old server', async () => {
    const owner = await startOwner(folder);
    await query(owner.connection, 'create table dishes (name text)', `insert into dishes values ('soup')`);
    const busy = query(owner.connection, 'select pg_sleep(60)').catch((error: unknown) => error);
    await until(async () => {
      const rows = await query(owner.connection, `select 1 from pg_stat_activity where query = 'select pg_sleep(60)'`);
      return rows.length > 0;
    });
    await owner.kill();
    const next = await startEmbedded({ dataDir: folder.dataDir, log });
    try {
      expect(await query(next.connection, 'select name from dishes')).toEqual([{ name: 'soup' }]);
      expect(isTransient(await busy)).toBe(true);
    } finally {
      await next.stop();
    }
  });

  test('with its PostgreSQL killed too leaves a pid file and backends that do not hinder the next start', async () => {
    const owner = await startOwner(folder);
    await query(owner.connection, 'create table dishes (name text)', `insert into dishes values ('soup')`);
    owner.child.kill('SIGSTOP');
    signalOne(await postmaster(), 'SIGKILL');
    await owner.kill();
    expect(await readPidFile(folder.cluster)).toBeDefined();
    const next = await startEmbedded({ dataDir: folder.dataDir, log });
    try {
      expect(await query(next.connection, 'select name from dishes')).toEqual([{ name: 'soup' }]);
    } finally {
      await next.stop();
    }
    expect(await serversOf(folder.cluster)).toEqual([]);
  });

  test('during its first start leaves nothing that hinders the next one', async () => {
    await rm(folder.dataDir, { recursive: true });
    const first = startOwner(folder).catch(() => undefined);
    await until(async () =>
      (await readFile(`${folder.dataDir}/postgres.log`, 'utf8').catch(() => '')).includes('creating subdirectories'),
    );
    const pid = Number(await readFile(`${folder.dataDir}/owner.pid`, 'utf8'));
    signalOne(pid, 'SIGKILL');
    await first;
    const next = await startEmbedded({ dataDir: folder.dataDir, log });
    try {
      expect(await query(next.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
    } finally {
      await next.stop();
    }
  });
});

const expectRecovery = async (signal: NodeJS.Signals): Promise<void> => {
  const embedded = await startEmbedded({ dataDir: folder.dataDir, log });
  const pool = createPool({ connection: embedded.connection, applicationName: 'test' }, log);
  try {
    await pool.query('create table dishes (name text)');
    const before = await postmaster();
    signalOne(before, signal);
    const failures: unknown[] = [];
    await until(async () => {
      // Read before the insert: the old server may answer an insert and then end, before its pid is read.
      const isStartedAgain = (await postmaster()) !== before;
      const inserted = await pool.query(`insert into dishes values ('soup')`).then(
        () => true,
        (error: unknown) => {
          failures.push(error);
          return false;
        },
      );
      return isStartedAgain && inserted;
    });
    expect(failures.filter((error) => !isTransient(error))).toEqual([]);
    const { rows } = await pool.query<{ dishes: number }>('select count(*) as dishes from dishes');
    expect(rows[0]?.dishes).toBeGreaterThan(0);
  } finally {
    await pool.end();
    await embedded.stop();
  }
  expect(await serversOf(folder.cluster)).toEqual([]);
};

describe('PostgreSQL that ends while Orderpass runs', () => {
  test.each(['SIGKILL', 'SIGTERM', 'SIGQUIT'] as const)(
    'by %s is started again and the pool recovers by itself',
    (signal) => expectRecovery(signal),
  );

  test('A-650 by SIGKILL is started again where its socket is outside of the data folder, since the path is long', async () => {
    const dataDir = path.join(folder.path, 'x'.repeat(90), 'data');
    await mkdir(path.dirname(dataDir));
    await rename(folder.dataDir, dataDir);
    folder = { ...folder, dataDir, cluster: path.join(dataDir, 'postgres') };
    await expectRecovery('SIGKILL');
  });

  test('is not ended by Ctrl-C: Orderpass finishes its work first', async () => {
    const owner = await startOwner(folder);
    try {
      const before = await postmaster();
      // What a terminal does: the signal goes to the whole process group.
      const group = owner.child.pid;
      if (group === undefined) throw new Error('the owner was not started');
      process.kill(-group, 'SIGINT');
      expect(await query(owner.connection, 'select pg_sleep(0.2)::text as slept')).toEqual([{ slept: '' }]);
      expect(await postmaster()).toBe(before);
    } finally {
      await owner.stop();
    }
    await untilNoServer(folder.cluster);
  });

  test.skipIf(process.platform !== 'linux')('sees none of the secrets in the environment of Orderpass', async () => {
    const owner = await startOwner(folder, { env: { ORDERPASS_TEST_SECRET: 'a-secret' } });
    try {
      const ownerEnvironment = await readFile(`/proc/${owner.child.pid}/environ`, 'utf8');
      expect(ownerEnvironment).toContain('a-secret');
      expect(await readFile(`/proc/${await postmaster()}/environ`, 'utf8')).not.toContain('a-secret');
    } finally {
      await owner.stop();
    }
  });
});
