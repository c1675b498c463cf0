import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { assertRealFolder } from '#src/platform/files/real-folder.ts';
import { makeDataDir, runCommand, runJson } from '../../support/program.ts';

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
