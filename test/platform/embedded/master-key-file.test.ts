/** The file of the master key is on the disk before the store is sealed by its key. */
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { loadOrCreateMasterKey } from '#src/platform/secret-box.ts';

const { steps } = vi.hoisted(() => ({ steps: [] as string[] }));

vi.mock('node:fs', async (importOriginal) => {
  const real = await importOriginal<typeof import('node:fs')>();
  return {
    ...real,
    fsyncSync: (file: number) => {
      steps.push(`flush ${readlinkSync(`/proc/self/fd/${file}`)}`);
      real.fsyncSync(file);
    },
    linkSync: (from: string, to: string) => {
      steps.push(`link ${from}`);
      real.linkSync(from, to);
    },
  };
});

test('A-479 a first key is flushed before it gets its name, and its name before it is used', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-key-'));
  const path = join(folder, 'data', 'master.key');
  try {
    const key = loadOrCreateMasterKey(path);
    const draft = steps[1]?.replace('link ', '');
    expect(steps).toEqual([`flush ${draft}`, `link ${draft}`, `flush ${join(folder, 'data')}`, `flush ${folder}`]);
    expect(Buffer.from(readFileSync(path, 'utf8'), 'base64')).toEqual(key);
    expect(readdirSync(join(folder, 'data'))).toEqual(['master.key']);
    expect(loadOrCreateMasterKey(path)).toEqual(key);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
