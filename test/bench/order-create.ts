/**
 * What does the way from HTTP to PostgreSQL take away from order/create? The whole program on its own PostgreSQL takes
 * orders of known customers through the gateway; in between pgbench sends the very statements of such an order to the same
 * server from as many connections. The statements are those that the core really sends, taken down at the start. Exit
 * code 1 when the goal is missed, 2 without pgbench.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDataDir, startProgram } from '../support/program.ts';
import { pgbenchScript, recordOrders } from './kit/orders/order-script.ts';
import { openShops } from './kit/orders/order-shops.ts';
import { column, median, print, ratiosOf, startPart, stopPart } from './kit/parts.ts';

const goal = 0.5;
const roundsDefault = 14;
/** Short, so that what disturbs the machine meets both sides. */
const roundMs = 2_000;
const connections = 16;

if (spawnSync('pgbench', ['--version']).error !== undefined) {
  print('pgbench is not there: install it (Debian and Ubuntu: apt install postgresql-contrib)');
  process.exit(2);
}

const data = makeDataDir();
const env = {
  ORDERPASS_DATA_DIR: data.path,
  ORDERPASS_RATE_MINUTE_UNITS: '1000000000',
  ORDERPASS_RATE_BURST_UNITS: '1000000000',
  ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
  NODE_ENV: 'production',
};
const program = await startProgram(env);
const load = await startPart('load', undefined, [String(connections)]);

/** Transactions per second of the scripts, each of which is chosen as often as the others. */
const runPgbench = async (connection: { host: string; port: number; user: string; database: string }) => {
  const { host, port, user, database } = connection;
  const files = scripts.flatMap((_script, index) => ['-f', join(folder, `${index}.sql`)]);
  const to = ['-h', host, '-p', String(port), '-U', user];
  const how = ['-n', '-M', 'prepared', '-c', String(connections), '-j', '2', '-T', String(roundMs / 1000)];
  const child = spawn('pgbench', [...to, ...how, ...variables.flatMap((each) => ['-D', each]), ...files, database]);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  await new Promise((resolve) => child.once('close', resolve));
  const tps = Number(/^tps = ([0-9.]+)/m.exec(output)?.[1]);
  if (!Number.isFinite(tps) || / aborted /.test(output)) throw new Error(`pgbench: ${output.slice(0, 2000)}`);
  return tps;
};

const folder = join(data.path, 'bench');
let variables: string[] = [];
let scripts: string[] = [];
try {
  const shops = await openShops(program, env);
  const recorded = await recordOrders(shops);
  ({ variables, scripts } = pgbenchScript(recorded));
  mkdirSync(folder, { recursive: true });
  for (const [index, script] of scripts.entries()) writeFileSync(join(folder, `${index}.sql`), script);
  const statements = recorded[0]?.[0]?.length ?? 0;
  const rounds = Number(process.argv[2] ?? roundsDefault);
  print(
    `${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, ${scripts.length} customers of ${shops.restaurants.length} restaurants, ${statements} statements an order`,
  );
  const [program_, pgbench]: [number[], number[]] = [[], []];
  const target = { url: program.url, path: '/api/order/create', method: 'POST', ...shops.request };
  await load.ask({ ...target, ms: 4_000 });
  for (let round = 0; round < rounds; round += 1) {
    const { requests, failures, ms } = await load.ask({ ...target, ms: roundMs });
    if (failures !== 0) throw new Error(`${String(failures)} orders were refused`);
    program_.push((Number(requests) * 1000) / Number(ms));
    pgbench.push(await runPgbench(shops.connection));
  }
  print(`order/create through the gateway ${column(median(program_).toFixed(0), 6)} orders/s`);
  print(`the same statements by pgbench   ${column(median(pgbench).toFixed(0), 6)} transactions/s`);
  const ratios = ratiosOf(program_, pgbench);
  const reached = median(ratios) >= goal;
  const figures = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((figure) => figure.toFixed(2));
  print(
    `ratio ${figures[0]} (${figures[1]} to ${figures[2]}), goal ${goal.toFixed(2)}  ${reached ? 'reached' : 'MISSED'}`,
  );
  process.exitCode = reached ? 0 : 1;
} finally {
  await stopPart(load);
  await program.stop();
  data.remove();
}
