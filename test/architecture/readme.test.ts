/** The documents of the repository: what they name exists, and they can be read in a terminal. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '#src/cli/index.ts';
import { createOutput } from '#src/cli/terminal/output.ts';
import { generatedTables, withTable } from './generated-tables.ts';
import { root } from './source.ts';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

const documentsBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));

const files = ['README.md', ...['src', 'test', 'config', '.github'].flatMap(documentsBelow)];
const documents = files.map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));

/** `src/FEATURE/…` and `src/*` stand for many. */
const isPattern = (path: string): boolean => /[A-Z]{3,}|\*/.test(path.replace(/(README|CONTRIBUTING)\.md$/, ''));

test('the documents of every kind are found', () => {
  expect(files).toEqual(
    expect.arrayContaining([
      'README.md',
      'src/contract/interface.md',
      'config/README.md',
      'test/README.md',
      '.github/CONTRIBUTING.md',
    ]),
  );
});

test.each(documents)('every path that $file names exists', ({ text }) => {
  const named = [...text.matchAll(/`((?:src|config|test|\.ci|\.github)\/[\w./*-]*)`/g)].map((match) => match[1] ?? '');
  expect(named.filter((path) => !isPattern(path) && !existsSync(join(root, path)))).toEqual([]);
});

test.each(documents)('every npm script that $file names exists', ({ text }) => {
  const named = [...text.matchAll(/\bnpm run (?:-s )?([\w:]+)/g)].map((match) => match[1] ?? '');
  expect(named.filter((name) => manifest.scripts[name] === undefined)).toEqual([]);
});

test('config/README.md, which is shown as one page for each section, names sections and does not point to the next one', () => {
  const text = readFileSync(join(root, 'config/README.md'), 'utf8');
  expect(text.match(/\b(?:next|previous|preceding) section|\btables? above\b/gi)).toBeNull();
});

test('config/README.md names every path that the program answers itself', () => {
  const code = readFileSync(join(root, 'src/gateway/model/route-path.ts'), 'utf8');
  const arrays = [...code.matchAll(/^const own(?:Paths|Areas) = \[(.*)\] as const;$/gm)].map(([, items = '']) => items);
  expect(arrays).toHaveLength(2);
  const text = readFileSync(join(root, 'config/README.md'), 'utf8');
  const said = /^Orderpass answers some paths itself[\s\S]*?\n\n/m.exec(text)?.[0] ?? '';
  for (const [, path] of `${arrays.join()},'/mcp'`.matchAll(/'([^']+)'/g)) expect(said).toContain(`\`${path}\``);
});

const program = createProgram(createOutput({ json: false }));

/** The command that the words lead to; what follows a command are its arguments. */
const findCommand = (words: readonly string[]): Command | undefined => {
  let command: Command = program;
  for (const word of words) {
    if (command.commands.length === 0) return command;
    const child = command.commands.find((one) => one.name() === word);
    if (child === undefined) return undefined;
    command = child;
  }
  return command;
};

test.each(documents)('every command of the command line that $file names exists', ({ text }) => {
  const named = [...text.matchAll(/npm run -s cli -- ([a-z][a-z -]*[a-z])/g)].map((match) => match[1] ?? '');
  const words = (line: string): string[] => line.split(' ').filter((word) => /^[a-z]+(-[a-z]+)*$/.test(word));
  expect(named.filter((line) => findCommand(words(line.split(' --')[0] ?? '')) === undefined)).toEqual([]);
});

const charactersMax = 200;

test.each(documents)(`no line of $file is longer than ${charactersMax} characters`, ({ text }) => {
  // Rows of tables cannot be broken, and examples show requests and answers as they are.
  const prose = text.replace(/^ *```[\s\S]*?^ *```/gm, '').split('\n');
  const long = prose.filter((line) => line.length > charactersMax && !line.startsWith('|'));
  expect(long).toEqual([]);
});

test('the README of the repository is one page', () => {
  expect(Buffer.byteLength(readFileSync(join(root, 'README.md')))).toBeLessThan(10_000);
});

test('the pictures of the README exist and are small (npm run screenshots -- --readme)', () => {
  const named = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)];
  expect(named).toHaveLength(2);
  for (const [, path = ''] of named) expect(statSync(join(root, path)).size, path).toBeLessThan(150_000);
});

test.each(generatedTables())('the table "$name" of $file is what the code gives (npm run docs)', (generated) => {
  const text = readFileSync(join(root, generated.file), 'utf8');
  expect(withTable(text, generated)).toBe(text);
  expect(generated.table.split('\n').length).toBeGreaterThan(10);
});
