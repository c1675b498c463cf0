/**
 * A child process that cannot outlive Orderpass for long. A watcher process waits on a pipe whose other end only this
 * process holds. The kernel closes that end however Orderpass ends, and the watcher then stops the child.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { type Account, serverEnvironment, spawnIds } from './account.ts';

/**
 * The shell is replaced by the command, so the pid of the child is that of the command. The watcher is forked twice, since
 * PostgreSQL would not expect a child that it did not start. SIGINT is its fast shutdown, SIGQUIT the immediate one.
 */
const script = `
( ( trap '' HUP INT TERM
    read -r word <&3
    [ "$word" = ended ] && exit 0
    kill -INT $$
    seconds=0
    while kill -0 $$ && [ $seconds -lt 10 ]; do sleep 1; seconds=$((seconds + 1)); done
    kill -0 $$ && kill -QUIT $$
  ) & ) </dev/null >/dev/null 2>&1
exec "$@" </dev/null 3<&-`;

export type WatchedSettings = { command: string; args: readonly string[]; account: Account; logFd: number };

/** `exited` resolves with the exit code, the name of the signal or the message of a failed start. */
export type Watched = { pid: number; exited: Promise<number | string>; kill(signal: NodeJS.Signals): void };

export const startWatched = (settings: WatchedSettings): Watched => {
  const child = spawn('/bin/sh', ['-c', script, 'sh', settings.command, ...settings.args], {
    ...spawnIds(settings.account),
    cwd: '/',
    env: serverEnvironment,
    // A session of its own: Ctrl-C in a terminal reaches Orderpass alone, which finishes its work and then stops the child.
    detached: true,
    stdio: ['ignore', settings.logFd, settings.logFd, 'pipe'],
  });
  const exited = new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const pipe = leash(child);
  // The watcher gets this before the pipe closes: later the pid of the child may belong to another process.
  void exited.then(() => pipe?.end('ended\n'));
  return { pid: child.pid ?? -1, exited, kill: (signal) => void child.kill(signal) };
};

const leash = (child: ChildProcess): Writable | undefined => {
  const pipe = child.stdio[3];
  if (pipe === null || pipe === undefined || !('write' in pipe)) return undefined;
  pipe.on('error', () => undefined);
  return pipe;
};

/** For a command that ends by itself. */
export const runWatched = async (settings: WatchedSettings, timeoutMs: number): Promise<number | string> => {
  const child = startWatched(settings);
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const exit = await child.exited;
  clearTimeout(timer);
  return exit;
};

/** True when the promise settles in time. */
export const within = async (promise: Promise<unknown>, timeoutMs: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const inTime = promise.then(() => true);
  try {
    return await Promise.race([inTime, late]);
  } finally {
    clearTimeout(timer);
  }
};
