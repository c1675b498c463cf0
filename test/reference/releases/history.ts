/** The releases that the changelog names, and their files as the history of this clone has them. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../../support/program.ts';

export const changelogFile = 'src/app/reference/changelog.md';

export type Release = { version: string; date: string; commit: string; changes: string };

/** What stands under a heading of the second level of a changelog, without the line that names the commit. */
export const changesUnder = (changelog: string, title: string): string =>
  (changelog.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '').replace(/^\nCommit `[0-9a-f]{40}`\.\n/, '').trim();

const heading = /^## (\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2}))\n\nCommit `([0-9a-f]{40})`\.\n/gm;

/** The newest first. */
export const releases: readonly Release[] = (() => {
  const text = readFileSync(join(root, changelogFile), 'utf8');
  return [...text.matchAll(heading)].map(([, title = '', version = '', date = '', commit = '']) => ({
    ...{ version, date, commit },
    changes: changesUnder(text, title),
  }));
})();

export const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** The reason why the history cannot be read; undefined where it has every release. */
export const missingHistory: string | undefined = (() => {
  for (const { version, commit } of releases) {
    try {
      git('cat-file', '-e', `${commit}^{commit}`);
    } catch {
      return `the commit ${commit} of release ${version} is not here: the clone is shallow, or git is missing`;
    }
  }
  return undefined;
})();

/** Written past the reporter, which names no reason of a skipped test. */
if (missingHistory !== undefined) process.stdout.write(`The releases before are not tested: ${missingHistory}\n`);

const isMigration = (path: string): boolean => /\/migrations\/[^/]+\.sql$/.test(path);

export const migrationsOf = ({ commit }: Release): string[] =>
  git('ls-tree', '-r', '--name-only', commit, 'src').split('\n').filter(isMigration);

export const migrationsOfToday = (): string[] =>
  readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((path) => `src/${path}`)
    .filter(isMigration);

export type Checkout = { folder: string; remove(): void };

/** The program of a release, with the packages of today. */
export const checkOut = ({ commit }: Release): Checkout => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-release-'));
  const archive = join(folder, 'release.tar');
  git('archive', '--output', archive, commit, 'package.json', 'config', 'src');
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
};
