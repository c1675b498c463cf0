/**
 * Does the search of a route cost more in a large table? The same requests are matched in tables of 40 and of 2,000 routes in
 * turns, so that a disturbance of the machine meets both; of all rounds the median counts.
 */
import { parseRouteTable } from '#src/gateway/model/route.ts';
import { compileRoutes, findRoute } from '#src/gateway/routing/route-table.ts';
import { median, print } from './kit/parts.ts';

const rounds = 31;
const repeats = 2_000;
const slowerMax = 1.5;

/** A quarter each of literal paths, paths with one and two parameters, and everything below. */
const tableOf = (size: number) => {
  const routes = Array.from({ length: size / 4 }, (_, index) => index).flatMap((index) =>
    [`/s${index}/list`, `/s${index}/items/{item}`, `/s${index}/{shop}/orders/{order}`, `/s${index}/files/*`].map(
      (path, kind) => ({ id: `r${index}.${kind}`, path, scopes: [], upstream: 'shop' }),
    ),
  );
  const { table, problems } = parseRouteTable({ routes });
  if (table === undefined) throw new Error(`the table of the bench is wrong: ${problems.join('; ')}`);
  return compileRoutes(table);
};

const sizes = [40, 2_000] as const;
const tables = { 40: tableOf(40), 2000: tableOf(2_000) };

const kinds = {
  literal: (service: number) => `/s${service}/list`,
  'one parameter': (service: number) => `/s${service}/items/4711`,
  'two parameters': (service: number) => `/s${service}/rome/orders/4711`,
  'everything below': (service: number) => `/s${service}/files/2026/11/report.pdf`,
  'no route': (service: number) => `/s${service}/nothing/here/at/all`,
};

let failed = false;
for (const [kind, pathOf] of Object.entries(kinds)) {
  // Ten paths in both tables, so that the processor's caches hold the same number of entries.
  const paths = Array.from({ length: 10 }, (_, service) => pathOf(service));
  const measure = (size: (typeof sizes)[number]): number => {
    const startedAt = process.hrtime.bigint();
    let found = 0;
    for (let repeat = 0; repeat < repeats; repeat += 1)
      for (const path of paths)
        if (findRoute(tables[size], { path, host: undefined, method: 'GET' }) !== undefined) found += 1;
    if (found !== (kind === 'no route' ? 0 : repeats * paths.length)) throw new Error(`${kind}: wrong route`);
    return Number(process.hrtime.bigint() - startedAt) / (repeats * paths.length);
  };
  const taken = { 40: [] as number[], 2000: [] as number[] };
  for (let round = 0; round < rounds; round += 1) for (const size of sizes) taken[size].push(measure(size));
  const [small, large] = [median(taken[40]), median(taken[2000])];
  failed ||= large / small > slowerMax;
  print(
    `${kind.padEnd(17)} ${small.toFixed(0)} ns of 40, ${large.toFixed(0)} ns of 2,000: ${(large / small).toFixed(2)}`,
  );
}
if (failed) process.exitCode = 1;
