/** The id of a request in answers, logs, traces and the audit: the caller's own when it is well-formed, else a new one. */
import { randomFillSync } from 'node:crypto';
import { timeLength, timeOf, timePart } from '#src/platform/ids.ts';

const wellFormed = /^[A-Za-z0-9._-]{1,64}$/;

const alphabet = Buffer.from('0123456789abcdefghjkmnpqrstvwxyz');
const randomLength = 15;
const idsPerDraw = 256;

/**
 * `req_`, 9 characters of time and 15 random ones (75 bits), so that a search for an id knows its time. Random bytes are
 * drawn for many ids at once, since a system call for each would slow the hot path.
 */
export const createRequestIds = (nowMs: () => number): ((given: string | undefined) => string) => {
  const pool = Buffer.alloc(randomLength * idsPerDraw);
  let drawn = '';
  let next = 0;
  let prefixMs = Number.NaN;
  let prefix = '';
  return (given) => {
    if (given !== undefined && wellFormed.test(given)) return given;
    if (next === drawn.length) {
      randomFillSync(pool);
      for (let i = 0; i < pool.length; i += 1) pool[i] = alphabet[(pool[i] ?? 0) & 31] ?? 0;
      drawn = pool.toString('latin1');
      next = 0;
    }
    const now = nowMs();
    if (now !== prefixMs) {
      prefixMs = now;
      prefix = `req_${timePart(now)}`;
    }
    const random = drawn.slice(next, next + randomLength);
    next += randomLength;
    return prefix + random;
  };
};

const ownStart = 'req_';
const ownLength = ownStart.length + timeLength + randomLength;

let lastPart = '';
let lastMs: number | undefined;

/**
 * The time in an id of the form above; undefined for other ids. Ids are read in the sequence in which they were made, so the
 * last parsed time is kept.
 */
export const madeAtMs = (requestId: string): number | undefined => {
  // One character more: ids of the version before.
  if (requestId.length !== ownLength && requestId.length !== ownLength + 1) return undefined;
  if (!requestId.startsWith(ownStart)) return undefined;
  if (lastMs !== undefined && requestId.startsWith(lastPart, ownStart.length)) return lastMs;
  const part = requestId.slice(ownStart.length, ownStart.length + timeLength);
  const ms = timeOf(part);
  lastPart = part;
  lastMs = ms;
  return ms;
};
