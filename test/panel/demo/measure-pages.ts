/** How large the pages of the panel are, and how long processors work for them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const bytesMax = 80_000;
const msMax = 100;
const runs = 10;
const rounds = 6;

/** Hundredths of a second that Linux reports; it rounds the exact time of a process down to them. */
const tickMs = 10;

/** Processes of a database server that work for no request. */
const inBackground = /autovacuum|checkpointer|background writer|walwriter|io worker|archiver|logical/;

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
};

/** Parent and processor time of a process, its ended children included. */
const statOf = (pid: string): { parent: string; ms: number } => {
  const [, parent = '', ...fields] = (textOf(`/proc/${pid}/stat`).split(') ')[1] ?? '').split(' ');
  const ticks = fields.slice(9, 13).reduce((sum, one) => sum + Number(one), 0);
  return { parent, ms: ticks * tickMs };
};

/** By process: that of the program, and those that its database server runs for its connections. */
const processorTimes = (program: number, server: number): Map<string, number> => {
  const times = new Map<string, number>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const { parent, ms } = statOf(pid);
    const isOfServer = parent === String(server) && !inBackground.test(textOf(`/proc/${pid}/cmdline`));
    if (pid === String(program) || isOfServer) times.set(pid, ms);
  }
  return times;
};

export type Server = {
  url: string;
  /** Process of the program. */
  program: number;
  /** Process of its database server, the parent of those for the connections. */
  database: number;
};

/** Of one request, on average over some. Where a system has no /proc, the time that passed stands for the work. */
const measurePage = async (
  { url, program, database }: Server,
  address: string,
  cookie: string,
  times: number,
): Promise<{ bytes: number; ms: number }> => {
  const hasProc = existsSync('/proc/self/stat');
  const before = hasProc ? processorTimes(program, database) : new Map<string, number>();
  const began = performance.now();
  let bytes = 0;
  for (let run = 0; run < times; run += 1) {
    const answer = await fetch(`${url}${address}`, { headers: { cookie }, redirect: 'manual' });
    const body = await answer.arrayBuffer();
    bytes = Math.max(bytes, body.byteLength);
    if (answer.status !== 200) throw new Error(`${address} got ${answer.status}`);
  }
  if (!hasProc) return { bytes, ms: (performance.now() - began) / times };
  let worked = 0;
  for (const [pid, ms] of processorTimes(program, database)) worked += ms - (before.get(pid) ?? 0);
  if (worked === 0 && times >= runs) throw new Error(`no processor time was found for ${times} requests of ${address}`);
  return { bytes, ms: worked / times };
};

/**
 * What is wrong with a page, undefined for nothing. The work of the processors counts, not the time that passes, which is longer
 * on a busy machine. The program also works for itself, so a page that seems slow is measured again: the least of some rounds counts.
 */
export const pageProblem = async (server: Server, address: string, cookie: string): Promise<string | undefined> => {
  const best = await measurePage(server, address, cookie, 2);
  if (best.bytes > bytesMax) return `${best.bytes} bytes`;
  for (let round = 0; round < rounds && (round === 0 || best.ms > msMax); round += 1) {
    const { ms } = await measurePage(server, address, cookie, runs);
    best.ms = round === 0 ? ms : Math.min(best.ms, ms);
  }
  return best.ms <= msMax ? undefined : `${Math.round(best.ms)} ms of processor time`;
};
