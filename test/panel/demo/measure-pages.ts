/** How large the pages of the panel are, and how long the server takes for them. */
import { performance } from 'node:perf_hooks';

export type Measured = { bytes: number; ms: number };

/**
 * The least time of some runs: other work of the machine only adds to a time, and a page that is slow by itself is slow in
 * every run.
 */
export const measurePage = async (address: string, cookie: string, runs: number): Promise<Measured> => {
  let ms = Number.POSITIVE_INFINITY;
  let bytes = 0;
  for (let run = 0; run < runs; run += 1) {
    const began = performance.now();
    const answer = await fetch(address, { headers: { cookie }, redirect: 'manual' });
    const body = await answer.arrayBuffer();
    ms = Math.min(ms, performance.now() - began);
    bytes = Math.max(bytes, body.byteLength);
    if (answer.status !== 200) throw new Error(`${address} got ${answer.status}`);
  }
  return { bytes, ms };
};

const bytesMax = 80_000;
const msMax = 100;
/** Of the same page before there was much to show; the machine may be busier now. */
const timesMax = 1.5;
const moreMsMax = 20;
const rounds = 8;
const runs = 4;

/** What is wrong with a page, undefined for nothing. A page that seems slow is measured again before it is said to be. */
export const pageProblem = async (address: string, cookie: string, before: Measured): Promise<string | undefined> => {
  let best = await measurePage(address, cookie, 2);
  if (best.bytes > bytesMax) return `${best.bytes} bytes`;
  const isFast = (): boolean => best.ms <= msMax || best.ms <= before.ms * timesMax + moreMsMax;
  for (let round = 0; round < rounds && !isFast(); round += 1) {
    const again = await measurePage(address, cookie, runs);
    best = { ...again, ms: Math.min(best.ms, again.ms) };
  }
  return isFast() ? undefined : `${Math.round(best.ms)} ms, ${Math.round(before.ms)} ms with a week of data`;
};
