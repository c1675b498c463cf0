/**
 * Does the token endpoint cost more than the library that it stands on? POST of the client credentials grant to
 *   issuer    the gateway: PostgreSQL, real credentials, failure budget, audit
 *   provider  oidc-provider by itself with a key of the same kind and one client in its own configuration
 * Every contender is a process of its own on core 0, so its rate is that of one core; load and PostgreSQL share core 1. Rounds are
 * interleaved. Exit code 1 when the goal is missed.
 */
import { column, median, type Part, pinned, print, ratiosOf, startPart, stopPart } from './kit/parts.ts';

const roundsDefault = 7;
const roundMs = 2_500;
const warmUpMs = 3_000;
const connections = 64;
const goal = 1;

const contenders = ['issuer', 'provider'] as const;

const measure = async (rounds: number): Promise<Map<string, number[]>> => {
  const parts: Part[] = [];
  try {
    const load = await startPart('load', 1, [String(connections)]);
    parts.push(load);
    const store = await startPart('store', 1, []);
    parts.push(store);
    const urls = [String(load.ready.url), String(store.ready.url)];
    const targets = new Map<string, Record<string, unknown>>();
    for (const name of contenders) {
      const part = await startPart('contender', 0, [name, ...urls]);
      parts.push(part);
      targets.set(name, part.ready);
    }
    for (const name of contenders) await load.ask({ ...targets.get(name), ms: warmUpMs });
    const rates = new Map<string, number[]>(contenders.map((name) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const name of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const { requests, failures, ms } = await load.ask({ ...targets.get(name), ms: roundMs });
        if (failures !== 0) throw new Error(`${name}: ${String(failures)} answers were not right`);
        rates.get(name)?.push((Number(requests) * 1000) / Number(ms));
      }
    }
    return rates;
  } finally {
    for (const part of parts.reverse()) await stopPart(part);
  }
};

const rounds = Number(process.argv[2] ?? roundsDefault);
print(`${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, ${pinned}`);
const rates = await measure(rounds);
for (const [name, values] of rates) {
  print(`${name.padEnd(10)}${column(median(values).toFixed(0), 8)} tokens/s on one core`);
}
const ratios = ratiosOf(rates.get('issuer'), rates.get('provider'));
const reached = median(ratios) >= goal;
const figures = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((figure) => figure.toFixed(2));
print(
  `issuer : provider ${figures[0]} (${figures[1]} to ${figures[2]}), goal ${goal.toFixed(2)}  ${reached ? 'reached' : 'MISSED'}`,
);
process.exitCode = reached ? 0 : 1;
