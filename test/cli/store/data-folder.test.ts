import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { assertRealFolder } from '#src/platform/files/real-folder.ts';
import { makeDataDir, plainEnv, root, runCommand, runJson } from '../../support/program.ts';
import { makeFolder } from '../../support/store-owner.ts';

test('a data folder on a file system of the kernel is refused at once, with a sentence', async () => {
  for (const folder of ['/proc/orderpass/data', '/proc/self', '/sys/orderpass']) {
    expect(() => assertRealFolder(folder)).toThrow('is a file system of the kernel');
  }
  expect(() => assertRealFolder('/tmp/not/there/yet')).not.toThrow();
  const { code, stderr } = await runCommand(['migrate'], {
    ORDERPASS_DATA_DIR: '/proc/orderpass/data',
  });
  expect([code, stderr.trim().split('\n').length]).toEqual([1, 1]);
  expect(stderr).toContain('/proc/orderpass/data cannot keep data');
});

test('a command that a broken route table stops lets go of its data folder', async () => {
  const { path, remove } = makeDataDir();
  const routes = join(path, '..', 'routes.json');
  writeFileSync(routes, '{"routes":');
  const env = { ORDERPASS_DATA_DIR: path };
  const create = ['restaurant', 'create', '--name', 'Da Ada'];
  const broken = await runCommand(create, { ...env, ORDERPASS_ROUTES_FILE: routes });
  expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining('routes.json')]);
  expect((await runJson(create, env)).restuid).toMatch(/^rst_/);
  remove();
});

test.each([
  ['027', 0o027],
  ['000', 0o000],
])(
  'a first start with the umask %s makes the data folder with the mode that it has with every other one',
  async (_name, umask) => {
    const { dataDir, cluster, remove } = await makeFolder();
    const before = process.umask(umask);
    try {
      await runJson(['restaurant', 'create', '--name', 'Da Ada'], { ORDERPASS_DATA_DIR: dataDir });
    } finally {
      process.umask(before);
    }
    // A folder that the user of the server cannot enter would have its data elsewhere.
    expect(lstatSync(cluster).isDirectory()).toBe(true);
    const isRoot = process.getuid?.() === 0;
    expect(statSync(dataDir).mode & 0o777).toBe(isRoot ? 0o711 : 0o700);
    expect(statSync(join(dataDir, 'owner.pid')).mode & 0o022).toBe(0);
    await remove();
  },
);

/** A user id without a name: initdb refuses it. */
const unnamed = 23_456;
const launch = join(root, 'src/cli/launch.mjs');

/** A clone below a folder of root can be read by no other user. */
const mayRun = (uid: number): boolean =>
  process.getuid?.() === 0 &&
  spawnSync('/bin/sh', ['-c', 'test -r "$1" && test -x "$2"', 'sh', launch, process.execPath], { uid }).status === 0;

test.runIf(mayRun(unnamed))('a first start that initdb refuses says why', async () => {
  const { path, dataDir, remove } = await makeFolder();
  chownSync(path, unnamed, unnamed);
  const [command, ...args] = [process.execPath, launch, 'restaurant', 'list'];
  const { status, stderr } = spawnSync(command, args, {
    uid: unnamed,
    gid: unnamed,
    env: { ...plainEnv(), ORDERPASS_DATA_DIR: dataDir },
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([1, expect.stringContaining(`could not look up effective user ID ${unnamed}`)]);
  await remove();
});

test.runIf(mayRun(unnamed))(
  'A-783 a folder that the user may not look into is not taken for one that is missing',
  async () => {
    const { path, dataDir, cluster, remove } = await makeFolder();
    const backup = join(path, 'backup');
    mkdirSync(cluster, { recursive: true });
    mkdirSync(backup);
    writeFileSync(join(backup, 'backup.json'), '{}');
    for (const folder of [dataDir, backup]) chmodSync(folder, 0o700);
    const foreign = 'belongs to another user: run this as the user that started Orderpass';
    const unreadable = 'backup.json cannot be read: EACCES';
    for (const [why, ...words] of [
      [foreign, 'migrate', '--plan'],
      [foreign, 'backup', '--to', join(path, 'new')],
      [foreign, 'move', '--undo'],
      [foreign, 'restaurant', 'list'],
      [unreadable, 'restore', '--from', backup],
    ] as const) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [launch, ...words], {
        uid: unnamed,
        gid: unnamed,
        env: { ...plainEnv(), ORDERPASS_DATA_DIR: dataDir },
        encoding: 'utf8',
      });
      expect([words[0], status, stdout, stderr]).toEqual([words[0], 1, '', expect.stringContaining(why)]);
    }
    await remove();
  },
);
