/** PgBouncer in transaction mode in front of a server, with the settings of its package otherwise. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';

const command = '/usr/sbin/pgbouncer';
export const hasPgBouncer = existsSync(command);

export type PgBouncer = {
  /** The address of a database of the server through PgBouncer. */
  urlOf(database: string): string;
  /** What it has logged. */
  log(): string;
  stop(): Promise<void>;
};

/** `serverUrl`: a database of the server, with the user that PgBouncer logs in as for every client. `poolSize`: connections to each database. */
export const startPgBouncer = async (
  serverUrl: string,
  { poolSize, more = '' }: { poolSize: number; more?: string },
): Promise<PgBouncer> => {
  if (!hasPgBouncer) throw new Error(`there is no ${command}: install pgbouncer`);
  const { host, port: serverPort, user, password } = new pg.Client({ connectionString: serverUrl });
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-pooler-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const login = `user=${user}${password ? ` password=${password}` : ''}`;
  writeFileSync(
    file,
    `[databases]
* = host=${host} port=${serverPort} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 900
${more}
`,
    { mode: 0o644 },
  );
  // The embedded server lets only its own user reach its socket, and PgBouncer does not run as root.
  const { uid, gid } = host.startsWith('/') ? statSync(join(host, `.s.PGSQL.${serverPort}`)) : statSync('/proc/self');
  const child = spawn(command, [file], { uid, gid, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await until(() => canConnect(port));
  return {
    urlOf: (database) => `postgresql://client@127.0.0.1:${port}/${database}`,
    log: () => said,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

const canConnect = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
