/**
 * How much of a bare proxy is left for uploads? POST of 1 MB and of 50 MB through a route with `body: any`, beside node:http and
 * undici's dispatcher alone. Each contender has core 0; load and upstream, which reads the whole body, share core 1. Rounds are
 * interleaved, and ratios are taken within a round.
 */
import { column, median, pinned, print, ratiosOf, withParts } from './kit/parts.ts';

const roundsDefault = 5;
const roundMs = 4_000;
const connections = 4;
const contenders = ['gateway', 'bare'] as const;
type Contender = (typeof contenders)[number];

const sizes = [1_000_000, 50_000_000] as const;

type Rates = Map<Contender, number[]>;

const measure = (rounds: number): Promise<Map<number, Rates>> =>
  withParts(async (start) => {
    const load = await start('load', 1, [String(connections)]);
    const store = await start('store', 1, []);
    const urls = [String(load.ready.url), String(store.ready.url)];
    const gateway = await start('contender', 0, ['gateway', ...urls]);
    const bare = await start('contender', 0, ['bare', ...urls]);
    const targets = { gateway: gateway.ready.others?.['gateway-upload'], bare: bare.ready };
    const found = new Map<number, Rates>();
    for (const bodyBytes of sizes) {
      const rates: Rates = new Map(contenders.map((name) => [name, []]));
      found.set(bodyBytes, rates);
      for (let round = -1; round < rounds; round += 1) {
        for (let turn = 0; turn < contenders.length; turn += 1) {
          const name = contenders[Math.abs(turn + round) % contenders.length] as Contender;
          const answer = await load.ask({ ...targets[name], method: 'POST', bodyBytes, ms: roundMs });
          if (answer.failures !== 0) throw new Error(`${name}: ${String(answer.failures)} answers were not right`);
          // The first round warms up.
          if (round >= 0) rates.get(name)?.push((Number(answer.requests) * bodyBytes) / 1_000 / Number(answer.ms));
        }
      }
    }
    return found;
  });

const rounds = Number(process.argv[2] ?? roundsDefault);
print(`${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, ${pinned}`);
print(`${''.padEnd(10)}${contenders.map((name) => column(`${name} MB/s`, 16)).join('')}${column('ratio', 9)}`);
for (const [bodyBytes, rates] of await measure(rounds)) {
  const figures = contenders.map((name) => column(median(rates.get(name) ?? []).toFixed(0), 16)).join('');
  const ratio = median(ratiosOf(rates.get('gateway'), rates.get('bare')));
  print(`${`${bodyBytes / 1e6} MB`.padEnd(10)}${figures}${column(ratio.toFixed(2), 9)}`);
}
