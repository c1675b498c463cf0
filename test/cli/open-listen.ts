/** The command `listen` as a child process, since it runs until it is stopped. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../support/program.ts';
import { until } from '../support/until.ts';

export type Listening = {
  /** Of standard output, so far. */
  lines: string[];
  errors(): string;
  /** Closes the pipe of standard output, as `head` does; resolves to the exit code. */
  readNoMore(): Promise<number | null>;
  /** Ctrl-C; resolves to the exit code. */
  stop(): Promise<number | null>;
};

/** Resolves when it says that it listens, or has ended. */
export const openListen = async (args: readonly string[], env: Record<string, string>): Promise<Listening> => {
  const child = spawn(process.execPath, [join(root, 'src/cli/launch.mjs'), 'listen', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const stop = (): Promise<number | null> => {
    child.kill('SIGINT');
    return exited;
  };
  try {
    await until(() => errors.includes('from now on') || child.exitCode !== null, 30_000);
  } catch (error) {
    await stop();
    throw error;
  }
  const readNoMore = (): Promise<number | null> => {
    child.stdout.destroy();
    return exited;
  };
  return { lines, errors: () => errors, readNoMore, stop };
};
