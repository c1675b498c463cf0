/**
 * What do the limits of a narrowed token (interface 30) cost a request? Proxied GET through one gateway, with
 *   plain     a token of the client as it comes
 *   narrowed  one of its tokens with ten objects of details, of which the last allows the request
 *   exchanged one that was exchanged four times
 *   plains    2,000 plain tokens in turn
 *   narroweds 200 narrowed ones in turn
 * The gateway has core 0; load, upstream and PostgreSQL share core 1. Rounds are interleaved. Exit code 1 when the goal is missed.
 */
import { column, median, pinned, print, ratiosOf, withParts } from '../kit/parts.ts';

const roundsDefault = 5;
const roundMs = 2_000;
const warmUpMs = 2_000;
const connections = 48;
const narrowedTokens = 200;
/** Of a narrowed token beside a plain one. */
const goal = 0.9;

const exchange = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
};
const operations = ['orders.get', 'menu.products', 'menu.product', 'menu.categories', 'menu.category'];
const details = [...operations, ...operations.toReversed(), 'orders.list']
  .slice(1)
  .map((operation) => ({ type: 'orderpass_access', operations: [operation], actions: ['read'] }));

type Target = { url: string; path: string; headers: Record<string, string>; authorizations?: string[] };

const tokenOf = async (url: string, form: Record<string, string>): Promise<string> => {
  const response = await fetch(`${url}/api/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
  const answer = (await response.json()) as { access_token?: string };
  if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`);
  return answer.access_token;
};

const targetsOf = async (plain: Target, others: Record<string, Target>): Promise<Map<string, Target>> => {
  const { url } = plain;
  const { 'x-client-id': client_id = '', 'x-client-secret': client_secret = '' } =
    others['gateway-client']?.headers ?? {};
  const client = { client_id, client_secret };
  const wish = { ...client, grant_type: 'client_credentials', authorization_details: JSON.stringify(details) };
  const narrowed = await Promise.all(Array.from({ length: narrowedTokens }, () => tokenOf(url, wish)));
  let token = narrowed[0] ?? '';
  for (let step = 0; step < 4; step += 1) token = await tokenOf(url, { ...client, ...exchange, subject_token: token });
  const withToken = (one: string): Target => ({
    ...plain,
    headers: { ...plain.headers, authorization: `Bearer ${one}` },
  });
  return new Map([
    ['plain', plain],
    ['narrowed', withToken(narrowed[0] ?? '')],
    ['exchanged', withToken(token)],
    ['plains', others['gateway-tokens'] ?? plain],
    ['narroweds', { ...plain, authorizations: narrowed.map((one) => `Bearer ${one}`) }],
  ]);
};

const measure = (rounds: number): Promise<Map<string, number[]>> =>
  withParts(async (start) => {
    const load = await start('load', 1, [String(connections)]);
    const store = await start('store', 1, []);
    const { ready } = await start('contender', 0, ['gateway', String(load.ready.url), String(store.ready.url)]);
    const targets = await targetsOf(ready as unknown as Target, ready.others as unknown as Record<string, Target>);
    const names = [...targets.keys()];
    const rates = new Map<string, number[]>(names.map((name) => [name, []]));
    for (const name of names) await load.ask({ ...targets.get(name), ms: warmUpMs });
    for (let round = 0; round < rounds; round += 1) {
      for (let turn = 0; turn < names.length; turn += 1) {
        const name = names[(turn + round) % names.length] ?? '';
        const { requests, failures, ms } = await load.ask({ ...targets.get(name), ms: roundMs });
        if (failures !== 0) throw new Error(`${name}: ${String(failures)} answers were not right`);
        rates.get(name)?.push((Number(requests) * 1000) / Number(ms));
      }
    }
    return rates;
  });

const rounds = Number(process.argv[2] ?? roundsDefault);
print(`${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, ${pinned}`);
const rates = await measure(rounds);
for (const [name, values] of rates) print(`${name.padEnd(12)}${column(median(values).toFixed(0), 8)} requests/s`);
const figures = [
  ['narrowed', 'plain'],
  ['exchanged', 'plain'],
  ['narroweds', 'plains'],
].map(([own = '', peer = '']) => ({ own, peer, ratio: median(ratiosOf(rates.get(own), rates.get(peer))) }));
for (const { own, peer, ratio } of figures) print(`${own} : ${peer} ${ratio.toFixed(3)}, goal ${goal}`);
process.exitCode = figures.every(({ ratio }) => ratio >= goal) ? 0 : 1;
