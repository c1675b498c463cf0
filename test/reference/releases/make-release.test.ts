/** The script that makes a release, in a clone of its own, and what the program says about its release. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { programVersion } from '#src/platform/files/release.ts';
import { root, runCommand } from '../../support/program.ts';
import { changelogFile, changesUnder } from './history.ts';

const script = 'config/package/release.mjs';
const who = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.com' };
const env = { ...process.env, ...who, GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.com' };

let folder: string;

const git = (...args: string[]): string => execFileSync('git', args, { cwd: folder, encoding: 'utf8', env }).trim();

const release = (version: string): { status: number | null; stdout: string; stderr: string } =>
  spawnSync(process.execPath, [join(folder, script), version], { cwd: tmpdir(), encoding: 'utf8', env });

const changelog = (): string => readFileSync(join(folder, changelogFile), 'utf8');

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-release-'));
  for (const file of ['package.json', 'package-lock.json', changelogFile, script, '.npmrc'])
    cpSync(join(root, file), join(folder, file), { recursive: true });
  const text = changelog();
  const [head = ''] = text.split('## [Unreleased]');
  writeFileSync(
    join(folder, changelogFile),
    `${head}## [Unreleased]\n\n### Fixed\n\n- A fault.\n${text.slice(head.length + 15)}`,
  );
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'Begin');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('A-283 a release is one commit with version and entry, and a second one that names the first', () => {
  const made = release('7.0.10');
  expect([made.status, made.stderr]).toEqual([0, '']);
  const [naming, released, ...earlier] = git('log', '--format=%H %s').split('\n');
  expect([naming, earlier.length]).toEqual([expect.stringContaining('Name the commit of release 7.0.10'), 1]);
  expect(released).toMatch(/ Release 7\.0\.10$/);
  const commit = released?.split(' ')[0] ?? '';
  expect(made.stdout).toBe(`Release 7.0.10 is commit ${commit}\n`);
  for (const file of ['package.json', 'package-lock.json'])
    expect(JSON.parse(git('show', `${commit}:${file}`)).version).toBe('7.0.10');
  expect(git('show', '--format=', '--name-only', 'HEAD')).toBe(changelogFile);
  const title = `[7.0.10] - ${new Date().toISOString().slice(0, 10)}`;
  expect(changelog()).toContain(`## [Unreleased]\n\n## ${title}\n\nCommit \`${commit}\`.\n\n### Fixed\n\n- A fault.\n`);
  expect(changesUnder(changelog(), title)).toContain('- A fault.');
  expect(git('status', '--porcelain')).toBe('');
});

test('A-283 a release that is not newer, has no changes or differs from its commit is refused, and nothing is changed', () => {
  const head = git('rev-parse', 'HEAD');
  const refused = (version: string): string => {
    const { status, stderr } = release(version);
    expect([status, git('rev-parse', 'HEAD')]).toEqual([1, head]);
    return stderr;
  };
  expect(refused('7.0.9')).toContain('7.0.9 is not newer than 7.0.10');
  expect(refused('7.1')).toContain('MAJOR.MINOR.PATCH');
  expect(refused('7.1.0')).toContain('no entry under [Unreleased]');
  writeFileSync(join(folder, 'more.txt'), '');
  expect(refused('7.1.0')).toContain('files differ from the last commit');
});

test('A-283 the command line says the version and, in a clone, the commit', async () => {
  const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const { stdout } = await runCommand(['--version'], {});
  expect(stdout).toBe(`${programVersion} (commit ${head})\n`);
});

test('A-283 the commit is known on a branch, in packed references, without a branch and in a package, and else is not', () => {
  const module = 'src/platform/files/release.ts';
  cpSync(join(root, module), join(folder, module), { recursive: true });
  const url = pathToFileURL(join(folder, module)).href;
  const print = 'process.stdout.write(String((await import(process.argv[1])).programCommit))';
  const found = (): string =>
    execFileSync(process.execPath, ['--input-type=module', '-e', print, url], { encoding: 'utf8', env });
  const head = git('rev-parse', 'HEAD');
  expect(found()).toBe(head);
  git('pack-refs', '--all');
  expect(found()).toBe(head);
  git('checkout', '-q', '--detach', 'HEAD~1');
  expect(found()).toBe(git('rev-parse', 'HEAD'));
  rmSync(join(folder, '.git'), { recursive: true });
  expect(found()).toBe('undefined');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', version: '7.0.10', gitHead: head }));
  expect(found()).toBe(head);
});
