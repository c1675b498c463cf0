/**
 * Makes a release of a clean clone: node config/package/release.mjs VERSION. One commit gives the program its version and the
 * changelog its entry; a second one adds the hash of the first to the entry, since no commit can contain its own hash.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const changelog = join(root, 'src/app/reference/changelog.md');

const run = (command, ...args) => execFileSync(command, args, { cwd: root, encoding: 'utf8' }).trim();

const refuse = (reason) => {
  process.stderr.write(`No release was made: ${reason}\n`);
  process.exit(1);
};

const [version = ''] = process.argv.slice(2);
const { version: last } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version)) refuse('give its version as MAJOR.MINOR.PATCH');
if (version.localeCompare(last, 'en', { numeric: true }) <= 0) refuse(`${version} is not newer than ${last}`);
if (run('git', 'status', '--porcelain') !== '') refuse('files differ from the last commit');

const text = readFileSync(changelog, 'utf8');
const title = '## [Unreleased]\n';
const changes = text.split(title)[1]?.split('\n## ')[0] ?? '';
if (!changes.includes('\n- ')) refuse('the changelog has no entry under [Unreleased]');

const heading = `## [${version}] - ${new Date().toISOString().slice(0, 10)}\n`;
const entry = text.replace(title, `${title}\n${heading}`);
writeFileSync(changelog, entry);
run('npm', 'version', version, '--no-git-tag-version');
run('git', 'commit', '-q', '-a', '-m', `Release ${version}`);
const commit = run('git', 'rev-parse', 'HEAD');
writeFileSync(changelog, entry.replace(heading, `${heading}\nCommit \`${commit}\`.\n`));
run('git', 'commit', '-q', '-a', '-m', `Name the commit of release ${version}`);
process.stdout.write(`Release ${version} is commit ${commit}\n`);
