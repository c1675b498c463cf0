/** The log that PostgreSQL itself writes. It holds no statements and no values, see the settings of the server. */
import { type FileHandle, open, stat, truncate } from 'node:fs/promises';
import path from 'node:path';

const bytesMax = 10 * 1024 * 1024;
const tailBytes = 4_000;
const tailLines = 15;

export type ServerLog = {
  path: string;
  /** For a child's output. Appends, so that truncating while the server writes is safe. The caller closes it. */
  open(): Promise<FileHandle>;
  bound(): Promise<void>;
  size(): Promise<number>;
  /** The last lines that were written after `offset`. */
  tail(offset: number): Promise<string>;
};

export const createServerLog = (dataDir: string): ServerLog => {
  const file = path.join(dataDir, 'postgres.log');
  const size = async (): Promise<number> => (await stat(file).catch(() => undefined))?.size ?? 0;
  return {
    path: file,
    open: () => open(file, 'a', 0o600),
    size,
    bound: async () => {
      if ((await size()) > bytesMax) await truncate(file);
    },
    tail: async (offset) => {
      const from = Math.max(offset, (await size()) - tailBytes);
      const handle = await open(file).catch(() => undefined);
      if (handle === undefined) return '';
      try {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(tailBytes), 0, tailBytes, from);
        return buffer.toString('utf8', 0, bytesRead).trimEnd().split('\n').slice(-tailLines).join('\n');
      } finally {
        await handle.close();
      }
    },
  };
};
