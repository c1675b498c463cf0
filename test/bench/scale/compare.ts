/** Compares what the same work costs on a small and on a large store. */
import { lookMax } from '#src/platform/db/bounded-list.ts';
import { column, median, print } from '../kit/parts.ts';

/** A hundred times the rows may cost so many times as much. */
export const costGoal = 1.3;
/** Levels by which the trees of larger indexes are higher, in pages, for all statements of a call. */
export const levels = 40;

/** Milliseconds. */
export const timeOf = async (call: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await call();
  return performance.now() - startedAt;
};

/** Runs both so many times in turns, so that a disturbance of the machine meets both, and neither always comes second. */
const inTurns = async <T>(
  times: number,
  small: () => Promise<T>,
  large: () => Promise<T>,
  firstTurn = 0,
): Promise<[T[], T[]]> => {
  const results: [T[], T[]] = [[], []];
  for (let turn = firstTurn; turn < firstTurn + times; turn += 1) {
    if (turn % 2 === 0) results[0].push(await small());
    results[1].push(await large());
    if (turn % 2 !== 0) results[0].push(await small());
  }
  return results;
};

/** Medians of the times of both, run in turns. */
export const timesInTurns = async (
  times: number,
  small: () => Promise<unknown>,
  large: () => Promise<unknown>,
  firstTurn?: number,
): Promise<[number, number]> => {
  const [few, many] = await inTurns(
    times,
    () => timeOf(small),
    () => timeOf(large),
    firstTurn,
  );
  return [median(few), median(many)];
};

/** What one run of a work took, and how many pages of memory its statements and those beside it touched. */
export type Cost = { ms: number; pages: number };

export type Work = {
  name: string;
  small: () => Promise<Cost>;
  large: () => Promise<Cost>;
  runs: number;
  /** Pages of what the program looks through up to a bound of its own. Default: the rows of a list, each on a page. */
  looksMax?: number | undefined;
};

type Measured = { times: [number, number]; pages: [number, number]; looksMax: number };

/** A ratio that no disturbance of the machine keeps up in the best of `measuresMax` measurements. */
const timeAloneMax = 3;
const measuresMax = 3;

const ratioOf = ([small, large]: [number, number]): number => large / Math.max(small, 1);

const hasTime = ({ times }: Measured): boolean => times[1] <= times[0] * costGoal;
const hasPages = ({ pages }: Measured): boolean => pages[1] <= pages[0] * costGoal + levels;
/** Neither alone is far from the goal: a bound ends what the pages grow by, and no disturbance explains the time. */
const isNear = ({ times, pages, looksMax }: Measured): boolean =>
  times[1] <= times[0] * timeAloneMax && pages[1] <= pages[0] * costGoal + levels + looksMax;
const isReached = (one: Measured): boolean => (hasTime(one) || hasPages(one)) && isNear(one);

const measureOnce = async ({ small, large, runs, looksMax = lookMax }: Work): Promise<Measured> => {
  const costs = await inTurns(runs, small, large);
  const medians = (of: keyof Cost): [number, number] => [
    median(costs[0].map((cost) => cost[of])),
    median(costs[1].map((cost) => cost[of])),
  ];
  return { times: medians('ms'), pages: medians('pages'), looksMax };
};

/** Measures again what misses the goal by its time, and keeps the best. */
const measure = async (work: Work): Promise<Measured> => {
  let best = await measureOnce(work);
  for (let again = 1; again < measuresMax && !hasTime(best); again += 1) {
    const next = await measureOnce(work);
    if (next.times[1] / next.times[0] < best.times[1] / best.times[0]) best = next;
  }
  return best;
};

const wordOf = (one: Measured): string => {
  if (!isReached(one)) return 'MISSED';
  if (!hasTime(one)) return 'reached by pages';
  return hasPages(one) ? 'reached' : 'reached by time';
};

const row = (name: string, cells: readonly string[]): string =>
  `${name.padEnd(52)}${cells.map((cell) => column(cell, 11)).join('')}`;

/** Prints a line for each. Returns how many miss the goal. */
export const compareAll = async (works: readonly Work[]): Promise<number> => {
  if (works.length === 0) return 0;
  print(row('', ['small', 'large', 'ratio', 'pages', 'pages', 'ratio']));
  let missed = 0;
  for (const work of works) {
    const one = await measure(work);
    const [few, many] = one.times.map((ms) => `${ms.toFixed(2)} ms`);
    const [fewPages, manyPages] = one.pages.map((pages) => pages.toFixed(0));
    const ratios = [one.times, one.pages].map((pair) => ratioOf(pair).toFixed(2));
    const cells = [few, many, ratios[0], fewPages, manyPages, ratios[1]].map((cell) => cell ?? '');
    print(`${row(work.name, cells)}  ${wordOf(one)}`);
    if (!isReached(one)) missed += 1;
  }
  return missed;
};
