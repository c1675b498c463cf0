/** Plain English: no banned word in code, comments, test titles and documents. Italian texts have their own reader. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findBanned, hasBanned } from './banned-words.ts';
import { filesBelow, root, textOf } from './source.ts';

/** What is not clean yet. Entries may only be removed: the test also fails when a listed one is clean. */
const unfinished: string[] = [];

const isExempt = (file: string): boolean =>
  /^src\/panel\/texts\/it[./]/.test(file) || /^test\/architecture\/(banned-words|words\.test)\.ts$/.test(file);

const files = [
  ...['src', 'test'].flatMap((folder) => filesBelow(folder, /\.(ts|mjs|js|sql|html|css|md)$/)),
  ...['config', '.github']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => filesBelow(folder, /\.md$/)),
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
].filter((file) => !isExempt(file));

/** A folder of `src` or `test`, or another file or folder of the root. */
const areaOf = (file: string): string => (/^(src|test)\//.test(file) ? file.split('/').slice(0, 2).join('/') : file);

const findIn = (file: string): string[] => {
  const ofName = findBanned(file.replaceAll(/[-/]/g, ' ')).map((word) => `${file}: "${word}" in its name`);
  const text = textOf(file);
  const lines = hasBanned(text) ? text.split('\n') : [];
  const ofLines = lines.flatMap((line, index) => findBanned(line).map((word) => `${file}:${index + 1}: "${word}"`));
  return [...ofName, ...ofLines];
};

test('names are split into words', () => {
  expect(findBanned('const createPatience = (): Lane_Shelf => 1; // Whoever is set apart')).toEqual(
    expect.arrayContaining(['Whoever', 'Patience', 'Lane', 'Shelf', 'apart']),
  );
  expect(findBanned('export const islanders = apart from retold, swiftly')).toEqual([]);
});

test('no text and no name has a banned word', () => {
  expect(files.length).toBeGreaterThan(1000);
  const found = new Map(files.map((file) => [file, findIn(file)] as const).filter(([, words]) => words.length > 0));
  const unlisted = [...found].filter(([file]) => !unfinished.includes(areaOf(file))).flatMap(([, words]) => words);
  expect(unlisted).toEqual([]);
  const dirty = new Set([...found.keys()].map(areaOf));
  expect(
    unfinished.filter((area) => !dirty.has(area)),
    'clean by now: remove it from the list `unfinished`',
  ).toEqual([]);
});
