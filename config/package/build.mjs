/**
 * Compiles the program into `dist`, from which `npm pack` makes the package: JavaScript with source maps and types beside it,
 * and every other file of `src` and `config` that the program reads. The repository itself runs without this step.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const dist = join(root, 'dist');

/** The files of `config` that the program reads, and those that operators copy. */
const files = [
  'routes.json',
  'routes.schema.json',
  'README.md',
  'deployment.md',
  'compose.env.example',
  'nginx-auth-request.conf',
  'caddy-forward-auth.caddyfile',
  'haproxy-auth.cfg',
  'haproxy-auth.lua',
  'haproxy-client-cert.cfg',
];

/** tsc rewrites the endings of relative imports only. It reports all others, which `rewrite` below changes. */
const expected = /error TS2877: /;

const compile = () => {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const { stdout, stderr, error } = spawnSync(tsc, ['-p', join(root, 'config/package')], {
    cwd: root,
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  const problems = `${stdout}\n${stderr}`.split('\n').filter((line) => line !== '' && !expected.test(line));
  if (problems.length > 0) throw new Error(problems.join('\n'));
  if (!existsSync(join(dist, 'src/main.js'))) throw new Error('tsc ended without output');
};

/** Both endings have one length, so the source maps stay right. */
const rewrite = (text) =>
  text.replaceAll(/(['"]#src\/[^'"\n]+)\.ts(['"])/g, '$1.js$2').replaceAll(/(new URL\('\.[^'\n]+)\.ts(')/g, '$1.js$2');

/** The clients are packages of their own. */
const isSource = (path) => path.endsWith('.ts') || path === join(root, 'src/clients');

const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim();

/** Undefined in a folder that is no clone, and when files differ from the commit. */
const commit = () =>
  existsSync(join(root, '.git')) && git('status', '--porcelain') === '' ? git('rev-parse', 'HEAD') : undefined;

rmSync(dist, { recursive: true, force: true });
compile();
cpSync(join(root, 'src'), join(dist, 'src'), { recursive: true, filter: (path) => !isSource(path) });
// By name: a folder of an operator may hold keys and tables of his own beside them.
for (const file of files) cpSync(join(root, 'config', file), join(dist, 'config', file));
for (const file of globSync('src/**/*.{js,mjs,d.ts}', { cwd: dist })) {
  const path = join(dist, file);
  const text = readFileSync(path, 'utf8');
  const rewritten = rewrite(text);
  if (rewritten !== text) writeFileSync(path, rewritten);
}
const { name, version, type, imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
// The scope of the compiled files: `#src/…` is found below this folder.
const own = { name, version, type, imports, gitHead: commit() };
writeFileSync(join(dist, 'package.json'), `${JSON.stringify(own, null, 2)}\n`);
