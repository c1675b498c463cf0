/** Where the audit can be carried to. Each takes a batch of JSON lines whole, or rejects; then it is given again. */
import { open } from 'node:fs/promises';
import type { Writable } from 'node:stream';

export type Sink = {
  name: 'file' | 'stdout' | 'http';
  /** Resolves when the lines are taken: on the disk, in the pipe, answered with 2xx. */
  send: (lines: string, signal: AbortSignal) => Promise<void>;
};

const newLine = 10;

/** Opened for each batch, so that the file may be moved away at any time. */
export const createFileSink = (path: string): Sink => ({
  name: 'file',
  send: async (lines) => {
    const file = await open(path, 'a+', 0o600);
    try {
      const { size } = await file.stat();
      const last = Buffer.alloc(1, newLine);
      if (size > 0) await file.read(last, 0, 1, size - 1);
      // What a crash left half written stays a line of its own and does not spoil the next one.
      await file.appendFile(last[0] === newLine ? lines : `\n${lines}`);
      await file.datasync();
    } finally {
      await file.close();
    }
  },
});

export const createStreamSink = (stream: Writable): Sink => {
  // A reader that goes away must not end the gateway; the write below tells of it.
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

/** `timeoutMs`: from the connection to the status of the answer. `authorization`: value of that header. */
export const createHttpSink = (options: {
  url: string;
  authorization?: string | undefined;
  timeoutMs: number;
}): Sink => ({
  name: 'http',
  send: async (lines, signal) => {
    const answer = await fetch(options.url, {
      method: 'POST',
      body: lines,
      headers: {
        'content-type': 'application/x-ndjson',
        ...(options.authorization === undefined ? undefined : { authorization: options.authorization }),
      },
      // Following would carry the audit, and the authorization, to somebody whom nobody named.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]),
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`the receiver of the audit answered ${answer.status}`);
  },
});
