/**
 * The tables of the documents that the code knows. Each stands between `<!-- NAME -->` and `<!-- /NAME -->` in its document;
 * `npm run docs` writes them, and a test compares them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { faultTexts } from '#src/app/reference/document/error-texts.ts';
import { settingsTable } from '#src/app/settings/settings-table.ts';
import { createProgram } from '#src/cli/index.ts';
import { createOutput } from '#src/cli/terminal/output.ts';
import { type FaultCode, faultCodes, faultLegacyStatus, faultStatus } from '#src/contract/fault.ts';
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { routeMembersTable } from './route-schema.ts';

const root = resolve(import.meta.dirname, '../..');

export type GeneratedTable = { file: string; name: string; table: string };

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))].map((row) => `| ${row.join(' | ')} |`).join('\n');

const code = (text: string): string => `\`${text}\``;

/** Commands that run, without the groups that hold them. */
const leavesOf = (command: Command, path: readonly string[] = []): { command: Command; path: readonly string[] }[] =>
  command.commands.length === 0
    ? [{ command, path }]
    : command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]));

/** Every command has them. */
const commonOptions = ['--json', '--config'];

const commandsTable = (): string => {
  const program = createProgram(createOutput({ json: false }));
  const rows = leavesOf(program).map(({ command, path }) => {
    const operands = command.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`));
    const options = command.options.filter(({ long }) => !commonOptions.includes(long ?? ''));
    const required = options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
    const others = options.filter(({ mandatory }) => !mandatory).map(({ flags }) => code(flags));
    return [code([...path, ...operands, ...required].join(' ')), command.description(), others.join(' ')];
  });
  return tableOf(['Command', 'What it does', 'Options'], rows);
};

const kindLetters: Readonly<Record<string, string>> = { api_key: 'K', api_client: 'C', bearer: 'B' };

const routesTable = (): string => {
  const { routes } = readRouteTable(routesFileOf({}));
  const rows = routes.map(({ id, method, path, scopes, kinds, class: rateClass, upstream }) => [
    code(id),
    code(`${method} ${path}`),
    scopes.map(code).join(' '),
    kinds.map((kind) => kindLetters[kind] ?? kind).join(' '),
    rateClass,
    upstream,
  ]);
  return tableOf(['Route', 'Method, path', 'Scopes', 'Kinds', 'Class', 'Upstream'], rows);
};

/** Which process has the metrics of a folder. */
const processes = [
  ['src/gateway/audit/signals', 'worker, with signals'],
  ['src/gateway', 'gateway'],
  ['src/platform/http/tls', 'each, with TLS'],
  ['src/platform/http', 'core'],
  ['src/app/listeners', 'gateway'],
  ['src/app/processes', 'gateway, with several processes'],
  ['src/app/probes', 'each'],
  ['src/app/settings', 'each'],
  ['src/webhooks', 'worker'],
  ['src/platform', 'each, with tracing'],
] as const;

const metricPattern = /\.(counter|histogram|total|gauges?)\(\s*'([a-z_]+)',\s*(?:'([^']*)'|`([^`]*)`)/g;

/** The metrics of a file, from its calls of the port: most are made only where all of a process runs. */
const metricsIn = (path: string): { kind: string; name: string; help: string }[] => {
  const text = readFileSync(path, 'utf8');
  if (text.match(metricPattern) === null) return [];
  const folder = dirname(path);
  const beside = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  const constants = [text, ...beside.map((name) => readFileSync(join(folder, name), 'utf8'))].join('\n');
  const filled = (template: string): string =>
    template.replace(/\$\{(\w+)\}/g, (whole, name: string) => {
      const value = new RegExp(`const ${name} = (?:['\`]([^'\`]*)['\`]|([\\d_]+))`).exec(constants);
      return value?.[1] === undefined ? (value?.[2]?.replaceAll('_', ',') ?? whole) : filled(value[1]);
    });
  return [...text.matchAll(metricPattern)].map(([, kind = '', name = '', plain, template]) => ({
    kind: kind === 'total' ? 'counter' : kind.replace('gauges', 'gauge'),
    name,
    help: plain ?? filled(template ?? ''),
  }));
};

const metricsTable = (): string => {
  const seen = new Set<string>();
  const rows = processes.flatMap(([folder, process]) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .filter((path) => !seen.has(path) && seen.add(path))
      .flatMap(metricsIn)
      .map(({ kind, name, help }) => [code(`orderpass_${name}`), kind, process, help]),
  );
  return tableOf(['Metric', 'Type', 'Process', 'Meaning'], rows);
};

/** Codes that have a second status: that of an entity which a body names. */
const inBody: Readonly<Partial<Record<FaultCode, number>>> = { PRODUCT_NOT_FOUND: 422 };

const errorsTable = (): string => {
  const rows = faultCodes.map((name) => {
    const own = faultStatus(name);
    const status = [own, inBody[name]].filter((one) => one !== undefined).join(', ');
    return [name, status, String(faultLegacyStatus(name)), faultTexts[name]];
  });
  return tableOf(['Code', 'Status', 'Old', 'Meaning'], rows);
};

export const generatedTables = (): GeneratedTable[] => [
  { file: 'src/contract/interface.md', name: 'error codes', table: errorsTable() },
  { file: 'config/README.md', name: 'settings', table: settingsTable() },
  { file: 'config/README.md', name: 'routes', table: routesTable() },
  { file: 'config/README.md', name: 'members of the route table', table: tableOf(...routeMembersTable()) },
  { file: 'config/README.md', name: 'metrics', table: metricsTable() },
  { file: 'src/cli/README.md', name: 'commands', table: commandsTable() },
];

/** The document with the table in its place. Throws when the document has no such place. */
export const withTable = (text: string, { file, name, table }: GeneratedTable): string => {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${file} has no place for the table ${name}`);
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
};
