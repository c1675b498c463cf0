/**
 * Lines for standard error, which never hold the program up.
 *
 * The reader of standard error can stop reading, like a log shipper that hangs. A blocking write would then stop the loop,
 * and one by the thread pool would occupy a thread and keep the program from ending. So this output writes without blocking,
 * keeps a bounded number of bytes until the reader goes on, drops and counts the lines beyond, and waits a bounded time at
 * the exit.
 */
import { fstatSync, writeSync } from 'node:fs';

export type LineOutput = { write(line: string): void };

const descriptor = 2;
const waitingBytesMax = 4 * 1024 * 1024;
/** A pipe takes a write of so many bytes whole or not at all (POSIX), so lines of processes that share it do not mix. */
const atomicBytes = 4096;
const retryMs = 50;
const exitMs = 500;
/** The reader is gone for good, as with a closed terminal. Other errors, like those of a full disk, can end. */
const goneCodes = new Set(['EPIPE', 'EIO', 'EBADF', 'ENXIO', 'ECONNRESET']);

let shared: LineOutput | undefined;
let dropped = 0;

/** The one output of the process: several would mix their lines. */
export const standardError = (): LineOutput => {
  shared ??= createOutput();
  return shared;
};

/** How many log lines of this process were dropped because standard error did not take them. */
export const droppedLogLines = (): number => dropped;

const createOutput = (): LineOutput => {
  const waiting: Buffer[] = [];
  let waitingBytes = 0;
  let gone = !openWithoutBlocking();
  let isScheduled = false;

  /** Writes what the reader takes now. Returns whether nothing waits any more. */
  const writeWaiting = (): boolean => {
    while (waiting.length > 0) {
      const batch = takeBatch(waiting);
      const written = tryWrite(batch);
      if (written === 'gone') {
        gone = true;
        dropped += waiting.length + 1;
        waiting.length = 0;
        return true;
      }
      waitingBytes -= written;
      if (written < batch.length) {
        waiting.unshift(batch.subarray(written));
        return false;
      }
    }
    return true;
  };
  const runScheduled = (): void => {
    isScheduled = !writeWaiting();
    if (isScheduled) setTimeout(runScheduled, retryMs).unref();
  };
  process.on('exit', () => {
    const endAt = performance.now() + exitMs;
    while (!writeWaiting() && performance.now() < endAt) Atomics.wait(unchanged, 0, 0, 10);
  });
  return {
    write: (line) => {
      const bytes = Buffer.from(line);
      if (gone || waitingBytes + bytes.length > waitingBytesMax) {
        dropped += 1;
        return;
      }
      waiting.push(bytes);
      waitingBytes += bytes.length;
      // All lines of one turn of the loop are written together.
      if (!isScheduled) setImmediate(runScheduled);
      isScheduled = true;
    },
  };
};

/** `Atomics.wait` on it is a sleep. */
const unchanged = new Int32Array(new SharedArrayBuffer(4));

/** Takes whole lines from the front: as many as one atomic write holds, and at least one. */
const takeBatch = (waiting: Buffer[]): Buffer => {
  let count = 0;
  let bytes = 0;
  for (const line of waiting) {
    bytes += line.length;
    if (count > 0 && bytes > atomicBytes) break;
    count += 1;
  }
  return Buffer.concat(waiting.splice(0, count));
};

/** How many bytes were taken: 0 for a full pipe or disk. */
const tryWrite = (bytes: Buffer): number | 'gone' => {
  try {
    return writeSync(descriptor, bytes);
  } catch (error) {
    return goneCodes.has((error as NodeJS.ErrnoException).code ?? '') ? 'gone' : 0;
  }
};

/**
 * Node has no call that makes a descriptor non-blocking. Its own stream for standard error does that for pipes and sockets
 * when it is made, and reading the property makes it. False when standard error is closed.
 */
const openWithoutBlocking = (): boolean => {
  try {
    const kind = fstatSync(descriptor);
    return !(kind.isFIFO() || kind.isSocket()) || process.stderr.writable;
  } catch {
    return false;
  }
};
