/** A child process that a test kills. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

export type Killable = {
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** Resolves to the signal that ended it. */
  ended: Promise<NodeJS.Signals | null>;
};

/** Runs worker.ts. */
export const spawnWorker = (...args: string[]): Killable => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'worker.ts'), ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
  return {
    ended,
    signal: (name) => void child.kill(name),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      return child.exitCode;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
};
