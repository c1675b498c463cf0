/** A JSON file for a command, and the line on which each of its values begins. */
import { readFile } from 'node:fs/promises';
import { DuplicateMember, readExactJson } from '#src/platform/http/exact-json.ts';
import { UsageError } from '../terminal/output.ts';

export type JsonFile = {
  file: string;
  value: unknown;
  /** Line (from 1) of the value at a JSON pointer; if it is absent, of the nearest value around it. */
  lineOf(pointer: string): number;
};

const bytesMax = 4 * 1024 * 1024;

/** Throws UsageError with the file and the line of the fault. */
export const readJsonFile = async (file: string): Promise<JsonFile> => {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new UsageError(`${file}: ${error.message}`);
  });
  if (text.length > bytesMax) throw new UsageError(`${file}: is longer than ${bytesMax} characters`);
  const json = text.replace(/^\uFEFF/, '');
  try {
    const value = readExactJson(json);
    const lines = linesOf(json);
    return { file, value, lineOf: (pointer) => nearest(lines, pointer) };
  } catch (error) {
    if (error instanceof DuplicateMember) throw new UsageError(`${file}: ${error.message}`);
    throw new UsageError(`${file}: ${placed(json, error instanceof Error ? error.message : String(error))}`);
  }
};

/** JSON.parse names a position for some faults only; the others are at the end of the text. */
const placed = (text: string, message: string): string => {
  const position = /at position (\d+)/.exec(message)?.[1];
  const before = text.slice(0, position === undefined ? text.length : Number(position));
  return `line ${before.split('\n').length}: is not JSON: ${message.replace(/ in JSON at position.*$| at position.*$/, '')}`;
};

const nearest = (lines: ReadonlyMap<string, number>, pointer: string): number =>
  lines.get(pointer) ?? (pointer === '' ? 1 : nearest(lines, pointer.slice(0, pointer.lastIndexOf('/'))));

type Place = { pointer: string; index: number | undefined };

/** JSON pointer → line, for a valid JSON text. */
const linesOf = (text: string): Map<string, number> => {
  const lines = new Map<string, number>();
  const around: Place[] = [];
  let line = 1;
  let key: string | undefined;
  const begin = (): string => {
    const place = around.at(-1);
    const name = place?.index ?? key?.replaceAll('~', '~0').replaceAll('/', '~1');
    const pointer = place === undefined ? '' : `${place.pointer}/${name}`;
    lines.set(pointer, line);
    if (place?.index !== undefined) place.index += 1;
    key = undefined;
    return pointer;
  };
  for (const [token] of text.matchAll(/\n|"(?:[^"\\]|\\.)*"|[[\]{}]|[^\s",:[\]{}]+/g)) {
    if (token === '\n') line += 1;
    else if (token === '{') around.push({ pointer: begin(), index: undefined });
    else if (token === '[') around.push({ pointer: begin(), index: 0 });
    else if (token === '}' || token === ']') around.pop();
    else if (token.startsWith('"') && key === undefined && around.at(-1)?.index === undefined && around.length > 0)
      key = JSON.parse(token) as string;
    else begin();
  }
  return lines;
};
