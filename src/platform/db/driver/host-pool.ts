/** A pool whose connections may lead to one of several hosts, and leave a server that takes no writes any more. */
import pg from 'pg';
import type { Hosts } from './hosts.ts';

const byPool = new WeakMap<pg.Pool, Hosts>();

/** The hosts of a pool that `createHostPool` made. */
export const hostsOf = (pool: pg.Pool): Hosts => {
  const hosts = byPool.get(pool);
  if (hosts === undefined) throw new Error('the pool was not made by createHostPool');
  return hosts;
};

type OnConnection = Parameters<pg.Pool['connect']>[0];

/** `config.Client`: a class of `clientClass` with the same hosts. */
export const createHostPool = (config: pg.PoolConfig, hosts: Hosts): pg.Pool => {
  const pool = hosts.hostMsMax === undefined ? new pg.Pool(config) : new (poolClass(hosts))(config);
  byPool.set(pool, hosts);
  // The pool does not keep a client that is ending.
  pool.on('release', (_error, client) => {
    if (hosts.isLeft(client)) void client.end();
  });
  hosts.onLeave(() => closeIdle(pool, hosts));
  return pool;
};

/** `query` of the pool and kysely take their connections from `connect`. */
const poolClass = (hosts: Hosts): typeof pg.Pool =>
  class extends pg.Pool {
    override connect(callback?: OnConnection): never {
      const connected = hosts.tryEach(() => super.connect());
      if (callback === undefined) return connected as never;
      connected.then(
        (client) => callback(undefined, client, client.release),
        (error: Error) => callback(error, undefined, () => undefined),
      );
      return undefined as never;
    }
  };

/** Takes each idle connection before later requests do. It ends when it is released, if its server was left. */
const closeIdle = (pool: pg.Pool, hosts: Hosts): void => {
  for (let left = pool.idleCount; left > 0; left -= 1)
    pool.connect().then(
      (client) => client.release(hosts.isLeft(client)),
      () => undefined,
    );
};

/** When one pool leaves its server, the other one leaves as well: both lead to the same database. */
export const leaveTogether = (one: pg.Pool, other: pg.Pool): void => {
  hostsOf(one).onLeave(hostsOf(other).leaveCurrent);
  hostsOf(other).onLeave(hostsOf(one).leaveCurrent);
};
