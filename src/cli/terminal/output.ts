/** The output of a command: values on stdout (text for people, one JSON object for scripts), problems on stderr. */

import { tableOf } from './table.ts';
import { visible, visibleValue } from './visible.ts';

/** Wrong use of the command line: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Refuses members with a name in camelCase: values of the features, which toWire converts (to-wire.ts). */
type Wire<T> = {
  readonly [Name in keyof T]: string extends Name ? T[Name] : Name extends Lowercase<Name & string> ? T[Name] : never;
};

export type Output = ReturnType<typeof createOutput>;

export const createOutput = (options: { json: boolean }) => {
  let code = 0;
  return {
    json: options.json,
    /** The result of the command: members as `name  value` lines, or as one JSON object. */
    result<T extends Readonly<Record<string, unknown>>>(members: T & Wire<T>, note?: string): void {
      if (options.json) {
        process.stdout.write(`${JSON.stringify(members)}\n`);
        return;
      }
      const width = Math.max(0, ...Object.keys(members).map((name) => name.length));
      for (const [name, value] of Object.entries(members)) {
        const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
        process.stdout.write(`${name.padEnd(width)}  ${visibleValue(text)}\n`);
      }
      if (note !== undefined) process.stdout.write(`\n${note}\n`);
    },
    /** A list: a table on a terminal that is wide enough, else one line for each item; or one JSON object with the list as `name`. */
    list(name: string, items: readonly Readonly<Record<string, unknown>>[], empty = 'none'): void {
      if (options.json) process.stdout.write(`${JSON.stringify({ [name]: items })}\n`);
      else if (items.length === 0) process.stdout.write(`${empty}\n`);
      else {
        const table = process.stdout.isTTY ? tableOf(items, toCell, process.stdout) : undefined;
        process.stdout.write((table ?? items.map(toLine)).map((line) => `${line}\n`).join(''));
      }
    },
    line(text: string): void {
      process.stdout.write(`${options.json ? text : visible(text)}\n`);
    },
    error(text: string): void {
      process.stderr.write(`${visible(text)}\n`);
    },
    fail(): void {
      code = 1;
    },
    exitCode: (): number => code,
  };
};

/**
 * A reader such as `head` closes the pipe when it has enough. The command still does all of its work and ends with its own
 * exit code; only the rest of its output is dropped. For every other failure of a write, and for commands that must know of a
 * closed pipe, the listeners of the command decide.
 */
export const dropAfterClosedPipe = (): void => {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && stream.listenerCount('error') === 1) throw error;
    });
  }
};

/** The members with a value, as `name=value` after the id. */
export const toLine = (item: Readonly<Record<string, unknown>>): string =>
  Object.entries(item)
    .filter(([, value]) => value !== null && value !== '' && !isEmptyObject(value))
    .map(([name, value], index) => (index === 0 ? visibleValue(String(value)) : `${name}=${toText(value)}`))
    .join('  ');

const toCell = (value: unknown): string =>
  value === null || value === undefined || isEmptyObject(value) ? '' : isObject(value) ? pairsOf(value) : String(value);

const toText = (value: unknown): string => {
  const text = Array.isArray(value) ? value.join(',') : isObject(value) ? pairsOf(value) : String(value);
  return visibleValue(/\s/.test(text) ? JSON.stringify(text) : text);
};

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isEmptyObject = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

const pairsOf = (value: object): string =>
  Object.entries(value)
    .map(([name, member]) => `${name}:${member}`)
    .join(',');
