/** The pages of the guide for integrators, read as Markdown. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../support/program.ts';

/** In the sequence in which a reader meets them: later pages use what earlier ones made. */
export const pageNames = [
  ...['start', 'authentication', 'errors', 'pagination', 'idempotency', 'limits', 'versions', 'orders', 'menu-import'],
  // The clock of the sandbox is moved last: orders of other pages would be dated by it.
  ...['customers', 'webhooks', 'security', 'faq', 'mcp', 'sandbox'],
] as const;

/** That of the clients too, whose commands fetch packages from registries; the tests of the clients run its code. */
export const everyPage = [...pageNames, 'clients'] as const;

export const folder = join(root, 'src/app/reference/guide/integrate');

export const textOf = (page: string): string => readFileSync(join(folder, `${page}.md`), 'utf8');

type Fence = { language: string; title: string | undefined; text: string };

export const fencesOf = (page: string): Fence[] =>
  [...textOf(page).matchAll(/^```(\w*)(?: title="([^"]*)")?\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', title, text = '']) => ({ language, title, text }),
  );

/** A command of a page with the answers that the page shows directly after it. */
export type Step = { page: string; command: string; answer: Fence | undefined };

/** Commands that install or start the program, which the test has started, and those that fetch a package. */
const isStart = (command: string): boolean => command.includes('npm start') || command.startsWith('npx ');

export const stepsOf = (page: string): Step[] => {
  const fences = fencesOf(page);
  return fences.flatMap(({ language, text }, index) => {
    if (language !== 'sh' || isStart(text)) return [];
    const next = fences[index + 1];
    const answer = next !== undefined && ['json', 'http', 'text'].includes(next.language) ? next : undefined;
    return [{ page, command: text, answer }];
  });
};

/** The rows of the first table below a heading, without its head; cells as text. */
export const tableOf = (page: string, heading: string, nth = 0): string[][] => {
  const lines = textOf(page).split('\n');
  const start = lines.indexOf(heading);
  if (start === -1) throw new Error(`${page} has no heading ${heading}`);
  const end = lines.findIndex((line, index) => index > start && /^## /.test(line));
  const section = lines.slice(start, end === -1 ? undefined : end);
  const tables = section.join('\n').match(/(?:^\|.*\n?)+/gm) ?? [];
  const table = tables[nth];
  if (table === undefined) throw new Error(`${page} has no table ${nth} below ${heading}`);
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .replace(/^\|\s*|\s*\|$/g, '')
        .split('|')
        .map((cell) => cell.trim()),
    );
};

type CommandResult = Record<string, string>;

/**
 * Runs the commands `orderpass …` of one fence in turn. `fill`: what a reader puts in for a placeholder such as `opc_one…`, by
 * the results so far.
 */
export const runFence = async (
  page: string,
  title: string,
  run: (args: string[]) => Promise<CommandResult>,
  fill: (placeholder: string, results: readonly CommandResult[]) => string | undefined,
): Promise<CommandResult[]> => {
  const fence = fencesOf(page).find((one) => one.title === title);
  const results: CommandResult[] = [];
  for (const line of (fence?.text ?? '').trim().split('\n')) {
    const [program, ...args] = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
    if (program !== 'orderpass') throw new Error(`${page}, ${title}: not a command of orderpass: ${line}`);
    const filled = args.map((arg) => (arg.endsWith('…') ? (fill(arg, results) ?? arg) : arg));
    results.push(await run(filled));
  }
  return results;
};
