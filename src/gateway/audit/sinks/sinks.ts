/**
 * The kinds of sinks. A sink takes a batch of JSON lines as a whole or rejects; after a rejection it gets the batch
 * again.
 */
import { type FileHandle, open } from 'node:fs/promises';
import type { Writable } from 'node:stream';

export type Sink = {
  name: 'file' | 'stdout' | 'http';
  /** Resolves when the lines are on the disk, in the pipe, or answered with 2xx. */
  send: (lines: string, signal: AbortSignal) => Promise<void>;
};

const newLine = 10;

/** The file is opened for each batch, so that it may be rotated at any time. */
export const createFileSink = (path: string): Sink => ({
  name: 'file',
  send: async (lines) => {
    const file = await open(path, 'a+', 0o600);
    try {
      await file.appendFile((await endsInLine(file)) ? lines : `\n${lines}`);
      await file.datasync();
    } finally {
      await file.close();
    }
  },
});

/** The beginning of every exported line. */
const lineStart = '{"@timestamp":"';
/** Longer than the longest line. */
const tornBytesMax = 4 * 1024 * 1024;

/**
 * True when the file ends with a line break, so that the next line may follow. An incomplete line of the audit at the
 * end, which a crash left, is cut off: its event is sent again, so readers of the file get whole lines only. Other text
 * stays.
 */
const endsInLine = async (file: FileHandle): Promise<boolean> => {
  const { size } = await file.stat();
  const last = Buffer.alloc(1, newLine);
  if (size > 0) await file.read(last, 0, 1, size - 1);
  if (last[0] === newLine) return true;
  const tail = Buffer.alloc(Math.min(size, tornBytesMax));
  await file.read(tail, 0, tail.length, size - tail.length);
  const at = tail.lastIndexOf(newLine) + 1;
  if (at === 0 && size > tail.length) return false;
  const torn = tail.subarray(at);
  if (isWhole(torn) || !torn.toString('latin1', 0, lineStart.length).startsWith(lineStart.slice(0, torn.length)))
    return false;
  await file.truncate(size - torn.length);
  return true;
};

/** True when only the line break is missing. */
const isWhole = (line: Buffer): boolean => {
  try {
    JSON.parse(line.toString());
    return true;
  } catch {
    return false;
  }
};

export const createStreamSink = (stream: Writable): Sink => {
  // A reader that closes the pipe must not end the gateway; the write below reports the error.
  stream.on('error', () => undefined);
  return {
    name: 'stdout',
    send: (lines, signal) =>
      new Promise((resolve, reject) => {
        const stopped = (): void => reject(signal.reason as Error);
        signal.addEventListener('abort', stopped, { once: true });
        stream.write(lines, (error) => {
          signal.removeEventListener('abort', stopped);
          if (error == null) resolve();
          else reject(error);
        });
      }),
  };
};

/** `timeoutMs`: from connecting to the status line. `readAuthorization`: the value of that header now. */
export const createHttpSink = (options: {
  url: string;
  readAuthorization: () => string | undefined;
  timeoutMs: number;
}): Sink => ({
  name: 'http',
  send: async (lines, signal) => {
    const authorization = options.readAuthorization();
    const answer = await fetch(options.url, {
      method: 'POST',
      body: lines,
      headers: {
        'content-type': 'application/x-ndjson',
        ...(authorization === undefined ? undefined : { authorization }),
      },
      // Following a redirect would send the audit and the authorization to a server that is not configured.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]),
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`the receiver of the audit answered ${answer.status}`);
  },
});
