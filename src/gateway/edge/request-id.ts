/** The id that follows a request everywhere: the caller's own when it is well-formed, else a new one. */
import { randomFillSync } from 'node:crypto';

const wellFormed = /^[A-Za-z0-9._-]{1,64}$/;

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const idLength = 24;

/** Random bytes are drawn for many ids at once: a system call for each would be seen on the hot path. */
export const createRequestIds = (): ((given: string | undefined) => string) => {
  const pool = Buffer.alloc(idLength * 256);
  let next = pool.length;
  return (given) => {
    if (given !== undefined && wellFormed.test(given)) return given;
    if (next === pool.length) {
      randomFillSync(pool);
      next = 0;
    }
    let id = 'req_';
    for (const end = next + idLength; next < end; next += 1) id += alphabet[(pool[next] ?? 0) & 31];
    return id;
  };
};
