/**
 * The sender of a request chooses what regular expressions read. One whose work grows faster than its input lets a few
 * kilobytes occupy a process, so each one of `src` is run against long inputs that are derived from itself.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { parseAst } from 'vitest/node';
import type { TimedPattern } from './time-patterns.ts';

const src = resolve(import.meta.dirname, '../../src');

/** Patterns that are put together when the program runs, as they come out; each file that does so stands here. */
const builtPatterns: Readonly<Record<string, readonly { source: string; flags: string }[]>> = {
  'ordering/restaurants/location-terms.ts': [
    { source: '^(([01]\\d|2[0-3]):[0-5]\\d|24:00)$', flags: '' },
    { source: '^(([01]\\d|2[0-3]):[0-5]\\d)$', flags: '' },
  ],
};

/** Patterns that grow faster than their input: the characters that reach them at most, and what sees to it. */
const boundedPatterns: Readonly<Record<string, { charactersMax: number; because: string }>> = {};

type Node = { type?: string; regex?: { pattern: string; flags: string }; callee?: { name?: string } };

const nodesOf = (value: unknown): Node[] => {
  if (Array.isArray(value)) return value.flatMap(nodesOf);
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return [];
  return [value as Node, ...Object.values(value).flatMap(nodesOf)];
};

const files = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(ts|mjs|js)$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name));

const parsed = files.map((file) => ({
  file: relative(src, file),
  nodes: nodesOf(parseAst(readFileSync(file, 'utf8'), { lang: file.endsWith('.ts') ? 'ts' : 'js' })),
}));

const nameOf = (file: string, source: string): string => `${file} /${source}/`;

const literals = parsed.flatMap(({ file, nodes }) =>
  nodes.flatMap(({ regex }) => (regex === undefined ? [] : [{ file, source: regex.pattern, flags: regex.flags }])),
);

const building = parsed
  .filter(({ nodes }) =>
    nodes.some(({ type, callee }) => /^(New|Call)Expression$/.test(type ?? '') && callee?.name === 'RegExp'),
  )
  .map(({ file }) => file);

const timed = ({ file, source, flags }: { file: string; source: string; flags: string }): TimedPattern => {
  const name = nameOf(file, source);
  return { name, source, flags, bound: boundedPatterns[name]?.charactersMax ?? null };
};

/** No pattern may take so long together with its inputs, on however busy a machine. */
const silentMsMax = 60_000;

/** What is wrong with them, by name. One that does not come back ends its process, and the others go on in the next. */
const measureAll = async (patterns: readonly TimedPattern[]): Promise<Record<string, string>> => {
  const problems: Record<string, string> = {};
  for (let rest = patterns; rest.length > 0; ) {
    const { done, found } = await measureSome(rest);
    Object.assign(problems, found);
    const stuck = rest[done];
    if (stuck !== undefined) problems[stuck.name] = 'did not come to an end';
    rest = rest.slice(done + 1);
  }
  return problems;
};

/** `done`: how many of them were measured before the process ended. */
const measureSome = async (
  patterns: readonly TimedPattern[],
): Promise<{ done: number; found: Record<string, string> }> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'time-patterns.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(patterns));
  const found: Record<string, string> = {};
  const watch = (): NodeJS.Timeout => setTimeout(() => child.kill('SIGKILL'), silentMsMax);
  let done = 0;
  let timer = watch();
  for await (const line of createInterface({ input: child.stdout })) {
    clearTimeout(timer);
    timer = watch();
    const { name, problem } = JSON.parse(line) as { name: string; problem: string | null };
    done += 1;
    if (problem !== null) found[name] = problem;
  }
  clearTimeout(timer);
  return { done, found };
};

test('F-28 F-20 the measurement tells a slow pattern from a quick one', async () => {
  const pattern = (source: string, flags = ''): TimedPattern => ({ name: source, source, flags, bound: null });
  const slow = [
    '\\beyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]*',
    '\\s*;\\s*q\\s*=\\s*',
    '\\s+$',
    '^(a+)+$',
    '(x+x+)+y',
  ];
  const quick = ['^\\s*$', '^[a-z]+(?:-[a-z]+)*$', '^\\d{1,9}$', '[^"]+', 'a{1,40}b'];
  const problems = await measureAll([...slow, ...quick].map((source) => pattern(source)));
  expect(Object.keys(problems)).toEqual(slow);
}, 600_000);

test('F-28 F-20 the work of each regular expression grows no faster than its input', async () => {
  expect(literals.length).toBeGreaterThan(100);
  expect(building.toSorted()).toEqual(Object.keys(builtPatterns).toSorted());
  const built = Object.entries(builtPatterns).flatMap(([file, sources]) => sources.map((one) => ({ file, ...one })));
  const all = [...literals, ...built];
  const names = new Set(all.map(({ file, source }) => nameOf(file, source)));
  expect(Object.keys(boundedPatterns).filter((name) => !names.has(name))).toEqual([]);
  expect(await measureAll(all.map(timed))).toEqual({});
}, 600_000);
