#!/usr/bin/env node
// The program needs Node 24. If the node in PATH is older, the runtime in node_modules runs it instead.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
const compileCache = new URL('compile-cache.mjs', import.meta.url).href;

/** The runtime comes without an install script for some systems, and with one, which npm may not run, for all. */
const ownNode = () => {
  const { resolve } = createRequire(import.meta.url);
  for (const name of [`node-${process.platform}-${process.arch}`, 'node']) {
    try {
      return join(dirname(resolve(`${name}/package.json`)), 'bin', 'node');
    } catch {
      // Not installed.
    }
  }
  return undefined;
};

if (Number(process.versions.node.split('.')[0]) >= 24) {
  await import(compileCache);
  await import(main);
} else {
  const node = ownNode();
  if (node === undefined) {
    process.stderr.write(
      `Orderpass needs Node 24 or newer and this is Node ${process.versions.node}: run "npm ci", which brings one along, or install Node 24\n`,
    );
    process.exit(1);
  }
  const child = spawn(node, ['--import', compileCache, main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
}
