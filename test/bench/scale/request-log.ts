/**
 * What the log of callers' requests costs: the same gateway with it and without it (ORDERPASS_REQUEST_LOG_DAYS=0), each a
 * process of its own on core 0, in interleaved rounds. A proxied GET with a token and with a key leaves a count, a POST an
 * entry of its own. Load, upstream and PostgreSQL share core 1. Exit code 1 when a read costs more than the goal.
 */
import { column, median, pinned, print, ratiosOf, withParts } from '../kit/parts.ts';

const roundsDefault = 15;
const roundMs = 2_000;
const warmUpMs = 3_000;
const connections = 48;

/** Of the rate without the log. A write costs its service far more than this upstream, which does nothing; it is shown only. */
const goals = { gateway: 0.97, 'gateway-key': 0.97, 'gateway-write': undefined } as const;
const ways = Object.keys(goals) as (keyof typeof goals)[];
const sides = ['gateway', 'unlogged'] as const;

type Rates = Record<(typeof sides)[number], number[]>;

const measure = (rounds: number): Promise<Map<string, Rates>> =>
  withParts(async (start) => {
    const load = await start('load', 1, [String(connections)]);
    const store = await start('store', 1, []);
    const urls = [String(load.ready.url), String(store.ready.url)];
    const targets = new Map<string, Record<string, unknown>>();
    for (const side of sides) {
      const { ready } = await start('contender', 0, [side, ...urls]);
      for (const way of ways) targets.set(`${side} ${way}`, way === 'gateway' ? ready : (ready.others?.[way] ?? {}));
    }
    for (const target of targets.values()) await load.ask({ ...target, ms: warmUpMs });
    const rates = new Map<string, Rates>(ways.map((way) => [way, { gateway: [], unlogged: [] }]));
    for (let round = 0; round < rounds; round += 1)
      // The two sides directly after each other, and neither always first.
      for (const way of ways)
        for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
          const { requests, failures, ms } = await load.ask({ ...targets.get(`${side} ${way}`), ms: roundMs });
          if (failures !== 0) throw new Error(`${side} ${way}: ${String(failures)} answers were not right`);
          rates.get(way)?.[side].push((Number(requests) * 1000) / Number(ms));
        }
    return rates;
  });

const rounds = Number(process.argv[2] ?? roundsDefault);
print(`${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, ${pinned}`);
print(['', 'with', 'without', 'ratio', 'min', 'max', 'goal'].map((name) => column(name, 14)).join(''));
for (const [way, { gateway, unlogged }] of await measure(rounds)) {
  const ratios = ratiosOf(gateway, unlogged);
  const goal = goals[way as keyof typeof goals];
  const [ratio, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((one) => one.toFixed(3));
  const figures = [median(gateway).toFixed(0), median(unlogged).toFixed(0), ratio, least, most, goal ?? '–'];
  print([way, ...figures].map((text) => column(String(text), 14)).join(''));
  if (goal !== undefined && median(ratios) < goal) process.exitCode = 1;
}
