/** Whether a pooler stands between the pool and the server. */
import type pg from 'pg';
import { serverPidOf } from './pg-client.ts';

/** Other clients of the pooler may take the same connections, so one look could miss it. */
const looks = 5;

/**
 * True when a pooler gives each transaction any of its connections to the server, as PgBouncer in transaction mode does; false
 * in session mode, where a client keeps its connection. Takes two connections of the pool.
 */
export const isTransactionPooled = async (pool: pg.Pool): Promise<boolean> => {
  const first = await pool.connect();
  try {
    const pid = await readPid(first);
    // A pooler tells its clients other ids of processes than those of the server.
    if (pid === serverPidOf(first)) return false;
    const second = await pool.connect();
    try {
      for (let look = 0; look < looks; look += 1)
        if ((await readPid(second)) === pid || (await readPid(first)) !== pid) return true;
    } finally {
      second.release();
    }
  } finally {
    first.release();
  }
  return false;
};

const readPid = async (client: pg.PoolClient): Promise<number | undefined> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
