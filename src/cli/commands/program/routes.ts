import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { processSettingsSource } from '#src/app/settings/settings-source.ts';
import { configFileOf } from '../../terminal/command-settings.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { readRoutesCommands } from './read-routes.ts';

type ImportOptions = { upstream: string; scopesFrom: string; out?: string };

export const routesCommands = (program: Command, output: Output): void => {
  const group = program.command('routes').description('the route table');
  readRoutesCommands(group, output);
  group
    .command('import')
    .description(
      'make a route table of an OpenAPI 3 document (JSON or YAML); what a route cannot say goes to standard error',
    )
    .argument('<file>', 'the document, or - for standard input')
    .requiredOption('--upstream <name>', 'the service behind every route')
    .option(
      '--scopes-from <source>',
      'security: the requirements of the document; tags: read: and write: of each tag',
      'security',
    )
    .option(
      '--out <file>',
      'write a new file, as YAML when its name ends with .yaml or .yml (default: JSON on standard output)',
    )
    .action((file: string, options: ImportOptions) => importDocument(file, options, output));
  group
    .command('export')
    .description(
      'print the current route table as an OpenAPI 3.1 document; what that cannot say goes to standard error',
    )
    .argument('<format>', 'openapi')
    .action(async (format: string, _options: unknown, command: Command) => {
      if (format !== 'openapi') throw new UsageError('The format is openapi');
      const { exportCurrentRoutes } = await import('#src/app/settings/route-documents.ts');
      const { document, remarks } = exportCurrentRoutes(processSettingsSource(configFileOf(command)));
      for (const { path, message } of remarks) output.error(`warning: ${path}: ${message}`);
      output.line(JSON.stringify(document, null, output.json ? 0 : 2));
    });
};

const importDocument = async (
  file: string,
  { upstream, scopesFrom, out }: ImportOptions,
  output: Output,
): Promise<void> => {
  if (scopesFrom !== 'security' && scopesFrom !== 'tags') throw new UsageError('--scopes-from is security or tags');
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(upstream))
    throw new UsageError('--upstream is a name of lower-case letters, digits and hyphens');
  const { importRoutes } = await import('#src/app/settings/route-documents.ts');
  const imported = importRoutes(readText(file), { upstream, scopesFrom });
  if ('problems' in imported) {
    for (const { path, message } of imported.problems) output.error(`${file}: ${path}: ${message}`);
    output.fail();
    return;
  }
  const { table, remarks } = imported;
  for (const { path, message } of remarks) output.error(`warning: ${path}: ${message}`);
  if (out === undefined) return output.line(JSON.stringify(table, null, output.json ? 0 : 2));
  const { stringify } = await import('yaml');
  writeNew(out, /\.ya?ml$/i.test(out) ? stringify(table) : `${JSON.stringify(table, null, 2)}\n`);
  output.result({ file: out, routes: table.routes.length, scopes: table.scopes.length, warnings: remarks.length });
};

const readText = (file: string): string => {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new UsageError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
};

/** A table that is in use is never overwritten. */
const writeNew = (file: string, text: string): void => {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw new UsageError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
};
