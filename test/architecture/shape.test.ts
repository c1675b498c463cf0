/** The shape of the source: imports form no circles, no folder is too full to read, and no function is too long. */
import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { type Edge, findCircles } from './circles.ts';
import { functionsOf } from './functions.ts';
import { codeFile, entriesOf, filesBelow, foldersBelow, importsOf, textOf } from './source.ts';

const entriesMax = 20;
const functionLinesMax = 80;

/** What is not clean yet. Entries may only be removed: the tests also fail when a listed one is clean. */
const unfinished: Record<'fileCircles' | 'folderCircles' | 'fullFolders', string[]> = {
  fileCircles: [],
  folderCircles: [],
  fullFolders: [],
};

const imports = ['src', 'test']
  .flatMap((folder) => filesBelow(folder, codeFile))
  .flatMap(importsOf)
  .filter(({ isLocal }) => isLocal);

/** Areas are the folders of `src`, and `test`. */
const areaOf = (path: string): string => (path.startsWith('src/') ? path.split('/').slice(0, 2).join('/') : 'test');

/** Fails with all that was found outside the list, and with entries of the list for which nothing was found. */
const expectOnly = (found: ReadonlyMap<string, unknown>, listed: readonly string[]): void => {
  const unlisted = [...found].filter(([place]) => !listed.includes(place));
  expect(Object.fromEntries(unlisted)).toEqual({});
  expect(
    listed.filter((place) => !found.has(place)),
    'clean by now: remove it from the list `unfinished`',
  ).toEqual([]);
};

const byPlace = <T>(entries: readonly { place: string; what: T }[]): Map<string, T[]> => {
  const places = new Map<string, T[]>();
  for (const { place, what } of entries) places.set(place, [...(places.get(place) ?? []), what]);
  return places;
};

test('circles are found, of any length', () => {
  const edges = ['a>b', 'b>c', 'c>a', 'c>d', 'd>d', 'e>f', 'f>e'].map((text) => {
    const [from = '', to = ''] = text.split('>');
    return { from, to };
  });
  expect(findCircles(edges)).toEqual([
    ['a', 'b', 'c'],
    ['e', 'f'],
  ]);
  expect(imports.length).toBeGreaterThan(1000);
});

test('no two files import each other, types included', () => {
  const circles = findCircles(imports).map((circle) => ({ place: areaOf(circle[0] ?? ''), what: circle }));
  expectOnly(byPlace(circles), unfinished.fileCircles);
});

/** The entry of `folder` that `path` is or lies in; files of the folder itself count as one. */
const entryOf = (folder: string, path: string): string | undefined => {
  if (!path.startsWith(`${folder}/`)) return undefined;
  const [entry = '', ...below] = relative(folder, path).split('/');
  return below.length === 0 ? '(files)' : entry;
};

type FolderEdge = Edge & { why: string };

const edgesWithin = (folder: string): FolderEdge[] =>
  imports.flatMap(({ from, to }) => {
    const edge = { from: entryOf(folder, from), to: entryOf(folder, to) };
    if (edge.from === undefined || edge.to === undefined || edge.from === edge.to) return [];
    return [{ from: edge.from, to: edge.to, why: `${relative(folder, from)} -> ${relative(folder, to)}` }];
  });

test('the folders inside a folder, with its own files as one, import each other without circles', () => {
  const found = foldersBelow('src').flatMap((folder) => {
    const edges = edgesWithin(folder);
    return findCircles(edges).map((circle) => {
      const why = edges.filter(({ from, to }) => circle.includes(from) && circle.includes(to));
      return { place: folder, what: { circle, imports: why.map((edge) => edge.why) } };
    });
  });
  expectOnly(byPlace(found), unfinished.folderCircles);
});

test('no folder has more than 20 entries', () => {
  const full = ['src', 'test', 'config']
    .flatMap((folder) => [folder, ...foldersBelow(folder)])
    .map((folder) => ({ place: folder, what: entriesOf(folder).length }))
    .filter(({ what }) => what > entriesMax);
  expectOnly(byPlace(full), unfinished.fullFolders);
});

test('imports name files that exist, so that no circle is overlooked', () => {
  const files = new Set(['src', 'test', 'config'].flatMap((folder) => filesBelow(folder, /./)));
  expect(imports.filter(({ to }) => !files.has(to))).toEqual([]);
});

test('the lines of a function are counted with its comments and empty lines, and of each function inside it', () => {
  const inner = ['    second: () => {', '      // Why.', '', '      return 2;', '    },'];
  const source = ['/** What it does. */', 'export const first = () => {', '  return {', ...inner, '  };', '};'];
  expect(functionsOf({ 'a.ts': source.join('\n') })).toEqual([
    { file: 'a.ts', name: 'first', lines: 9 },
    { file: 'a.ts', name: 'second', lines: 5 },
  ]);
});

test('no function has more than 80 lines', () => {
  const functions = functionsOf(
    Object.fromEntries(filesBelow('src', /\.(ts|mjs|js)$/).map((file) => [file, textOf(file)])),
  );
  expect(functions.length).toBeGreaterThan(5000);
  expect(functions.filter(({ lines }) => lines > functionLinesMax)).toEqual([]);
});
