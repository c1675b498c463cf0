/** `npm run clients`: writes every generated file of the clients. Run it when an operation, a schema or an event changed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { generatedFiles } from './files.ts';

const clients = resolve(import.meta.dirname, '..');

for (const { path, text } of generatedFiles()) {
  const file = join(clients, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  process.stdout.write(`src/clients/${path}\n`);
}
