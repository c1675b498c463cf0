import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { restoreCluster } from '#src/platform/db/embedded/restore-cluster.ts';
import { unpackTar } from '#src/platform/files/read-tar.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-tar-'));
  // Started by root, the account of the server must be able to enter; its home would lie elsewhere otherwise.
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const blockBytes = 512;

/** One entry, as POSIX ustar describes it. */
const entry = (name: string, content: string, kind = '0'): Buffer => {
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0);
  header.write(content.length.toString(8).padStart(11, '0'), 124);
  header.write(' '.repeat(8), 148);
  header.write(kind, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(content.length / blockBytes) * blockBytes);
  body.write(content);
  return Buffer.concat([header, body]);
};

const end = Buffer.alloc(2 * blockBytes);
const files = new Map<string, string>();

const unpack = async (...parts: Buffer[]): Promise<void> => {
  const archive = join(folder, 'some.tar');
  writeFileSync(archive, Buffer.concat(parts));
  files.clear();
  await unpackTar(archive, join(folder, 'out'), {
    onBytes: () => undefined,
    onFile: (name, sha256) => files.set(name, sha256),
  });
};

test('an archive is unpacked byte for byte, and one that is cut, changed, or names a link or a place outside is refused', async () => {
  const long = 'x'.repeat(700_001);
  await unpack(entry('base/', '', '5'), entry('base/one', long), entry('empty', ''), entry('./base/two', 'two'), end);
  expect(readFileSync(join(folder, 'out/base/one'), 'utf8')).toBe(long);
  expect(readFileSync(join(folder, 'out/base/two'), 'utf8')).toBe('two');
  expect(readdirSync(join(folder, 'out')).toSorted()).toEqual(['base', 'empty']);
  const digests = [long, '', 'two'].map((text) => createHash('sha256').update(text).digest('hex'));
  expect([...files.keys()]).toEqual(['base/one', 'empty', 'base/two']);
  expect([...files.values()]).toEqual(digests);

  await expect(unpack(entry('cut', long).subarray(0, 300_000))).rejects.toThrow('ends in the middle');
  await expect(unpack(entry('whole', 'one'))).rejects.toThrow('ends in the middle');
  await expect(unpack(entry('link', '', '2'), end)).rejects.toThrow('neither a file nor a folder');
  for (const name of ['../outside', '/outside', 'base/../../outside'])
    await expect(unpack(entry(name, 'x'), end)).rejects.toThrow('a place outside');
  const changed = entry('changed', 'x');
  changed[0] = 'C'.charCodeAt(0);
  await expect(unpack(changed, end)).rejects.toThrow('wrong checksum');
});

test('an archive whose files differ from the manifest of PostgreSQL, or that lacks one of them, is no cluster', async () => {
  const archive = join(folder, 'base.tar');
  writeFileSync(archive, Buffer.concat([entry('global/one', '1'), entry('pg_wal/0001', 'wal'), end]));
  const manifest = join(folder, 'backup_manifest');
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  const one = { Path: 'global/one', Checksum: digest('1') };
  const restore = (number: number, ...listed: { Path: string; Checksum: string }[]): Promise<void> => {
    writeFileSync(manifest, JSON.stringify({ Files: listed }));
    const dataDir = join(folder, `data${number}`);
    mkdirSync(dataDir);
    return restoreCluster(dataDir, { archive, manifest }, pino({ level: 'silent' }), () => undefined);
  };
  await restore(1, one);
  await expect(restore(2, { ...one, Checksum: digest('2') })).rejects.toThrow('global/one in its archive differs');
  await expect(restore(3)).rejects.toThrow('global/one in its archive differs');
  await expect(restore(4, one, { ...one, Path: 'global/two' })).rejects.toThrow('lacks the file global/two');
});
