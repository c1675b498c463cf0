/** The clients of `src/clients`: their generated part is what the interface gives today, and the rest is small and stands alone. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { emitters, generatedFiles } from '#src/clients/generate/files.ts';
import { programDocument } from '#src/clients/generate/model/document.ts';
import { readModel } from '#src/clients/generate/model/model.ts';
import { generatedMark } from '#src/clients/generate/model/text.ts';
import { codeFile, filesBelow, importsOf, textOf } from './source.ts';

const folder = 'src/clients';
const generated = generatedFiles().map(({ path, text }) => ({ file: `${folder}/${path}`, text }));
const source = /\.(ts|py|php|go)$/;
const filesOf = (client: string): string[] => filesBelow(`${folder}/${client}`, source);
const linesOf = (file: string): number => textOf(file).split('\n').length;
const isMarked = (file: string): boolean =>
  textOf(file)
    .split('\n', 3)
    .some((line) => line.endsWith(generatedMark));

test.each(generated)('A-330 $file is what the interface gives (npm run clients)', ({ file, text }) => {
  expect(existsSync(file) ? textOf(file) : 'missing').toBe(text);
});

test('A-330 every operation of the route table is a method, with a name of its own', () => {
  const document = programDocument();
  const operations = readModel(document).groups.flatMap((group) => group.operations);
  const paths = document.paths as Record<string, object>;
  const others = Object.keys(paths).filter((path) => !operations.some((one) => one.path === path));
  expect(others.every((path) => /^\/(api\/oauth\/|api\/openapi\.json$|\.well-known\/)/.test(path))).toBe(true);
  expect(operations.length).toBeGreaterThan(30);
  const names = operations.map(({ group, name }) => `${group}.${name}`);
  expect(new Set(names).size).toBe(names.length);
});

test.each(Object.keys(emitters))('A-330 nine tenths of the lines of the client for %s are generated', (client) => {
  const files = filesOf(client);
  const sum = (some: readonly string[]): number => some.reduce((lines, file) => lines + linesOf(file), 0);
  expect(sum(files.filter(isMarked)) / sum(files)).toBeGreaterThanOrEqual(0.9);
});

test.each(Object.keys(emitters))('the mark of a generated file of the client for %s is on those alone', (client) => {
  expect(filesOf(client).filter(isMarked)).toEqual(
    generated
      .map(({ file }) => file)
      .filter((file) => file.startsWith(`${folder}/${client}/`))
      .sort(),
  );
});

const linesMax = 300;

test('no file of a client that people write has more than 300 lines', () => {
  const written = [...Object.keys(emitters), 'generate'].flatMap(filesOf).filter((file) => !isMarked(file));
  expect(written.filter((file) => linesOf(file) > linesMax)).toEqual([]);
});

test('a client for TypeScript imports nothing but its own files, as it is published alone', () => {
  const own = `${folder}/typescript/src/`;
  const imports = filesBelow(`${folder}/typescript`, codeFile).flatMap(importsOf);
  expect(imports.length).toBeGreaterThan(5);
  expect(imports.filter(({ to }) => !to.startsWith(own))).toEqual([]);
});
