/** The source as the architecture tests read it: files, and imports between them, as paths from the root of the repository. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/** Output of runs, not source. */
const generated = new Set(['node_modules', 'artefacts', 'artifacts', 'data', 'coverage', 'dist']);

export const foldersBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !generated.has(entry.name))
    .flatMap((entry) => [`${folder}/${entry.name}`, ...foldersBelow(`${folder}/${entry.name}`)]);

export const entriesOf = (folder: string): string[] =>
  readdirSync(join(root, folder)).filter((name) => !generated.has(name));

export const filesBelow = (folder: string, name: RegExp): string[] =>
  [folder, ...foldersBelow(folder)]
    .flatMap((each) => readdirSync(join(root, each), { withFileTypes: true }).map((entry) => ({ each, entry })))
    .filter(({ entry }) => entry.isFile() && name.test(entry.name))
    .map(({ each, entry }) => `${each}/${entry.name}`);

export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

export const codeFile = /\.(ts|mjs)$/;

export type Import = { from: string; to: string; isLocal: boolean };

/** Static, dynamic, type-only and re-exporting imports. A local target is a path from the root, any other a package. */
export const importsOf = (from: string): Import[] => {
  const specifiers = textOf(from).matchAll(/(?:from\s+|import\s*\(\s*|import\s+)'([^']+)'/g);
  return [...specifiers].map(([, name = '']) => {
    if (name.startsWith('#')) return { from, to: name.slice(1), isLocal: true };
    if (name.startsWith('.')) return { from, to: relative(root, resolve(root, dirname(from), name)), isLocal: true };
    return { from, to: name, isLocal: false };
  });
};
