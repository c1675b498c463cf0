import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const src = resolve(import.meta.dirname, '../../src');

/** What reviewers stumbled over; each stood in a text that callers read. */
const phrases = [/belongs? into/i, /is meant is not said/i];

test('F-52 no text says what no English reader would', () => {
  const files = readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|js|mjs|html)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(500);
  const found = files.filter((file) => phrases.some((phrase) => phrase.test(readFileSync(file, 'utf8'))));
  expect(found).toEqual([]);
});
