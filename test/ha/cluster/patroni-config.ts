/** The configuration of one node, as JSON, which Patroni reads as YAML. config/deployment.md explains the choices. */

import type { EtcdProtocol } from './programs.ts';

export type NodeAddress = { name: string; port: number; restPort: number };

/** Names and passwords of the roles that Patroni creates. */
export const superuser = { username: 'postgres', password: 'of-superuser' };
const replication = { username: 'replicator', password: 'of-replicator' };
const rewind = { username: 'rewinder', password: 'of-rewinder' };

/**
 * Patroni asks for `ttl` >= `loop_wait` + 2 * `retry_timeout`. A primary that vanishes keeps its lock for `ttl`.
 * A primary that crashes is replaced at once (`primary_start_timeout`) instead of being started again.
 */
const timers = { ttl: 8, loop_wait: 1, retry_timeout: 3, primary_start_timeout: 0 };

const parameters = {
  max_connections: 200,
  shared_buffers: '32MB',
  wal_keep_size: '256MB',
  // Commits at a new primary wait until a standby follows it, and by default a standby tries again after 5 s.
  wal_retrieve_retry_interval: '500ms',
};

type Surroundings = { etcdProtocol: EtcdProtocol; etcdPort: number; folder: string; postgres: string };

export const patroniConfig = (
  { name, port, restPort }: NodeAddress,
  { etcdProtocol, etcdPort, folder, postgres }: Surroundings,
): string =>
  JSON.stringify({
    scope: 'orderpass',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    [etcdProtocol]: { hosts: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ...timers,
        maximum_lag_on_failover: 1_048_576,
        // Strict: a commit waits until a standby has it, also when only one standby is left.
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: { use_pg_rewind: true, parameters },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: `${folder}/data`,
      bin_dir: postgres,
      pgpass: `${folder}/pgpass`,
      parameters: { unix_socket_directories: folder },
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication replicator 127.0.0.1/32 scram-sha-256'],
      authentication: { superuser, replication, rewind },
    },
    // A watchdog would restart the machine of the test.
    watchdog: { mode: 'off' },
  });
