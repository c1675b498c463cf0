/**
 * How much of a bare proxy is left for a proxied GET when both speak TLS to their clients? The bare proxy is node:https and
 * undici's dispatcher alone, with the same suites and the same kind of certificate. Connections are kept. Each contender has
 * core 0; load, which decrypts too, and upstream share core 1. Rounds are interleaved, and ratios are taken within a round.
 */
import { column, median, pinned, print, ratiosOf, withParts } from './kit/parts.ts';

const roundsDefault = 5;
const roundMs = 2_500;
const connections = 48;
const contenders = ['gateway-tls', 'bare-tls', 'gateway', 'bare'] as const;
type Contender = (typeof contenders)[number];
type Rates = Map<Contender, number[]>;

const measure = (rounds: number): Promise<Rates> =>
  withParts(async (start) => {
    const load = await start('load', 1, [String(connections)]);
    const store = await start('store', 1, []);
    const urls = [String(load.ready.url), String(store.ready.url)];
    const gateway = await start('contender', 0, ['gateway', ...urls]);
    const bare = await start('contender', 0, ['bare', ...urls]);
    const targets = { ...gateway.ready.others, ...bare.ready.others, gateway: gateway.ready, bare: bare.ready };
    const rates: Rates = new Map(contenders.map((name) => [name, []]));
    for (let round = -1; round < rounds; round += 1) {
      for (let turn = 0; turn < contenders.length; turn += 1) {
        const name = contenders[Math.abs(turn + round) % contenders.length] as Contender;
        const { requests, failures, ms } = await load.ask({ ...targets[name as keyof typeof targets], ms: roundMs });
        if (failures !== 0) throw new Error(`${name}: ${String(failures)} answers were not right`);
        // The first round warms up.
        if (round >= 0) rates.get(name)?.push((Number(requests) * 1_000) / Number(ms));
      }
    }
    return rates;
  });

const rounds = Number(process.argv[2] ?? roundsDefault);
print(`${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, ${pinned}`);
const rates = await measure(rounds);
for (const [name, values] of rates) print(`${name.padEnd(24)}${column(median(values).toFixed(0), 12)} requests/s`);
for (const [one, other] of [
  ['gateway-tls', 'bare-tls'],
  ['gateway', 'bare'],
] as const)
  print(
    `${`${one} : ${other}`.padEnd(24)}${column(median(ratiosOf(rates.get(one), rates.get(other))).toFixed(2), 12)}`,
  );
