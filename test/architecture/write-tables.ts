/** `npm run docs`: writes the generated tables into the documents, and the JSON Schema of route tables. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { generatedTables, withTable } from './generated-tables.ts';
import { schemaFile, schemaText } from './route-schema.ts';

const root = resolve(import.meta.dirname, '../..');

for (const generated of generatedTables()) {
  const path = join(root, generated.file);
  writeFileSync(path, withTable(readFileSync(path, 'utf8'), generated));
  process.stdout.write(`${generated.file}: ${generated.name}\n`);
}

writeFileSync(join(root, schemaFile), schemaText());
process.stdout.write(`${schemaFile}\n`);
