/** Makes folders with a mode that holds under every umask: a strict one would lock out the server, a loose one let others in. */
import { chmodSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { assertRealFolder } from './real-folder.ts';

/** Makes the folder and its missing parents, with `mode`, and returns the first one that it made. Existing ones stay as they are. */
export const makeFolder = (folder: string, mode: number): string | undefined => {
  assertRealFolder(folder);
  const place = path.resolve(folder);
  const first = mkdirSync(place, { recursive: true, mode });
  if (first === undefined) return undefined;
  for (let made = place; made.length >= first.length; made = path.dirname(made)) chmodSync(made, mode);
  return first;
};

/** The server that root starts passes through the data folder to its own, and needs to list nothing there. */
export const dataFolderMode = (): number => (process.getuid?.() === 0 ? 0o711 : 0o700);

/** The data folder, which the first file in it makes: the master key, the heads of the audit, or the store. */
export const makeDataFolder = (folder: string): string | undefined => makeFolder(folder, dataFolderMode());
