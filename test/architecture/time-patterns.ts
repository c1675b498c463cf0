/**
 * Runs regular expressions against their hostile inputs, in a process of its own that the test ends when one does not
 * come back. Reads a JSON array of patterns from standard input and writes a line for each.
 */
import { writeSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type Hostile, hostileInputs, hostileText } from './pattern-inputs.ts';

/** `bound`: characters that reach it at most; null: as many as come. */
export type TimedPattern = { name: string; source: string; flags: string; bound: number | null };

/** Patterns that take less than this are not tested for growth: the noise of a busy machine would decide. */
const floorMs = 20;
/** What a bounded pattern may take for the longest input that reaches it. */
const boundedMsMax = 50;
const sizes = [22, 26, 512, 4_096, 16_384, 65_536] as const;
/** Four times the input: four times the work when linear, sixteen times when quadratic. */
const growthMax = 8;
const tries = 3;

const cpuMs = (work: () => unknown): number => {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** The least of several tries; one that is quick is enough. */
const costOf = (pattern: RegExp, input: string, enoughMs: number): number => {
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < tries && least > enoughMs; count += 1)
    least = Math.min(
      least,
      cpuMs(() => input.replace(pattern, '')),
    );
  return least;
};

const problemWith = (pattern: RegExp, hostile: Hostile, bound: number | null): string | undefined => {
  const describe = (size: number, ms: number): string =>
    `${JSON.stringify(hostile)} of ${size} characters takes ${ms.toFixed(0)} ms`;
  for (const size of sizes) {
    if (bound !== null && size > bound) {
      const ms = costOf(pattern, hostileText(hostile, bound), boundedMsMax);
      return ms > boundedMsMax ? describe(bound, ms) : undefined;
    }
    const ms = costOf(pattern, hostileText(hostile, size), floorMs);
    if (ms > floorMs && bound === null) {
      const quarterMs = costOf(pattern, hostileText(hostile, Math.floor(size / 4)), 0);
      const wholeMs = costOf(pattern, hostileText(hostile, size), 0);
      if (wholeMs > floorMs && wholeMs > growthMax * quarterMs)
        return `${describe(size, wholeMs)}, a quarter of it ${quarterMs.toFixed(2)} ms`;
    }
    // What is so quick does not become slow with four times the input, unless it is not polynomial: that showed before.
    if (size >= 4_096 && ms < size / 16_384) return undefined;
  }
  return undefined;
};

const patterns = JSON.parse(await text(process.stdin)) as TimedPattern[];
for (const { name, source, flags, bound } of patterns) {
  // Searched for at each place, whatever its own flags say: `split` and `matchAll` do the same.
  const pattern = new RegExp(source, `${flags.replace(/[gy]/g, '')}g`);
  let problem: string | undefined;
  for (const hostile of hostileInputs(source, flags)) {
    problem = problemWith(pattern, hostile, bound);
    if (problem !== undefined) break;
  }
  writeSync(1, `${JSON.stringify({ name, problem: problem ?? null })}\n`);
}
