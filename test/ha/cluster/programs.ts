/**
 * The programs that the failover test needs of the system: Patroni, etcd, HAProxy, Redis, and a PostgreSQL with the tools that
 * Patroni calls. The npm package of the embedded server lacks these tools.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const commands = {
  patroni: process.env.TEST_HA_PATRONI ?? '/usr/bin/patroni',
  etcd: '/usr/bin/etcd',
  haproxy: '/usr/sbin/haproxy',
  'redis-server': '/usr/bin/redis-server',
};

/** Patroni and pg_rewind start each of them. */
const tools = ['postgres', 'initdb', 'pg_ctl', 'pg_basebackup', 'pg_controldata', 'pg_isready', 'pg_rewind'];

/** Debian 13 has this one. The first migration does not run on the 15 of Debian 12. */
const majorMin = 17;

const debianFolder = '/usr/lib/postgresql';

/** TEST_HA_POSTGRES names the folder; otherwise the newest of Debian is taken. */
const findPostgres = (): string | undefined => {
  const given = process.env.TEST_HA_POSTGRES;
  if (given !== undefined && given !== '') return given;
  const majors = existsSync(debianFolder) ? readdirSync(debianFolder).map(Number) : [];
  const newest = Math.max(...majors.filter((major) => major >= majorMin));
  return newest >= majorMin ? join(debianFolder, String(newest), 'bin') : undefined;
};

/**
 * By version 3 of the protocol of etcd, Patroni before 3.0.3 overwrites the lock of its successor when its node was frozen, and
 * the writes of the successor are lost. By version 2 it compares the lock before it writes.
 */
const etcdProtocolOf = (patroni: string): EtcdProtocol => {
  const [, ...parts] = /(\d+)\.(\d+)\.(\d+)/.exec(execFileSync(patroni, ['--version'], { encoding: 'utf8' })) ?? [];
  const [major = 0, minor = 0, patch = 0] = parts.map(Number);
  return major > 3 || (major === 3 && (minor > 0 || patch >= 3)) ? 'etcd3' : 'etcd';
};

/** By the name of its section in the configuration of Patroni. */
export type EtcdProtocol = 'etcd' | 'etcd3';

export type Programs = { postgres: string; patroni: string; etcd: string; redis: string; etcdProtocol: EtcdProtocol };

/** The reason in words when one of them is missing. */
export const findPrograms = (): Programs | string => {
  for (const [name, path] of Object.entries(commands)) {
    if (!existsSync(path)) return `${path} is not installed (Debian: ${debianPackage[name as keyof typeof commands]})`;
  }
  const postgres = findPostgres();
  if (postgres === undefined)
    return `no PostgreSQL ${majorMin} or newer in ${debianFolder}; TEST_HA_POSTGRES names the folder of its programs`;
  const missing = tools.filter((tool) => !existsSync(join(postgres, tool)));
  if (missing.length > 0) return `${postgres} lacks ${missing.join(', ')}`;
  const { patroni, etcd } = commands;
  return { postgres, patroni, etcd, redis: commands['redis-server'], etcdProtocol: etcdProtocolOf(patroni) };
};

const debianPackage: Record<keyof typeof commands, string> = {
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  'redis-server': 'redis-server',
};
