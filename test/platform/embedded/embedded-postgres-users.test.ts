/** Who starts Orderpass, and from where: root with everything out of the server's reach, and an ordinary user. */
import { chown, cp, lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { canEnter, isOwnId, isRoot, runAs, unprivilegedAccount } from '#src/platform/db/embedded/account.ts';
import { packagedFolder } from '#src/platform/db/embedded/binaries.ts';
import { type Embedded, startEmbedded } from '#src/platform/db/embedded/embedded.ts';
import {
  type Folder,
  makeFolder,
  query,
  realCluster,
  root,
  startOwner,
  untilNoServer,
} from '../../support/store-owner.ts';

const log = pino({ level: 'silent' });

let hidden: Folder;
let system: Folder;
beforeEach(async () => {
  hidden = await makeFolder(0o700);
  system = await makeFolder();
});
afterEach(async () => {
  await hidden.remove();
  await system.remove();
});

const expectAnswer = async (embedded: Embedded): Promise<void> => {
  try {
    expect(await query(embedded.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  } finally {
    await embedded.stop();
  }
};

/** User ids that own something of the tree. */
const owners = async (folder: string): Promise<number[]> => {
  const names = await readdir(folder, { recursive: true });
  const found = await Promise.all(['', ...names].map((name) => lstat(path.join(folder, name)).catch(() => undefined)));
  return [...new Set(found.flatMap((entry) => (entry === undefined ? [] : [entry.uid])))];
};

const asRoot = isRoot() ? describe : describe.skip;
const why = isRoot() ? '' : ' (skipped: this run is not by root)';

asRoot(`started as root${why}`, () => {
  let locked: Folder;
  /** Binaries below a 0700 folder. No start changes them. */
  let nativeDir: string;
  beforeAll(async () => {
    locked = await makeFolder(0o700);
    nativeDir = path.join(locked.path, 'native');
    await cp(packagedFolder(), nativeDir, { recursive: true, verbatimSymlinks: true });
  });
  afterAll(() => locked.remove());

  test('a data folder below a 0700 folder works, keeps its data over starts and shows where it is', async () => {
    const settings = { dataDir: hidden.dataDir, systemDirs: [system.path], log };
    const first = await startEmbedded(settings);
    await query(first.connection, 'create table dishes (name text)', `insert into dishes values ('soup')`).finally(
      first.stop,
    );
    expect((await lstat(hidden.cluster)).isSymbolicLink()).toBe(true);
    expect((await realCluster(hidden.cluster)).startsWith(system.path)).toBe(true);
    expect((await stat(hidden.path)).mode & 0o777).toBe(0o700);
    const second = await startEmbedded(settings);
    expect(second.freshlyCreated).toBe(false);
    expect(await query(second.connection, 'select name from dishes').finally(second.stop)).toEqual([{ name: 'soup' }]);
    expect(await readdir(path.join(system.path, 'clusters'))).toHaveLength(1);
  });

  test('binaries below a 0700 folder are copied once for starts in parallel, readable and writable by root alone', async () => {
    const folders = [await makeFolder(), await makeFolder()];
    try {
      const starts = folders.map(({ dataDir }) =>
        startEmbedded({ dataDir, nativeDir, systemDirs: [system.path], log }),
      );
      for (const embedded of await Promise.all(starts)) await expectAnswer(embedded);
      const copies = await readdir(system.path);
      expect(copies).toEqual([expect.stringMatching(/^postgres-[0-9a-f]{16}$/)]);
      const copy = await stat(path.join(system.path, copies[0] ?? ''));
      expect([copy.uid, copy.mode & 0o777]).toEqual([0, 0o755]);
    } finally {
      await Promise.all(folders.map((folder) => folder.remove()));
    }
  });

  test('a copy of the binaries that lost a file is made again', async () => {
    const settings = { dataDir: system.dataDir, nativeDir, systemDirs: [system.path], log };
    await expectAnswer(await startEmbedded(settings));
    const copy = (await readdir(system.path)).find((name) => name.startsWith('postgres-')) ?? '';
    await rm(path.join(system.path, copy, 'share', 'postgresql', 'timezonesets', 'Default'));
    await expectAnswer(await startEmbedded(settings));
    await stat(path.join(system.path, copy, 'share', 'postgresql', 'timezonesets', 'Default'));
  });

  test('a folder for copies that another user can write is not used', async () => {
    const open = await makeFolder(0o777);
    try {
      const refused = startEmbedded({ dataDir: system.dataDir, nativeDir, systemDirs: [open.path], log });
      await expect(refused).rejects.toMatchObject({ code: 'POSTGRES_UNUSABLE' });
      expect(await readdir(open.path)).toEqual([]);
    } finally {
      await open.remove();
    }
  });

  test('a strict umask does not lock the server out of what is made for it', async () => {
    const before = process.umask(0o077);
    try {
      await expectAnswer(await startEmbedded({ dataDir: path.join(system.path, 'made', 'data'), log }));
      const places = [path.join(system.path, 'places')];
      await expectAnswer(await startEmbedded({ dataDir: hidden.dataDir, nativeDir, systemDirs: places, log }));
    } finally {
      process.umask(before);
    }
  });

  test('F-29 the server runs as a user of its own that owns its data, and refuses a process of the shared unprivileged user', async (context) => {
    const unprivileged = await unprivilegedAccount();
    const embedded = await startEmbedded({ dataDir: system.dataDir, log });
    try {
      const { uid } = await stat(system.cluster);
      expect(isOwnId(uid)).toBe(true);
      expect(uid).not.toBe(unprivileged?.uid);
      expect((await stat(system.dataDir)).uid).toBe(0);
      expect(await owners(system.cluster)).toEqual([uid]);
      expect(await query(embedded.connection, 'select current_user as name')).toEqual([{ name: 'orderpass' }]);
      if (!(await runAs(unprivileged, process.execPath, ['--version'])).ok)
        context.skip('the unprivileged user cannot run this Node');
      const socket = path.join(embedded.connection.host, `.s.PGSQL.${embedded.connection.port}`);
      const connect = `require('node:net').connect(process.argv[1]).on('connect', () => console.log('connected')).on('error', (error) => console.log(error.code)).unref()`;
      expect(
        (
          await runAs(unprivileged, process.execPath, ['-e', `${connect}; setTimeout(() => {}, 500)`, socket])
        ).output.trim(),
      ).toBe('EACCES');
      expect((await runAs(unprivileged, '/bin/ls', [system.cluster])).ok).toBe(false);
      const own = { uid, gid: uid };
      expect(
        (await runAs(own, process.execPath, ['-e', `${connect}; setTimeout(() => {}, 500)`, socket])).output.trim(),
      ).toBe('connected');
    } finally {
      await embedded.stop();
    }
  });

  test('F-29 data of the shared unprivileged user gets an owner of its own at the next start, also after an interrupted one', async () => {
    const unprivileged = await unprivilegedAccount();
    const first = await startEmbedded({ dataDir: system.dataDir, log });
    await query(first.connection, 'create table dishes (name text)', `insert into dishes values ('soup')`).finally(
      first.stop,
    );
    const give = (uid: number, place: string) => runAs(undefined, '/bin/chown', ['-R', `${uid}:${uid}`, place]);
    await give(unprivileged?.uid ?? 0, system.cluster);
    expect(await owners(system.cluster)).toEqual([unprivileged?.uid]);
    // The start that was cut off had given away a part, to an account that it had chosen.
    await give(60_999, path.join(system.cluster, 'base'));
    const second = await startEmbedded({ dataDir: system.dataDir, log });
    expect(await query(second.connection, 'select name from dishes').finally(second.stop)).toEqual([{ name: 'soup' }]);
    const moved = await owners(system.cluster);
    expect(moved).toHaveLength(1);
    expect(moved.every(isOwnId)).toBe(true);
    // The owner stays from then on.
    const third = await startEmbedded({ dataDir: system.dataDir, log });
    expect(await owners(system.cluster).finally(third.stop)).toEqual(moved);
  });
});

describe('started as an ordinary user', () => {
  test.skipIf(!isRoot())('data of another user is refused with the name of its owner', async (context) => {
    const stranger = { uid: 54_321, gid: 54_321 };
    if (!(await canEnter(root, stranger)) || !(await runAs(stranger, process.execPath, ['--version'])).ok)
      context.skip('the checkout or its node cannot be read by an ordinary user');
    await expectAnswer(await startEmbedded({ dataDir: system.dataDir, log }));
    const { uid } = await stat(system.cluster);
    await expect(startOwner({ dataDir: system.dataDir }, stranger)).rejects.toThrow(
      `belongs to user ${uid}: start Orderpass as`,
    );
  });

  test('the store works in a 0700 folder of that user, and root can go on with that user’s data', async (context) => {
    const account = await unprivilegedAccount();
    if (!(await canEnter(root, account)) || !(await runAs(account, process.execPath, ['--version'])).ok)
      context.skip('the checkout or its node cannot be read by an ordinary user');
    const ids = account === undefined ? {} : account;
    const home = path.join(system.path, 'home');
    await mkdir(home, { mode: 0o700 });
    if (account !== undefined) await chown(home, account.uid, account.gid);
    const dataDir = path.join(home, 'data');
    const owner = await startOwner({ dataDir }, ids);
    expect(await query(owner.connection, 'select 1 as one').finally(owner.stop)).toEqual([{ one: 1 }]);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    await untilNoServer(path.join(dataDir, 'postgres'));
    await expectAnswer(await startEmbedded({ dataDir, log }));
    const again = await startOwner({ dataDir }, ids);
    expect(await query(again.connection, 'select 1 as one').finally(again.stop)).toEqual([{ one: 1 }]);
  });
});
