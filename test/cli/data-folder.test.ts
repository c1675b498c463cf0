import { expect, test } from 'vitest';
import { assertRealFolder } from '#src/platform/files/real-folder.ts';
import { runCommand } from '../support/program.ts';

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
