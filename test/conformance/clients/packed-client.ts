/** The package of the client for TypeScript as npm makes it, unpacked where a program finds it. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../support/program.ts';

const run = promisify(execFile);

export const binaries = join(root, 'node_modules/.bin');

/** Packs into `folder` and returns the folder of a program beside it, whose `node_modules` has the package. */
export const packClient = async (folder: string): Promise<{ user: string; client: string }> => {
  const source = join(folder, 'source');
  cpSync(join(root, 'src/clients/typescript'), source, { recursive: true });
  const env = { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH}` };
  await run('npm', ['pack', '--offline', '--pack-destination', folder], { cwd: source, env });
  const user = join(folder, 'user');
  const client = join(user, 'node_modules/@orderpass/client');
  mkdirSync(client, { recursive: true });
  await run('tar', ['-xzf', join(folder, 'orderpass-client-1.0.0.tgz'), '-C', client, '--strip-components=1']);
  return { user, client };
};

/** The Node of the path, which may be older than that of the program, and the one that runs the tests. */
export const nodes = (): string[] => [process.execPath, ...['/usr/local/bin/node', '/usr/bin/node'].filter(existsSync)];
