/** The entries of the changelog beside the commits that they name. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { compareReleases, programVersion } from '#src/platform/files/release.ts';
import { root } from '../../support/program.ts';
import { changelogFile, changesUnder, git, migrationsOf, missingHistory, releases } from './history.ts';

test('A-283 every entry of a release names its commit, and the newest release is that of the program', () => {
  const changelog = readFileSync(join(root, changelogFile), 'utf8');
  const titles = [...changelog.matchAll(/^## \[(\d.*)\]/gm)].map(([, version]) => version);
  expect(releases.map(({ version }) => version)).toEqual(titles);
  expect(releases[0]?.version).toBe(programVersion);
  expect(titles).toEqual(titles.toSorted((a = '', b = '') => compareReleases(b, a)));
});

test('releases are compared by their numbers', () => {
  const sorted = ['0.9.12', '1.0.0', '1.0.9', '1.0.10', '1.9.0', '1.10.0', '2.0.0', '10.0.0'];
  expect(sorted.toReversed().toSorted(compareReleases)).toEqual(sorted);
  expect(compareReleases('1.10.0', '1.10.0')).toBe(0);
});

/** The last migration of each feature that is recorded without the releases that work with it. */
const undeclared = { gateway: 4, ordering: 1, panel: 1, platform: 3, webhooks: 3 };

test('A-282 every migration since 1.0.0 declares in its first line the oldest release that works with it', () => {
  const expected = Object.entries(undeclared).flatMap(([feature, last]) =>
    Array.from({ length: last }, (_, index) => `${feature}/${index + 1}`),
  );
  const found = allMigrations.filter(({ worksWith }) => worksWith === undefined);
  expect(found.map(({ feature, number }) => `${feature}/${number}`).toSorted()).toEqual(expected);
  expect(allMigrations.length).toBeGreaterThan(found.length);
});

describe.skipIf(missingHistory !== undefined)('the commit of a release', () => {
  const ofCommit = (commit: string, path: string): string => git('show', `${commit}:${path}`);

  test.each(releases)('A-283 $version has its version and its changes, and is in the history', (release) => {
    const { version, commit, changes } = release;
    git('merge-base', '--is-ancestor', commit, 'HEAD');
    expect(JSON.parse(ofCommit(commit, 'package.json')).version).toBe(version);
    const changelog = ofCommit(commit, changelogFile);
    // The changelog of the first release did not name it yet.
    const title = /^## \[\d/m.test(changelog) ? `[${version}] - ${release.date}` : '[Unreleased]';
    expect(changes).toBe(changesUnder(changelog, title));
    expect(changes).not.toBe('');
  });

  test.each(releases)('the migrations of $version are in the program as they were released', (release) => {
    const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
    const now = (path: string): string => readFileSync(join(root, path), 'utf8');
    const released = migrationsOf(release);
    expect(released.length).toBeGreaterThan(10);
    expect(released.map((path) => [path, digest(now(path))])).toEqual(
      released.map((path) => [path, digest(ofCommit(release.commit, path))]),
    );
  });
});
