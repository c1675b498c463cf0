/**
 * How much of a bare proxy is left when the whole gateway stands in its place? Proxied GET with a Bearer token through
 *   gateway         the real one: PostgreSQL, real credentials, token from its own endpoint, every check and header
 *   bare            node:http and undici's dispatcher, nothing else
 *   fastify         @fastify/http-proxy behind @fastify/jwt (ES256), as they come
 *   fastify-cached  the same with the verification cache of @fastify/jwt
 * Every contender is a process of its own on core 0; load and upstream share core 1. Rounds are interleaved, so that a
 * disturbance of the machine meets all of them alike, and ratios are taken within a round. Exit code 1 when a goal is missed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const roundsDefault = 7;
const roundMs = 2_500;
const warmUpMs = 3_000;
const connections = 48;

const goals = [
  { against: 'bare', atLeast: 0.6 },
  { against: 'fastify', atLeast: 2 },
  { against: 'fastify-cached', atLeast: 1.1 },
] as const;

const contenders = ['gateway', 'bare', 'fastify', 'fastify-cached'] as const;
type Contender = (typeof contenders)[number];

type Part = {
  child: ChildProcess;
  ask: (command: object) => Promise<Record<string, unknown>>;
  ready: Record<string, unknown>;
};

const taskset = ['/usr/bin/taskset', '/bin/taskset'].find((path) => existsSync(path));

/** Starts a part of the bench pinned to a core; it speaks JSON lines on stdin and stdout. */
const startPart = async (name: string, core: number, args: readonly string[]): Promise<Part> => {
  const script = [join(import.meta.dirname, `${name}.ts`), ...args];
  const [command, rest] =
    taskset === undefined ? [process.execPath, script] : [taskset, ['-c', String(core), process.execPath, ...script]];
  const child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, unknown>> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`${name} ${args.join(' ')} ended`);
    return JSON.parse(value) as Record<string, unknown>;
  };
  const ready = await next();
  const ask = (question: object): Promise<Record<string, unknown>> => {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    return next();
  };
  return { child, ask, ready };
};

const stopPart = async ({ child }: Part): Promise<void> => {
  if (child.exitCode !== null) return;
  const gone = once(child, 'exit');
  child.stdin?.end();
  await gone;
};

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

const column = (text: string, width: number): string => text.padStart(width);

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const measure = async (rounds: number): Promise<Map<Contender, number[]>> => {
  const parts: Part[] = [];
  const start = async (name: string, core: number, args: readonly string[]): Promise<Part> => {
    const part = await startPart(name, core, args);
    parts.push(part);
    return part;
  };
  try {
    const load = await start('load', 1, [String(connections)]);
    const upstreamUrl = String(load.ready.url);
    const targets = new Map<Contender, Record<string, unknown>>();
    for (const name of contenders) targets.set(name, (await start('contender', 0, [name, upstreamUrl])).ready);
    const rates = new Map<Contender, number[]>(contenders.map((name) => [name, []]));
    for (const name of contenders) await load.ask({ ...targets.get(name), ms: warmUpMs });
    for (let round = 0; round < rounds; round += 1) {
      // Each round in another sequence: nobody always runs after the same neighbour.
      for (let turn = 0; turn < contenders.length; turn += 1) {
        const name = contenders[(turn + round) % contenders.length] as Contender;
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

const report = (rates: Map<Contender, number[]>): boolean => {
  print(`${column('', 16)}${column('requests/s', 12)}${column('min', 9)}${column('max', 9)}`);
  for (const [name, values] of rates) {
    const [rate, least, most] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
      value.toFixed(0),
    );
    print(`${name.padEnd(16)}${column(rate ?? '', 12)}${column(least ?? '', 9)}${column(most ?? '', 9)}`);
  }
  print('');
  print(
    `${'gateway against'.padEnd(16)}${column('ratio', 12)}${column('min', 9)}${column('max', 9)}${column('goal', 9)}`,
  );
  const own = rates.get('gateway') ?? [];
  let reached = true;
  for (const { against, atLeast } of goals) {
    const ratios = own.map((rate, round) => rate / (rates.get(against)?.[round] ?? Number.NaN));
    const ok = median(ratios) >= atLeast;
    reached &&= ok;
    const figures = [median(ratios), Math.min(...ratios), Math.max(...ratios), atLeast].map((value) =>
      value.toFixed(2),
    );
    const [ratio, least, most, goal] = figures.map((figure, index) => column(figure, index === 0 ? 12 : 9));
    print(`${against.padEnd(16)}${ratio}${least}${most}${goal}  ${ok ? 'reached' : 'MISSED'}`);
  }
  return reached;
};

const rounds = Number(process.argv[2] ?? roundsDefault);
print(
  `${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, ${taskset === undefined ? 'not pinned' : 'pinned to cores 0 and 1'}`,
);
process.exitCode = report(await measure(rounds)) ? 0 : 1;
