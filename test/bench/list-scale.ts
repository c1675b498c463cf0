/**
 * Does any list cost more where there is more? Every list with every filter, alone and in pairs, on two databases of one
 * server: 10,000 of everything, and 1,000,000. A row for each: median time, and pages of memory that its statements touch,
 * which no other load disturbs. What misses the goal by its time is measured again, at once and at the end, since a
 * disturbance of the machine can outlast the first. Exit code 1 when the goal is missed.
 * Arguments: rows of the large one, part of the names of the calls that are wanted.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lookMax } from '#src/platform/db/bounded-list.ts';
import { openStore } from '#src/platform/db/index.ts';
import { createLog } from '#src/platform/log.ts';
import { type GrownShop, type ListCall, openGrownShop } from './kit/grown-shop.ts';
import { column, print } from './kit/parts.ts';
import { costGoal as goal, levels, timesInTurns } from './scale/compare.ts';

const callsOfMeasure = 7;
const measuresMax = 4;
const smallRows = 10_000;
const largeRows = Number(process.argv[2] ?? 1_000_000);
const wanted = process.argv[3] ?? '';

type Pair = { small: ListCall; large: ListCall; pages: readonly [number, number]; times: [number, number] };

const hasTime = ({ times }: Pair): boolean => times[1] <= times[0] * goal;
/**
 * A list with two filters that no index serves together looks through at most `lookMax` rows, each on a page of memory of
 * its own at worst. The small list may end before that, so the large one may touch so many pages more; a cost that grows
 * with the rows touches more than ten times as many.
 */
const hasPages = ({ pages }: Pair): boolean => pages[1] <= pages[0] * goal + levels + lookMax;

/** Measures until the goal is reached, at most `measuresMax` times, and keeps the best ratio. */
const measure = async (pair: Pair): Promise<void> => {
  for (let again = 0; again < measuresMax && !hasTime(pair); again += 1) {
    const next = await timesInTurns(callsOfMeasure, pair.small.call, pair.large.call);
    if (next[1] / next[0] < pair.times[1] / pair.times[0]) pair.times = next;
  }
};

const show = (pair: Pair): void => {
  const { small, times, pages } = pair;
  const ratio = (times[1] / times[0]).toFixed(2);
  const verdict = hasTime(pair) && hasPages(pair) ? 'reached' : 'MISSED';
  print(
    `${small.name.padEnd(78)}${column(`${times[0].toFixed(2)} ms`, 10)}${column(`${times[1].toFixed(2)} ms`, 10)}${column(ratio, 7)}${column(pages.join(' '), 14)}  ${verdict}`,
  );
};

const compare = async (small: GrownShop, large: GrownShop): Promise<boolean> => {
  print(`${''.padEnd(78)}${column('small', 10)}${column('large', 10)}${column('ratio', 7)}${column('pages', 14)}`);
  const pairs: Pair[] = [];
  for (const [i, few] of small.calls.entries()) {
    const many = large.calls[i];
    if (many === undefined) throw new Error(`no call ${few.name}`);
    if (!few.name.includes(wanted)) continue;
    const pages = [await small.pagesOf(few), await large.pagesOf(many)] as const;
    const pair: Pair = { small: few, large: many, pages, times: [1, Number.POSITIVE_INFINITY] };
    await measure(pair);
    show(pair);
    pairs.push(pair);
  }
  const again = pairs.filter((pair) => !hasTime(pair));
  if (again.length > 0) print(`measured again: ${again.length}`);
  for (const pair of again) {
    await measure(pair);
    show(pair);
  }
  const missed = pairs.filter((pair) => !hasTime(pair) || !hasPages(pair)).length;
  print(`${pairs.length} calls, goal: at most ${goal} times: ${missed === 0 ? 'reached' : `MISSED by ${missed}`}`);
  return missed === 0;
};

const folder = await mkdtemp(join(tmpdir(), 'orderpass-bench-'));
// Started by root, the database server runs as a user that must be able to enter.
await chmod(folder, 0o755);
const log = createLog({ level: 'warn', role: 'bench' });
const dataDir = join(folder, 'data');
const store = await openStore({ dataDir, applicationName: 'bench' }, log, { exclusive: true });
const opened: GrownShop[] = [];
try {
  const startedAt = performance.now();
  for (const rows of [smallRows, largeRows]) opened.push(await openGrownShop(store, { dataDir, rows, log }));
  const [small, large] = opened;
  if (small === undefined || large === undefined) throw new Error('two databases are compared');
  print(
    `${smallRows} and ${largeRows} of everything, made in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`,
  );
  process.exitCode = (await compare(small, large)) ? 0 : 1;
} finally {
  for (const each of opened) await each.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
}
