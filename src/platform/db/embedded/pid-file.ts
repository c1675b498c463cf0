/** `postmaster.pid`, which PostgreSQL writes into its cluster: its process, its socket, and whether it is ready. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from './errors.ts';

export type PidFile = { pid: number; cluster: string; port: number; socketFolder: string; status: string };

const place = (cluster: string): string => path.join(cluster, 'postmaster.pid');

const readText = async (cluster: string): Promise<string | undefined> => {
  try {
    return await readFile(place(cluster), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return undefined;
    throw error;
  }
};

/** Undefined when there is none, which is also how a clean shutdown leaves the cluster. */
export const readPidFile = async (cluster: string): Promise<PidFile | undefined> => {
  const text = await readText(cluster);
  if (text === undefined) return undefined;
  const [pid, folder = '', , port, socketFolder = '', , , status = ''] = text.split('\n');
  return { pid: Number(pid), cluster: folder, port: Number(port), socketFolder, status: status.trim() };
};

/** Above every limit that a kernel sets on process ids. */
const noSuchPid = 99_999_999;

/**
 * PostgreSQL refuses to start while a process with this id lives, even an unrelated one. Only the id is changed: the file
 * also names the shared memory by which PostgreSQL notices backends that outlived their server.
 */
export const disownPidFile = async (cluster: string): Promise<void> => {
  const text = await readText(cluster);
  if (text !== undefined) await writeFile(place(cluster), [noSuchPid, ...text.split('\n').slice(1)].join('\n'));
};
