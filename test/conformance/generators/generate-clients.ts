/**
 * Generates a client with each of four generators from the document of a fresh start, and compiles it strictly: once as it is,
 * and once with an order without members, which must not compile. `npm run generators`. It installs the generators into a
 * temporary folder from the registry, so it is no part of the gate.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDataDir, startProgram } from '../../support/program.ts';

const packages = [
  'typescript@5.9.3',
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  '@hey-api/openapi-ts@0.99.0',
  'orval@8.38.0',
  '@kubb/cli@4.39.3',
  '@kubb/core@4.39.3',
  '@kubb/plugin-oas@4.39.3',
  '@kubb/plugin-ts@4.39.3',
  '@kubb/plugin-client@4.39.3',
  'axios@1.21.1',
];

type Generator = {
  name: string;
  /** Config files by name. */
  files?: Readonly<Record<string, string>>;
  command: readonly string[];
  /** HERE is the folder of the generator, ORDER the body. */
  call: string;
};

const generators: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    // Without the option it takes members that have a default as always sent.
    command: [
      'openapi-typescript',
      'openapi.json',
      '-o',
      'openapi-typescript/schema.ts',
      '--default-non-nullable=false',
    ],
    call: `import createClient from 'openapi-fetch';
import type { paths } from 'HERE/schema.ts';
const client = createClient<paths>({ baseUrl: 'http://127.0.0.1' });
void client.POST('/api/order/create', { body: ORDER });`,
  },
  {
    name: 'hey-api',
    command: ['openapi-ts', '-i', 'openapi.json', '-o', 'hey-api/client', '-c', '@hey-api/client-fetch'],
    call: `import { orderCreate } from 'HERE/client/index.ts';
void orderCreate({ body: ORDER });`,
  },
  {
    name: 'orval',
    files: {
      'orval.config.mjs': `export default { api: { input: 'openapi.json', output: { target: 'orval/client.ts', client: 'fetch', mode: 'single' } } };`,
    },
    command: ['orval', '--config', 'orval.config.mjs'],
    call: `import { orderCreate } from 'HERE/client.ts';
void orderCreate(ORDER);`,
  },
  {
    name: 'kubb',
    files: {
      'kubb.config.mjs': `import { defineConfig } from '@kubb/core';
import { pluginClient } from '@kubb/plugin-client';
import { pluginOas } from '@kubb/plugin-oas';
import { pluginTs } from '@kubb/plugin-ts';
export default defineConfig({
  root: '.', input: { path: './openapi.json' }, output: { path: './kubb/gen', clean: true, barrelType: 'named' },
  plugins: [pluginOas({ generators: [] }), pluginTs({ output: { path: 'types' } }), pluginClient({ output: { path: 'clients' } })],
});`,
    },
    command: ['kubb', 'generate', '--config', 'kubb.config.mjs'],
    call: `import { orderCreate } from 'HERE/gen/index.ts';
void orderCreate(ORDER);`,
  },
];

const folder = mkdtempSync(join(tmpdir(), 'orderpass-generators-'));
const run = (command: string, args: readonly string[]): { code: number | null; text: string } => {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(folder, 'node_modules/.bin')}:${process.env.PATH ?? ''}` },
  });
  return { code: status, text: `${stdout}${stderr}` };
};

const strict = [
  ...['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--lib', 'es2023,dom,dom.iterable'],
  ...['--module', 'esnext', '--moduleResolution', 'bundler', '--allowImportingTsExtensions'],
];

const order = `{ client: { first_name: 'Ada', email: 'ada@example.com' }, dmethod: '0t', table: '7', payment_method: 'external', details: [{ product: { uid: 'prd_01' }, quantity: 1 }] }`;

/** Undefined: the client compiles, and an order without members does not. */
const problemOf = ({ name, files = {}, command, call }: Generator): string | undefined => {
  mkdirSync(join(folder, name), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const [program = '', ...args] = command;
  const generated = run(program, args);
  if (generated.code !== 0) return `it fails: ${generated.text}`;
  const compile = (file: string, sent: string): { code: number | null; text: string } => {
    writeFileSync(join(folder, name, file), call.replace('HERE', '.').replace('ORDER', sent));
    return run('tsc', [...strict, join(name, file)]);
  };
  const whole = compile('whole.ts', order);
  if (whole.code !== 0) return `a complete order does not compile: ${whole.text}`;
  return compile('empty.ts', '{}').code === 0 ? 'an order without members compiles' : undefined;
};

const data = makeDataDir();
const program = await startProgram({ ORDERPASS_DATA_DIR: data.path });
try {
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${program.url}/api/openapi.json`)).text());
} finally {
  await program.stop();
  data.remove();
}
writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
const installed = run('npm', ['install', '--no-audit', '--no-fund', ...packages]);
if (installed.code !== 0) throw new Error(installed.text);
for (const generator of generators) {
  const problem = problemOf(generator);
  if (problem !== undefined) process.exitCode = 1;
  process.stdout.write(
    `${generator.name}: ${problem?.slice(0, 2_000) ?? 'compiles, and refuses an order without members'}\n`,
  );
}
rmSync(folder, { recursive: true, force: true });
