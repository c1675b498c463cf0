import { cp, mkdir, readdir, readFile, rename, rm, stat, symlink, truncate, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SocketConnection } from '#src/platform/db/driver/socket-connection.ts';
import { streamBaseBackup } from '#src/platform/db/embedded/base-backup.ts';
import { embeddedConnection, startEmbedded } from '#src/platform/db/embedded/embedded.ts';
import { serversOf } from '#src/platform/db/embedded/leftover.ts';
import { openStore, type Store } from '#src/platform/db/index.ts';
import { createPool } from '#src/platform/db/pool.ts';
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

const dishes = ['create table dishes (name text)', `insert into dishes values ('soup')`];

let prepared: PreparedData;
beforeAll(async () => {
  prepared = await prepareData(...dishes);
});
afterAll(() => prepared.remove());

let folder: Folder;
beforeEach(async () => {
  folder = await makeFolder();
});
afterEach(() => folder.remove());

/** A finished first start with one row in it. */
const initialise = async (): Promise<void> => {
  const first = await startEmbedded({ dataDir: folder.dataDir, log });
  try {
    expect(first.freshlyCreated).toBe(true);
    await query(first.connection, ...dishes);
  } finally {
    await first.stop();
  }
};

/** The same, without a first start. */
const copyInitialised = (): Promise<void> => prepared.copyTo(folder);

const expectDishes = async (): Promise<void> => {
  const again = await startEmbedded({ dataDir: folder.dataDir, log });
  try {
    expect(again.freshlyCreated).toBe(false);
    expect(await query(again.connection, 'select name from dishes')).toEqual([{ name: 'soup' }]);
  } finally {
    await again.stop();
  }
};

describe('a start', () => {
  test('initialises an absent data folder and the next one keeps the data', async () => {
    await initialise();
    await expectDishes();
    expect(await serversOf(folder.cluster)).toEqual([]);
  });

  test('A-657 goes on when the clock of the machine is set meanwhile, as a time service does at the start of a machine', async () => {
    let setMs = 0;
    const { now } = Date;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => {
      setMs += 3_600_000;
      return now() + setMs;
    });
    try {
      await initialise();
      await expectDishes();
    } finally {
      clock.mockRestore();
    }
  });

  test('gives a server that answers on a socket which only its own user can reach, in UTC and with checksums', async () => {
    const embedded = await startEmbedded({ dataDir: folder.dataDir, log });
    try {
      expect((await stat(embedded.connection.host)).mode & 0o777).toBe(0o700);
      const names = [
        'listen_addresses',
        'timezone',
        'data_checksums',
        'fsync',
        'synchronous_commit',
        'server_encoding',
      ];
      const columns = names.map((name) => `current_setting('${name}') as ${name}`).join(', ');
      expect(await query(embedded.connection, `select ${columns}`)).toEqual([
        {
          listen_addresses: '',
          timezone: 'UTC',
          data_checksums: 'on',
          fsync: 'on',
          synchronous_commit: 'on',
          server_encoding: 'UTF8',
        },
      ]);
    } finally {
      await Promise.all([embedded.stop(), embedded.stop()]);
    }
  });

  test('works where the path is too long for a Unix socket, and other processes find the server there', async () => {
    const dataDir = path.join(folder.path, 'x'.repeat(90), 'y'.repeat(90), 'data');
    const embedded = await startEmbedded({ dataDir, log });
    const { host } = embedded.connection;
    try {
      expect(await embeddedConnection(dataDir)).toEqual({ connection: embedded.connection });
      expect((await stat(host)).mode & 0o777).toBe(0o700);
    } finally {
      await embedded.stop();
    }
    await expect(stat(host)).rejects.toThrow('ENOENT');
  });

  test('repairs a half-initialised folder and removes what an interrupted first start left', async () => {
    await mkdir(path.join(folder.cluster, 'global'), { recursive: true });
    await mkdir(path.join(folder.dataDir, 'postgres.new-0123456789ab', 'base'), { recursive: true });
    await writeFile(path.join(folder.cluster, 'postgresql.conf'), '');
    await initialise();
    await expectDishes();
    expect((await readdir(folder.dataDir)).filter((name) => name.includes('.new-'))).toEqual([]);
  });

  test('refuses a folder with databases and a missing pg_control, and deletes nothing', async () => {
    await copyInitialised();
    const control = path.join(folder.cluster, 'global', 'pg_control');
    const content = await readFile(control);
    await truncate(control);
    await expect(startEmbedded({ dataDir: folder.dataDir, log })).rejects.toMatchObject({ code: 'DATA_DIR_DAMAGED' });
    await writeFile(control, content);
    await expectDishes();
  });

  test('refuses the data of another major version with the number of both', async () => {
    await copyInitialised();
    await writeFile(path.join(folder.cluster, 'PG_VERSION'), '17\n');
    await expect(startEmbedded({ dataDir: folder.dataDir, log })).rejects.toMatchObject({
      code: 'DATA_DIR_OTHER_VERSION',
      message: expect.stringMatching(/PostgreSQL 17.*carries 18/),
    });
    await writeFile(path.join(folder.cluster, 'PG_VERSION'), '18\n');
    await expectDishes();
  });

  test('that fails names the end of the server log', async () => {
    const extraSettings = { shared_buffers: 'plenty' };
    await expect(startEmbedded({ dataDir: folder.dataDir, log, extraSettings })).rejects.toMatchObject({
      code: 'POSTGRES_NOT_READY',
      message: expect.stringContaining('invalid value for parameter "shared_buffers"'),
    });
  });

  test('is not held up by a stale postmaster.pid whose number belongs to another process by now', async () => {
    await copyInitialised();
    const stale = [process.pid, folder.cluster, 1_700_000_000, 5432, folder.cluster, '', '  5432  1', 'ready', ''];
    await writeFile(path.join(folder.cluster, 'postmaster.pid'), stale.join('\n'));
    await writeFile(path.join(folder.cluster, '.s.PGSQL.5432.lock'), stale.join('\n'));
    expect(await embeddedConnection(folder.dataDir)).toBeUndefined();
    await expectDishes();
  });
});

describe('one owner', () => {
  test('a second start on the same data folder is refused with what to do, and the first is not disturbed', async () => {
    await copyInitialised();
    const owner = await startOwner(folder);
    try {
      const second = startEmbedded({ dataDir: folder.dataDir, log });
      await expect(second).rejects.toMatchObject({
        code: 'DATA_DIR_IN_USE',
        message: expect.stringMatching(new RegExp(`process ${owner.child.pid}.*DATABASE_URL`)),
      });
      expect(await query(owner.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
    } finally {
      await owner.stop();
    }
    await untilNoServer(folder.cluster);
  });

  test('of several first starts at the same moment exactly one owns the folder', async () => {
    const starts = await Promise.allSettled(
      Array.from({ length: 4 }, () => startEmbedded({ dataDir: folder.dataDir, log })),
    );
    const won = starts.filter((start) => start.status === 'fulfilled');
    await Promise.all(won.map((start) => start.value.stop()));
    expect(won).toHaveLength(1);
    const lost = starts.filter((start) => start.status === 'rejected').map((start) => start.reason.code);
    expect(lost).toEqual(['DATA_DIR_IN_USE', 'DATA_DIR_IN_USE', 'DATA_DIR_IN_USE']);
  });

  test('A-658 a command that gets no connection of the running server gives its reason, and does not ask to stop it', async () => {
    await copyInitialised();
    const owner = await startOwner(folder);
    const held: pg.Client[] = [];
    try {
      for (let isFull = false; !isFull; ) {
        const client = new pg.Client({ ...owner.connection, ssl: false });
        client.on('error', () => undefined);
        isFull = await client.connect().then(
          () => false,
          () => true,
        );
        if (!isFull) held.push(client);
      }
      const settings = { dataDir: folder.dataDir, applicationName: 'command' };
      await expect(openStore(settings, log, { exclusive: false })).rejects.toMatchObject({
        code: 'POSTGRES_EXHAUSTED',
        message: expect.stringMatching(/takes no connection: .*too many clients/),
      });
      const freed = held.splice(0, 5);
      await Promise.all(freed.map((client) => client.end()));
      await (await openStore(settings, log, { exclusive: false })).close();
    } finally {
      await Promise.all(held.map((client) => client.end()));
      await owner.stop();
    }
  });

  test('a command shares the server of the owner, and leaves it running', async () => {
    const owner = await openStore({ dataDir: folder.dataDir, applicationName: 'owner' }, log, { exclusive: true });
    try {
      const command = await openStore({ dataDir: folder.dataDir, applicationName: 'command' }, log, {
        exclusive: false,
      });
      await command.pool.query('create table dishes ()');
      await command.close();
      expect((await owner.pool.query(`select to_regclass('dishes')::text as found`)).rows).toEqual([
        { found: 'dishes' },
      ]);
      expect([owner.freshlyCreated, command.freshlyCreated]).toEqual([true, false]);
    } finally {
      await owner.close();
    }
  });

  test('commands without an owner run the server for their time, and none takes it from another', async () => {
    const open = (): Promise<Store> =>
      openStore({ dataDir: folder.dataDir, applicationName: 'command' }, log, { exclusive: false });
    const commands = await Promise.all([open(), open(), open()]);
    await Promise.all(
      commands.map(async (command) => {
        await command.pool.query('select pg_sleep(0.1)');
        await command.close();
      }),
    );
    expect(await serversOf(folder.cluster)).toEqual([]);
  });

  test('A-782 a command waits for another one that shares its server, also while that has no connection to it', async () => {
    await copyInitialised();
    const lines: string[] = [];
    const heard = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    const open = (): Promise<Store> =>
      openStore({ dataDir: folder.dataDir, applicationName: 'orderpass-all' }, heard, { exclusive: false });
    const owner = await open();
    const other = await open();
    other.pool.options.idleTimeoutMillis = 100;
    await other.pool.query('select 1');
    await until(() => other.pool.totalCount === 0);
    let hasEnded = false;
    const closing = owner.close().then(() => {
      hasEnded = true;
    });
    await Promise.race([closing, until(() => lines.join().includes('another command uses the store'))]);
    expect(hasEnded).toBe(false);
    await other.pool.query('select 1');
    await other.close();
    await closing;
    expect(await serversOf(folder.cluster)).toEqual([]);
  });

  test('A-588 a command whose server a backup shares ends after it, also when that takes longer than 30 s', async () => {
    await copyInitialised();
    const command = await openStore({ dataDir: folder.dataDir, applicationName: 'orderpass-all' }, log, {
      exclusive: false,
    });
    const connection = command.connection as SocketConnection;
    const shutdown = async (): Promise<string> => {
      const asked = `select coalesce(max(query_start)::text, '') as at from pg_stat_activity
        where application_name = 'orderpass shutdown'`;
      return ((await query(connection, asked)) as { at: string }[])[0]?.at ?? '';
    };
    const laterThan = async (before: string): Promise<string> => {
      let at = before;
      await until(async () => {
        at = await shutdown();
        return at > before;
      });
      return at;
    };
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let bytes = 0;
    const sinks = {
      archive: async (part: Buffer): Promise<void> => {
        bytes += part.length;
        await released;
      },
      manifest: async (): Promise<void> => undefined,
    };
    const backup = streamBaseBackup(connection, sinks, new AbortController().signal);
    const failed = backup.then(
      () => undefined,
      (error: unknown) => error,
    );
    await until(() => bytes > 0);
    const closing = command.close();
    const first = await laterThan('');
    const now = vi.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + 60_000);
    try {
      // It looks again after what it takes for a minute, and goes on.
      await laterThan(await laterThan(first));
    } finally {
      now.mockRestore();
      release();
    }
    expect(await failed).toBeUndefined();
    await closing;
    expect(await serversOf(folder.cluster)).toEqual([]);
  });

  test('the address of the store works as DATABASE_URL of another process', async () => {
    await copyInitialised();
    const owner = await openStore({ dataDir: folder.dataDir, applicationName: 'owner' }, log, { exclusive: true });
    try {
      const other = createPool({ connection: owner.url, max: 1, applicationName: 'other' }, log);
      expect((await other.query(`select current_setting('application_name') as name`)).rows).toEqual([
        { name: 'other' },
      ]);
      await other.end();
    } finally {
      await owner.close();
    }
  });

  test('a copied data folder never leads to the server of the original', async () => {
    await copyInitialised();
    const owner = await startOwner(folder);
    try {
      const copy = path.join(folder.path, 'copy');
      await mkdir(path.join(copy, 'postgres'), { recursive: true });
      await cp(path.join(folder.cluster, 'postmaster.pid'), path.join(copy, 'postgres', 'postmaster.pid'));
      expect(await embeddedConnection(folder.dataDir)).toBeDefined();
      expect(await embeddedConnection(copy)).toBeUndefined();
    } finally {
      await owner.stop();
    }
  });

  test('A-784 a link to data in a folder of another name leads to that data, and to nothing else', async () => {
    await copyInitialised();
    const moved = path.join(folder.path, 'disk', 'of-orderpass');
    await mkdir(path.dirname(moved));
    await rename(folder.cluster, moved);
    await symlink(path.join('..', 'disk', 'of-orderpass'), folder.cluster);
    await expectDishes();
    // Two links may lead to two folders of one disk.
    const other = path.join(folder.path, 'other');
    await mkdir(other);
    await mkdir(path.join(folder.path, 'disk', 'of-others'));
    await symlink(path.join('..', 'disk', 'of-others'), path.join(other, 'postgres'));
    const one = await startEmbedded({ dataDir: folder.dataDir, log });
    const two = await startEmbedded({ dataDir: other, log });
    await two.stop();
    await one.stop();
    await rename(moved, `${moved}-2`);
    await expect(startEmbedded({ dataDir: folder.dataDir, log })).rejects.toMatchObject({ code: 'DATA_DIR_DAMAGED' });
  });

  test('a start after a restore that was killed names each folder that the restore left', async () => {
    const draft = path.join(folder.dataDir, 'restore.unfinished');
    const home = path.join(folder.path, 'clusters', 'one');
    await mkdir(draft, { recursive: true });
    await symlink(path.join(home, 'postgres'), path.join(draft, 'postgres'));
    await expect(startEmbedded({ dataDir: folder.dataDir, log })).rejects.toThrow(
      `remove ${folder.dataDir} and ${home} and restore again`,
    );
  });

  test('a link to data that is not there is an error and not an empty store', async () => {
    await mkdir(folder.dataDir);
    await symlink(path.join(folder.path, 'gone', 'postgres'), folder.cluster);
    await expect(startEmbedded({ dataDir: folder.dataDir, log })).rejects.toMatchObject({ code: 'DATA_DIR_DAMAGED' });
    await unlink(folder.cluster);
    await initialise();
    await rm(path.join(folder.dataDir, 'owner.pid'));
    await expectDishes();
  });
});
