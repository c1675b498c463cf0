/** A server that a test starts as another user, since PostgreSQL refuses to run as root. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { type Account, spawnIds } from '#src/platform/db/embedded/account.ts';
import { signalOne } from '../../support/signal.ts';

export type ServerProcess = {
  pid: number;
  /** Sends the signal; resolves when the process has ended. */
  end(signal: 'SIGINT' | 'SIGKILL' | 'SIGTERM'): Promise<void>;
};

/** `logFile` gets the output of the process. */
export const startServerProcess = (
  command: string,
  args: readonly string[],
  { account, logFile }: { account: Account; logFile: string },
): ServerProcess => {
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, {
    ...spawnIds(account),
    cwd: '/',
    env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C.UTF-8', TZ: 'UTC', HOME: '/nonexistent' },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const { pid } = child;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  if (pid === undefined) throw new Error(`${command} did not start`);
  return {
    pid,
    end: async (signal) => {
      if (child.exitCode === null && child.signalCode === null) signalOne(pid, signal);
      await ended;
    },
  };
};
