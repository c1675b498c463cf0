import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { settingsTable } from '#src/app/settings/config.ts';

const root = resolve(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

test('the settings table of the README is the one that the schema gives (npm run -s cli -- config table)', () => {
  expect(readme).toContain(settingsTable());
});

test('every path that the README names exists', () => {
  const named = [...readme.matchAll(/`((?:src|config|test|\.ci)\/[\w./-]*)`/g)].map((match) => match[1] ?? '');
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('every npm script that the README names exists', () => {
  const named = [...readme.matchAll(/`npm (?:run (?:-s )?)?(\w+)/g)]
    .map((match) => match[1] ?? '')
    .filter((name) => name !== 'ci');
  expect(named.filter((name) => name !== 'run' && manifest.scripts[name] === undefined)).toEqual([]);
});
