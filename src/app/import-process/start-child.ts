/**
 * The process for long work as its parent sees it: how it is started, when it can be asked, and how it is ended. A start
 * that takes long is waited for, since a second one would only have to do the same work again.
 */
import { type ChildProcess, fork } from 'node:child_process';
import type { Logger } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';
import type { ChildMessage, ImportSettings } from './messages.ts';

export type Child = {
  process: ChildProcess;
  /** The port that it listens on. Rejects when the process ends before. */
  port: Promise<number>;
  /** Resolves when the process has ended. */
  gone: Promise<void>;
  /** It listens, or did. */
  isUp(): boolean;
  /** The program ends it, so its end is no fault. */
  ending: boolean;
};

/** A process that starts says so every second; one that has been silent for so long does not start any more. */
const silentMsMax = 120_000;
/** Also one that goes on saying so is not waited for without end. */
const startMsMax = 900_000;
const stopMsMax = 5_000;
const goneMsMax = 1_000;

/**
 * The largest request needs a third of this: beyond it the process ends, and the program does not. Left to itself V8 lets
 * as much garbage gather as there are living objects; collecting earlier costs time that nobody else waits for. It collects
 * on the one thread: helpers would take every core at once, and with them those of the requests that are answered meanwhile.
 */
const heapFlags = [
  '--max-old-space-size=1024',
  '--heap-growing-percent=40',
  '--max-semi-space-size=4',
  '--single-threaded-gc',
];

/** Flags for debugging or watching are meant for the program, not for this process. */
const ownFlags = process.execArgv.filter((flag) => !/^--(inspect|watch|expose-gc|max-)/.test(flag));

export const startChild = (settings: ImportSettings, log: Logger): Child => {
  const process = fork(new URL('./process.ts', import.meta.url), [], {
    // Beside what this process was started with: the flags that let Node read the program.
    execArgv: [...ownFlags, ...heapFlags],
    // Standard output belongs to the command line; the log goes where the program's goes.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // A session of its own, which can be lowered as a whole (niceness.ts).
    detached: true,
  });
  const gone = new Promise<void>((resolve) => {
    process.once('exit', () => resolve());
    // One that could not be started has no exit.
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
    if (!child.ending)
      log.error({ code: process.exitCode, signal: process.signalCode }, 'the process for long work has died');
  });
  child.port.catch((error: unknown) => {
    // One that ended by itself has been logged above.
    if (process.exitCode === null && process.signalCode === null && !child.ending)
      log.error({ err: error }, 'the process for long work is given up');
    process.kill('SIGKILL');
  });
  process.send(settings, () => undefined);
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
    const giveUp = (): void => fail(new Error('the process for long work does not start'));
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
    void gone.then(() => fail(new Error('the process for long work has ended')));
  });

/**
 * Waits a moment for the end of a process whose connection broke. The system closes connections before it tells of the end,
 * and a caller that gets its answer now may ask again at once: that request is for the next process.
 */
export const endOf = async ({ gone }: Child): Promise<void> => {
  const over = new AbortController();
  await Promise.race([gone, pause(goneMsMax, over.signal)]);
  over.abort();
};

/** Lets what runs finish, within a bound. A process that still starts has nothing to finish. */
export const stopChild = async (child: Child): Promise<void> => {
  child.ending = true;
  const force = setTimeout(() => child.process.kill('SIGKILL'), stopMsMax);
  // The process reads this only when it is up.
  await Promise.race([child.port.catch(() => undefined), child.gone]);
  if (child.process.connected) child.process.send('stop', () => undefined);
  await child.gone;
  clearTimeout(force);
};
