/** The id that follows a request everywhere: the caller's own when it is well-formed, else a new one. */
import { randomFillSync } from 'node:crypto';
import { timeOf, timePart } from '#src/platform/ids.ts';

const wellFormed = /^[A-Za-z0-9._-]{1,64}$/;

const alphabet = Buffer.from('0123456789abcdefghjkmnpqrstvwxyz');
const randomLength = 15;
const idsPerDraw = 256;

/**
 * `req_`, 9 characters of time and 15 random ones (75 bits), so that whoever looks for an id later knows when it was made.
 * Random bytes are drawn for many ids at once: a system call for each would be seen on the hot path.
 */
export const createRequestIds = (nowMs: () => number): ((given: string | undefined) => string) => {
  const pool = Buffer.alloc(randomLength * idsPerDraw);
  let next = pool.length;
  let prefixMs = Number.NaN;
  let prefix = '';
  return (given) => {
    if (given !== undefined && wellFormed.test(given)) return given;
    if (next === pool.length) {
      randomFillSync(pool);
      for (let i = 0; i < pool.length; i += 1) pool[i] = alphabet[(pool[i] ?? 0) & 31] ?? 0;
      next = 0;
    }
    const now = nowMs();
    if (now !== prefixMs) {
      prefixMs = now;
      prefix = `req_${timePart(now)}`;
    }
    const random = pool.toString('latin1', next, next + randomLength);
    next += randomLength;
    return prefix + random;
  };
};

const ownId = /^req_([0-9a-z]{9})[0-9a-z]{15,16}$/;

/** When an id of the form above says that it was made; undefined for others. */
export const madeAtMs = (requestId: string): number | undefined => {
  const time = ownId.exec(requestId)?.[1];
  return time === undefined ? undefined : timeOf(time);
};
