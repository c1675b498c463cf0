/**
 * How much of a bare proxy is left when the whole gateway stands in its place? Proxied GET through
 *   gateway         the real one: PostgreSQL, real credentials, a token from its own endpoint, every check and header, a table
 *                   of 2,000 routes, a signed token for the upstream, limits and quotas of the credential, audit on, 10,000
 *                   tokens revoked
 *   gateway-tokens  the same process, 2,000 different tokens in turn
 *   gateway-client  the same process, X-Client-Id and X-Client-Secret
 *   gateway-key     the same process, X-Api-Key
 *   bare            node:http and undici's dispatcher, nothing else
 *   fastify         @fastify/http-proxy behind @fastify/jwt (ES256), as they come
 *   fastify-cached  the same with the verification cache of @fastify/jwt
 *   haproxy         HAProxy with one thread that verifies the token itself each time; left out where it is not installed
 * Every contender is a process of its own on core 0; load, upstream and PostgreSQL share core 1. Rounds are interleaved, so that a
 * disturbance of the machine meets all of them alike, and ratios are taken within a round. Exit code 1 when a
 * goal is missed.
 */
import { hasHaproxy } from './kit/haproxy.ts';
import { column, median, pinned, print, ratiosOf, withParts } from './kit/parts.ts';

const roundsDefault = 7;
const roundMs = 2_500;
const warmUpMs = 3_000;
const connections = 48;

const ways = ['gateway', 'gateway-tokens', 'gateway-client', 'gateway-key'] as const;
const peers = ['bare', 'fastify', 'fastify-cached', 'haproxy'] as const;
type Contender = (typeof ways)[number] | (typeof peers)[number];
const present = peers.filter((name) => name !== 'haproxy' || hasHaproxy);
const contenders: readonly Contender[] = [...ways, ...present];

/** `atLeast`: reached, and less is a step back. `aim`: what is wanted. */
const goals: readonly { way: Contender; against: Contender; atLeast: number; aim: number }[] = [
  { way: 'gateway', against: 'bare', atLeast: 0.65, aim: 0.9 },
  { way: 'gateway-tokens', against: 'bare', atLeast: 0.55, aim: 0.85 },
  { way: 'gateway-client', against: 'bare', atLeast: 0.65, aim: 0.9 },
  { way: 'gateway-key', against: 'bare', atLeast: 0.65, aim: 0.9 },
  { way: 'gateway', against: 'fastify', atLeast: 2, aim: 3.5 },
  { way: 'gateway', against: 'fastify-cached', atLeast: 1.1, aim: 1.1 },
  { way: 'gateway', against: 'haproxy', atLeast: 1.5, aim: 1.7 },
];

const measure = (rounds: number): Promise<Map<Contender, number[]>> =>
  withParts(async (start) => {
    const load = await start('load', 1, [String(connections)]);
    const store = await start('store', 1, []);
    const urls = [String(load.ready.url), String(store.ready.url)];
    const targets = new Map<Contender, Record<string, unknown>>();
    for (const name of ['gateway', ...present]) {
      const { ready } = await start('contender', 0, [name, ...urls]);
      targets.set(name as Contender, ready);
      for (const [way, target] of Object.entries(ready.others ?? {})) targets.set(way as Contender, target);
    }
    const rates = new Map<Contender, number[]>(contenders.map((name) => [name, []]));
    for (const name of contenders) await load.ask({ ...targets.get(name), ms: warmUpMs });
    for (let round = 0; round < rounds; round += 1) {
      // Each round has another order, so no contender always follows the same one.
      for (let turn = 0; turn < contenders.length; turn += 1) {
        const name = contenders[(turn + round) % contenders.length] as Contender;
        const { requests, failures, ms } = await load.ask({ ...targets.get(name), ms: roundMs });
        if (failures !== 0) throw new Error(`${name}: ${String(failures)} answers were not right`);
        rates.get(name)?.push((Number(requests) * 1000) / Number(ms));
      }
    }
    return rates;
  });

const report = (rates: Map<Contender, number[]>): boolean => {
  print(`${column('', 16)}${column('requests/s', 12)}${column('min', 9)}${column('max', 9)}`);
  for (const [name, values] of rates) {
    const [rate, least, most] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
      value.toFixed(0),
    );
    print(`${name.padEnd(16)}${column(rate ?? '', 12)}${column(least ?? '', 9)}${column(most ?? '', 9)}`);
  }
  print('');
  print(`${''.padEnd(32)}${['ratio', 'min', 'max', 'goal', 'aim'].map((name) => column(name, 9)).join('')}`);
  let reached = true;
  for (const { way, against, atLeast, aim } of goals.filter((goal) => rates.has(goal.against))) {
    const ratios = ratiosOf(rates.get(way), rates.get(against));
    const ratio = median(ratios);
    const ok = ratio >= atLeast;
    reached &&= ok;
    const figures = [ratio, Math.min(...ratios), Math.max(...ratios), atLeast, aim];
    const columns = figures.map((figure) => column(figure.toFixed(2), 9)).join('');
    const verdict = ratio >= aim ? 'aim reached' : ok ? 'goal reached' : 'goal MISSED';
    print(`${`${way} : ${against}`.padEnd(32)}${columns}  ${verdict}`);
  }
  return reached;
};

const rounds = Number(process.argv[2] ?? roundsDefault);
print(`${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, ${pinned}`);
process.exitCode = report(await measure(rounds)) ? 0 : 1;
