/** Starts and ends the import process. A slow start is waited for, since a second process would only repeat its work. */
import { type ChildProcess, fork } from 'node:child_process';
import type { Logger } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';
import type { ChildMessage, ImportSettings } from './messages.ts';

export type Child = {
  process: ChildProcess;
  /** The port of its listener. Rejects when the process ends before it listens. */
  port: Promise<number>;
  /** Resolves when the process has ended. */
  gone: Promise<void>;
  /** True once it has listened. */
  isUp(): boolean;
  /** The program ends it, so its exit is no error. */
  ending: boolean;
};

/** A starting process sends a message every second. After this silence the start has failed. */
const silentMsMax = 120_000;
/** A start with messages is bounded too. */
const startMsMax = 900_000;
const stopMsMax = 5_000;
const goneMsMax = 1_000;

/**
 * The largest request needs a third of this heap; beyond it this process ends, and the program does not. By default V8 lets
 * as much garbage grow as there are live objects. Earlier collection costs time that only the import waits for. It runs on
 * the main thread: helper threads would use every core at once, and with them the cores of other requests.
 */
const heapFlags = [
  '--max-old-space-size=1024',
  '--heap-growing-percent=40',
  '--max-semi-space-size=4',
  '--single-threaded-gc',
];

/** Flags for debugging or watching are for the program, not for this process. */
const ownFlags = process.execArgv.filter((flag) => !/^--(inspect|watch|expose-gc|max-)/.test(flag));

export const startChild = (settings: ImportSettings, log: Logger): Child => {
  const process = fork(new URL('./process.ts', import.meta.url), [], {
    // Beside the flags of this process, which let Node read the program.
    execArgv: [...ownFlags, ...heapFlags],
    // Standard output belongs to the command line; the log goes to standard error, like that of the program.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // A session of its own, whose priority can be lowered as a whole (niceness.ts).
    detached: true,
  });
  const gone = new Promise<void>((resolve) => {
    process.once('exit', () => resolve());
    // A process that could not be started has no exit.
    process.once('error', () => process.pid === undefined && resolve());
  });
  let up = false;
  const child: Child = { process, port: portOf(process, gone), gone, ending: false, isUp: () => up };
  child.port.then(
    () => {
      up = true;
    },
    () => undefined,
  );
  void gone.then(() => {
    if (!child.ending) log.error({ code: process.exitCode, signal: process.signalCode }, 'the import process has died');
  });
  child.port.catch((error: unknown) => {
    // A process that ended by itself was logged above.
    if (process.exitCode === null && process.signalCode === null && !child.ending)
      log.error({ err: error }, 'the import process did not start and is killed');
    process.kill('SIGKILL');
  });
  // Where no file can be opened the process is not made, and has no `send`; `gone` and `port` learn it from `error`.
  if (process.pid !== undefined) process.send(settings, () => undefined);
  return child;
};

const portOf = (process: ChildProcess, gone: Promise<void>): Promise<number> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      clearTimeout(silent);
      clearTimeout(tooLong);
      process.off('message', listen);
      reject(error);
    };
    const giveUp = (): void => fail(new Error('the import process does not start'));
    const tooLong = setTimeout(giveUp, startMsMax);
    let silent = setTimeout(giveUp, silentMsMax);
    const listen = (message: unknown): void => {
      const said = message as ChildMessage;
      clearTimeout(silent);
      if (!('port' in said)) {
        silent = setTimeout(giveUp, silentMsMax);
        return;
      }
      clearTimeout(tooLong);
      process.off('message', listen);
      resolve(said.port);
    };
    process.on('message', listen);
    process.once('error', fail);
    void gone.then(() => fail(new Error('the import process has ended')));
  });

/**
 * Waits a moment for the exit of a process whose connection broke. The system closes connections before it reports the exit,
 * and a caller may retry at once: that request needs the next process.
 */
export const endOf = async ({ gone }: Child): Promise<void> => {
  const over = new AbortController();
  await Promise.race([gone, pause(goneMsMax, over.signal)]);
  over.abort();
};

/** Lets running requests finish, within a bound. A process that is still starting has none. */
export const stopChild = async (child: Child): Promise<void> => {
  child.ending = true;
  const force = setTimeout(() => child.process.kill('SIGKILL'), stopMsMax);
  // The process reads this message only when it is up.
  await Promise.race([child.port.catch(() => undefined), child.gone]);
  if (child.process.connected) child.process.send('stop', () => undefined);
  await child.gone;
  clearTimeout(force);
};
