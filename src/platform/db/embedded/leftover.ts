/**
 * Removes the remains of an Orderpass that died: a running server, its pid file, its socket folder. Only the holder of the
 * lock of the home calls this, so a server found here has no owner.
 */
import { readdir, readlink, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { runAs } from './account.ts';
import { EmbeddedError, errorCode } from './errors.ts';
import { disownPidFile, readPidFile } from './pid-file.ts';
import { isOwnSocketFolder } from './socket-folder.ts';

const shutdownMs = 10_000;
const immediateMs = 6_000;
const orphansMs = 2_000;
const pollMs = 20;

/** `socketFolder`: where the next server will have its socket. It stays, without the files of the server before. */
export const clearLeftovers = async (cluster: string, log: Logger, socketFolder = cluster): Promise<void> => {
  const pidFile = await readPidFile(cluster);
  if (pidFile === undefined) return;
  await endServer(cluster, pidFile.pid, log);
  // A server that ended removed its file; a killed server left it.
  if (isAlive(pidFile.pid)) await disownPidFile(cluster);
  const { socketFolder: before } = pidFile;
  // The pid file in a copy of the cluster names the folder of another server.
  const isOfCluster = pidFile.cluster === (await realpath(cluster));
  if (before !== socketFolder && isOfCluster && (await isOwnSocketFolder(before, cluster)))
    await rm(before, { recursive: true, force: true });
  for (const name of ['.s.PGSQL.5432', '.s.PGSQL.5432.lock']) await rm(path.join(socketFolder, name), { force: true });
};

const endServer = async (cluster: string, postmaster: number, log: Logger): Promise<void> => {
  const found = await serversOf(cluster);
  if (found.length === 0) return;
  log.warn({ processes: found }, 'PostgreSQL of an Orderpass that died is still running: it is stopped first');
  if (found.includes(postmaster)) {
    send([postmaster], 'SIGINT');
    if (await areGone(cluster, shutdownMs)) return;
  } else if (await areGone(cluster, orphansMs)) return; // backends notice by themselves that their server is gone
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    send(await serversOf(cluster), signal);
    if (await areGone(cluster, immediateMs)) return;
  }
  throw new EmbeddedError(
    'DATA_DIR_IN_USE',
    `PostgreSQL processes ${(await serversOf(cluster)).join(', ')} still use ${cluster} and cannot be ended`,
  );
};

const send = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
    }
  }
};

const areGone = async (cluster: string, timeoutMs: number): Promise<boolean> => {
  const deadline = performance.now() + timeoutMs;
  while ((await serversOf(cluster)).length > 0) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return true;
};

/** Ids of every PostgreSQL process of this cluster, so that no other process is ever signalled. */
export const serversOf = async (cluster: string): Promise<number[]> => {
  const folder = await realpath(cluster).catch(() => cluster);
  if (process.platform !== 'linux') return listedServer(folder);
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const checked = await Promise.all(
    names.map(async (name) => ((await worksIn(name, folder)) ? Number(name) : undefined)),
  );
  return checked.filter((pid) => pid !== undefined);
};

/**
 * Each of them has the cluster as its working folder. Processes of other users cannot be inspected, and do not belong to
 * this cluster.
 */
const worksIn = async (pid: string, folder: string): Promise<boolean> => {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  if (cwd !== folder) return false;
  const program = await readlink(`/proc/${pid}/exe`).catch(() => '');
  return path.basename(program.replace(/ \(deleted\)$/, '')) === 'postgres';
};

/** Without /proc: the process of the pid file, if its command line names this cluster. */
const listedServer = async (folder: string): Promise<number[]> => {
  const pidFile = await readPidFile(folder);
  if (pidFile === undefined || !isAlive(pidFile.pid)) return [];
  const { output } = await runAs(undefined, '/bin/ps', ['-ww', '-o', 'command=', '-p', String(pidFile.pid)]);
  return output.includes(`/postgres -D ${folder} `) ? [pidFile.pid] : [];
};

const isAlive = (pid: number): boolean => {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
};
