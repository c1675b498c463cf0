/** Data folders for the embedded PostgreSQL and processes that own one, so that a test can kill the owner. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, lstat, mkdtemp, readlink, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { pino } from 'pino';
import type { SocketConnection } from '#src/platform/db/driver/socket-connection.ts';
import { startEmbedded } from '#src/platform/db/embedded/embedded.ts';
import { serversOf } from '#src/platform/db/embedded/leftover.ts';
import { until } from './until.ts';

export const root = path.resolve(import.meta.dirname, '../..');

export type Folder = { path: string; dataDir: string; cluster: string; remove(): Promise<void> };

/** A new folder that every user of the machine may enter, unless `mode` says otherwise. */
export const makeFolder = async (mode = 0o755): Promise<Folder> => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'orderpass-test-'));
  await chmod(folder, mode);
  const dataDir = path.join(folder, 'data');
  const cluster = path.join(dataDir, 'postgres');
  return { path: folder, dataDir, cluster, remove: () => rm(folder, { recursive: true, force: true }) };
};

/** Where the cluster really lies. */
export const realCluster = async (cluster: string): Promise<string> =>
  (await lstat(cluster)).isSymbolicLink() ? await readlink(cluster) : cluster;

export const untilNoServer = async (cluster: string): Promise<void> => {
  const place = await realCluster(cluster);
  await until(async () => (await serversOf(place)).length === 0);
};

/** Runs statements one after the other on one connection and returns the rows of the last. */
export const query = async (connection: SocketConnection, ...statements: string[]): Promise<unknown[]> => {
  const client = new pg.Client({ ...connection, ssl: false, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    let rows: unknown[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end().catch(() => undefined);
  }
};

export type PreparedData = { copyTo(folder: Folder): Promise<void>; remove(): Promise<void> };

/** Data as a first start and these statements leave it. A copy costs a tenth of the processor time of another first start. */
export const prepareData = async (...statements: string[]): Promise<PreparedData> => {
  const folder = await makeFolder();
  const first = await startEmbedded({ dataDir: folder.dataDir, log: pino({ level: 'silent' }) });
  await query(first.connection, ...statements).finally(first.stop);
  return {
    // With its owners, which `cp` of Node does not keep.
    copyTo: async (to) => void (await promisify(execFile)('cp', ['-a', folder.dataDir, to.path])),
    remove: folder.remove,
  };
};

export type StoreOwner = {
  child: ChildProcess;
  connection: SocketConnection;
  kill(): Promise<void>;
  stop(): Promise<void>;
};

const script = `
  const { startEmbedded } = await import('#src/platform/db/embedded/embedded.ts');
  const { pino } = await import('pino');
  process.on('SIGINT', () => {});
  const log = pino({ level: 'error' }, pino.destination(2));
  const embedded = await startEmbedded({ ...JSON.parse(process.argv[1]), log });
  console.log(JSON.stringify(embedded.connection));
  process.stdin.on('end', async () => { await embedded.stop(); process.exit(); }).resume();`;

/** A process of its own that starts the embedded PostgreSQL. SIGINT does not end it; `stop` and `kill` do. */
export const startOwner = async (
  settings: { dataDir: string; nativeDir?: string; systemDirs?: readonly string[] },
  identity: { uid?: number; gid?: number; env?: Record<string, string> } = {},
): Promise<StoreOwner> => {
  const { env, ...ids } = identity;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, JSON.stringify(settings)], {
    ...ids,
    cwd: root,
    detached: true,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  let isOver = false;
  const exited = new Promise<void>((resolve) =>
    child.once('exit', () => {
      isOver = true;
      resolve();
    }),
  );
  await until(() => output.includes('\n') || isOver, 60_000);
  if (!output.includes('\n')) throw new Error(`the owner ended\n${errors}`);
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await exited;
  };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { child, connection: JSON.parse(output), kill, stop };
};
