/** Processes of a bench, each pinned to a core, and how figures are put together and shown. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type Part = {
  child: ChildProcess;
  ask: (command: object) => Promise<Record<string, unknown>>;
  ready: Ready;
};

/** What a part says of itself when it is up. */
export type Ready = Record<string, unknown> & { others?: Record<string, Record<string, unknown>> };

const taskset = ['/usr/bin/taskset', '/bin/taskset'].find((path) => existsSync(path));

/**
 * Starts a part of the bench, pinned to a core if one is named; it speaks JSON lines on stdin and stdout. `clone`: the folder
 * of another clone of the repository, whose part is started.
 */
export const startPart = async (
  name: string,
  core: number | undefined,
  args: readonly string[],
  clone?: string,
): Promise<Part> => {
  const folder = clone === undefined ? import.meta.dirname : join(clone, 'test/bench/kit');
  const script = [join(folder, `${name}.ts`), ...args];
  const [command, rest] =
    taskset === undefined || core === undefined
      ? [process.execPath, script]
      : [taskset, ['-c', String(core), process.execPath, ...script]];
  const child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, unknown>> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`${name} ${args.join(' ')} ended`);
    return JSON.parse(value) as Record<string, unknown>;
  };
  const ready = (await next()) as Ready;
  const ask = (question: object): Promise<Record<string, unknown>> => {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    return next();
  };
  return { child, ask, ready };
};

export const stopPart = async ({ child }: Part): Promise<void> => {
  if (child.exitCode !== null) return;
  const gone = once(child, 'exit');
  child.stdin?.end();
  await gone;
};

/** Runs a bench with parts that it starts as it needs them, and stops them all after it, the last first. */
export const withParts = async <T>(run: (start: typeof startPart) => Promise<T>): Promise<T> => {
  const parts: Part[] = [];
  try {
    return await run(async (...what) => {
      const part = await startPart(...what);
      parts.push(part);
      return part;
    });
  } finally {
    for (const part of parts.reverse()) await stopPart(part);
  }
};

/** Of a process so far, in user and system mode, in microseconds: the kernel counts ticks of 10 ms. */
export const processorTimeOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
};

/**
 * Call it when a measurement begins. Returns what other machines of the same host took of all cores since then, in per cent;
 * NaN where the system does not say. `steal` of proc_stat(5), in ticks of 10 ms.
 */
export const watchStolenTime = (): (() => number) => {
  const ticks = (): number => {
    try {
      return Number(readFileSync('/proc/stat', 'utf8').split(/\s+/)[8]);
    } catch {
      return Number.NaN;
    }
  };
  const [before, startedMs] = [ticks(), performance.now()];
  return () => ((ticks() - before) * 10 * 100) / ((performance.now() - startedMs) * cpus().length);
};

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

export const column = (text: string, width: number): string => text.padStart(width);

export const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

export const pinned = taskset === undefined ? 'not pinned' : 'pinned to cores 0 and 1';

/** Round by round: a disturbance of the machine meets both sides of a ratio alike. */
export const ratiosOf = (own: readonly number[] = [], peer: readonly number[] = []): number[] =>
  own.map((rate, round) => rate / (peer[round] ?? Number.NaN));
