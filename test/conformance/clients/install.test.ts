/** The page about the clients: what installs them from a clone, as a reader pastes it, and its samples. Nothing is downloaded. */
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fencesOf } from '../../reference/guide-claims/guide-pages.ts';
import { root } from '../../support/program.ts';

/** What Composer finds in place of its registry. */
const registry = ['psr/http-client 1.0', 'psr/http-factory 1.0', 'psr/http-message 1.1', 'nyholm/psr7 1.8']
  .map((text) => text.split(' '))
  .map(([name, version]) => ({ type: 'package', package: { name, version, type: 'metapackage' } }));

/** No tool asks a registry. pip builds with the setuptools that are installed: it reads 0 as "no isolation". */
const env = {
  ...process.env,
  ...{ npm_config_offline: 'true', GOPROXY: 'off', GOTOOLCHAIN: 'local', COMPOSER_ALLOW_SUPERUSER: '1' },
  ...{ PIP_NO_INDEX: '1', PIP_NO_DEPS: '1', PIP_NO_BUILD_ISOLATION: '0', PIP_DISABLE_PIP_VERSION_CHECK: '1' },
};

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-install-'));
  cpSync(join(root, 'src/clients'), join(folder, 'orderpass/src/clients'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'orderpass/node_modules'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (commands: string, cwd: string) => promisify(execFile)('bash', ['-euc', commands], { cwd, env });

type Language = {
  name: string;
  fence: string;
  folder: string;
  /** Exits with 0 where the language is installed with what its package needs. */
  installed: string;
  /** What a program has before the client is added to it. */
  program: string;
  /** Prints `found` when the program finds the client. */
  use: string;
};

const languages: readonly Language[] = [
  {
    ...{ name: 'TypeScript', fence: 'ts', folder: 'typescript', installed: 'npm --version', program: 'npm init --yes' },
    use: `node --input-type=module --eval "import { Orderpass } from '@orderpass/client'; console.log(Orderpass && 'found')"`,
  },
  {
    ...{ name: 'Python', fence: 'python', folder: 'python' },
    installed: `/usr/bin/python3 -c 'import venv, ensurepip, setuptools, wheel, httpx'`,
    program: '/usr/bin/python3 -m venv --system-site-packages .venv && cp -s .venv/bin/pip .',
    use: `.venv/bin/python -c "from orderpass import Orderpass; print(Orderpass and 'found')"`,
  },
  {
    ...{ name: 'PHP', fence: 'php', folder: 'php', installed: 'composer --version' },
    program: `echo '${JSON.stringify({ repositories: [{ 'packagist.org': false }, ...registry] })}' >composer.json`,
    use: `php -r "require 'vendor/autoload.php'; echo class_exists('Orderpass\\Orderpass') ? 'found' : '';"`,
  },
  {
    ...{ name: 'Go', fence: 'go', folder: 'go', installed: `go version | grep -qE 'go1\\.(2[4-9]|[3-9])'` },
    program: 'go mod init till',
    use: 'go build -o till main.go && echo found',
  },
];

const isInstalled = ({ name, installed }: Language): boolean => {
  try {
    execFileSync('bash', ['-c', installed], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(`install.test.ts: the client for ${name} was not installed, its tools are missing\n`);
    return false;
  }
};

const titled = (name: string): string[] =>
  fencesOf('clients')
    .filter(({ title }) => title === name)
    .map(({ text }) => text);

test.each(languages)(
  'A-446 the sample of the page for $name is that of its README',
  ({ name, fence, folder: client }) => {
    const readme = readFileSync(join(root, 'src/clients', client, 'README.md'), 'utf8');
    expect(readme).toContain(`\n\`\`\`${fence}\n${titled(name).at(-1)}\`\`\`\n`);
  },
);

test.each(languages.filter(isInstalled))(
  'A-446 the commands of the page install the client for $name from a clone',
  async ({ name, program, use }) => {
    const till = join(folder, `till-${name}`);
    mkdirSync(till);
    symlinkSync('../orderpass', join(till, 'orderpass'));
    const [, fromClone = '', sample = ''] = titled(name);
    if (name === 'Go') writeFileSync(join(till, 'main.go'), sample);
    await run(program, till);
    // `pip` is that of the virtual environment, which lies in the folder of the program.
    await run(`PATH=.:$PATH\n${fromClone}`, till);
    expect((await run(use, till)).stdout).toContain('found');
  },
);
