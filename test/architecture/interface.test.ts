/** The interface is one document: comments cite its sections, test titles the ids of its acceptance table. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { denialReasons } from '#src/gateway/model/traced-fault.ts';

const root = resolve(import.meta.dirname, '../..');
const document = readFileSync(join(root, 'src/contract/interface.md'), 'utf8');

const readBelow = (folder: string, extensions: RegExp): { file: string; text: string }[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && extensions.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ file: relative(root, path), text: readFileSync(path, 'utf8') }));

const sources = [...readBelow('src', /\.(ts|js|mjs|sql)$/), ...readBelow('test', /\.ts$/)];

/** First argument of a call of test, it or describe, also of its `each`, `skipIf` and the like. */
const titlePattern =
  /\b(?:test|it|describe)(?:\.\w+)*(?:\((?:[^()'"`]|\([^()]*\))*\))?\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;

const titles = readBelow('test', /\.test\.ts$/).flatMap(({ file, text }) =>
  [...text.matchAll(titlePattern)].map((match) => ({ file, title: match[2] ?? '' })),
);

const anyId = /\b(?:A-\d{3}|F-\d{2})\b/;

test('every section of the interface that a comment cites is a heading of the document', () => {
  const headings = new Set([...document.matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map((match) => match[1]));
  expect(headings.size).toBeGreaterThan(35);
  const cited = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/\binterface (\d+(?:\.\d+)?(?:(?:, | and )\d+(?:\.\d+)?)*)/gi)].flatMap((match) =>
      (match[1] ?? '').split(/, | and /).map((section) => ({ file, section })),
    ),
  );
  expect(cited.length).toBeGreaterThan(100);
  expect(cited.filter(({ section }) => !headings.has(section))).toEqual([]);
});

test('every id of the acceptance table is in a test title, and every id in a title is in the table', () => {
  const listed = [...document.matchAll(/^\| (A-\d{3}) \|/gm)].map((match) => match[1] ?? '');
  const used = new Set(titles.flatMap(({ title }) => title.match(/\bA-\d{3}\b/g) ?? []));
  expect(new Set(listed).size).toBe(listed.length);
  expect(listed.filter((id) => !used.has(id))).toEqual([]);
  expect([...used].filter((id) => !listed.includes(id))).toEqual([]);
});

test('ids stand at the front of test titles', () => {
  expect(titles.length).toBeGreaterThan(1000);
  const wrong = titles.filter(({ title }) => anyId.test(title.replace(/^(?:(?:A-\d{3}|F-\d{2}) )+/, '')));
  expect(wrong).toEqual([]);
});

test('the interface lists the reasons of a denial once, and those that the program gives', () => {
  const rows = document.split('\n').filter((line) => line.startsWith('| denial |'));
  const listed = rows.map((row) =>
    [...(row.split('reason:')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, reason]) => reason),
  );
  expect(listed.map((reasons) => reasons.toSorted())).toEqual([denialReasons.toSorted()]);
});

test('the glossary has at most 40 rows', () => {
  const glossary = document.split('## Glossary')[1]?.split('\n## ')[0] ?? '';
  const rows = glossary.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| --- '));
  expect(rows.length - 1).toBeGreaterThan(20);
  expect(rows.length - 1).toBeLessThanOrEqual(40);
});

test('no table of the interface has two rows about one path', () => {
  const twice = (document.match(/(?:^\|.*\n)+/gm) ?? []).flatMap((table) => {
    const names = table.split('\n').map((row) => row.split('|')[1]?.trim() ?? '');
    return names.filter((name, index) => /^`(?:\{origin\})?\//.test(name) && names.indexOf(name) !== index);
  });
  expect(twice).toEqual([]);
});

test('every row of a table of the interface stands below a head', () => {
  const tables = document.match(/(?:^\|.*\n)+/gm) ?? [];
  expect(tables.filter((table) => !/^\|.*\n\|[ :|-]+\n/.test(table))).toEqual([]);
});
