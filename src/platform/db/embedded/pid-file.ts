/** `postmaster.pid`, which PostgreSQL writes into its cluster: who runs it, where it listens and whether it is ready. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from './errors.ts';

export type PidFile = { pid: number; cluster: string; port: number; socketFolder: string; status: string };

const place = (cluster: string): string => path.join(cluster, 'postmaster.pid');

/** Undefined when there is none, which is also how a clean shutdown leaves the cluster. */
export const readPidFile = async (cluster: string): Promise<PidFile | undefined> => {
  let text: string;
  try {
    text = await readFile(place(cluster), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return undefined;
    throw error;
  }
  const lines = text.split('\n');
  const [pid, folder = '', , port, socketFolder = '', , , status = ''] = lines;
  return { pid: Number(pid), cluster: folder, port: Number(port), socketFolder, status: status.trim() };
};

/** Above every limit that a kernel sets on process ids. */
const noSuchPid = 99_999_999;

/**
 * PostgreSQL refuses to start while the process of this number lives, whoever that is by now. Only the number is
 * changed: the file also names the shared memory by which PostgreSQL notices backends that outlived their server.
 */
export const disownPidFile = async (cluster: string): Promise<void> => {
  const text = await readFile(place(cluster), 'utf8');
  await writeFile(place(cluster), [noSuchPid, ...text.split('\n').slice(1)].join('\n'));
};
