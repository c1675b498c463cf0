/**
 * Structured log (pino, JSON lines on stderr; stdout belongs to the command line). No secret is ever passed to it.
 *
 * An outage repeats one error with every request and every attempt. The first line of a kind is written at once. Repetitions
 * are counted, and their number is written each minute until a minute has none.
 */
import { writeSync } from 'node:fs';
import { hostname } from 'node:os';
import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { pino } from 'pino';
import { programVersion } from './files/release.ts';
import { createRepeats } from './log-repeats.ts';

export type { Logger } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export type LogSettings = {
  level: LogLevel;
  /** The role of the process. */
  role: string;
  /** The interval between two counts of repeated errors. */
  countEveryMs?: number;
  /** Default: standard error. */
  destination?: DestinationStream;
};

const errorSeverity = 50;
const countEveryMsDefault = 60_000;

export const createLog = ({ level, role, countEveryMs, destination }: LogSettings): Logger => {
  if (level === 'silent') return pino({ level });
  const repeats = createRepeats();
  const hooks: LoggerOptions['hooks'] = {
    logMethod(args, method, severity) {
      if (repeats.isNew(args, severity)) method.apply(this, args);
    },
  };
  const stream = destination === undefined ? standardError() : undefined;
  const log = pino(
    {
      level,
      base: { role, pid: process.pid, host: hostname(), version: programVersion },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks,
      // Last line of defence: callers pass fields by name, and none of these should be among them.
      redact: {
        paths: ['authorization', 'cookie', '*.authorization', '*.cookie', 'secret', '*.secret', 'token', '*.token'],
        remove: true,
      },
    },
    destination ?? stream,
  );
  const count = (): void => {
    for (const { severity, message, fields } of repeats.flush()) {
      if (severity >= errorSeverity) log.error(fields, message);
      else log.warn(fields, message);
    }
  };
  setInterval(count, countEveryMs ?? countEveryMsDefault).unref();
  // The counts of the last minute would be lost with the process. This runs before the last flush of the stream.
  process.prependOnceListener('exit', () => {
    if (stream !== undefined && !isWritable()) mute(stream);
    count();
  });
  return log;
};

/** False for a closed terminal, even before the first write to it has failed. */
const isWritable = (): boolean => {
  try {
    writeSync(2, '');
    return true;
  } catch {
    return false;
  }
};

type StandardError = ReturnType<typeof pino.destination>;

const standardError = (): StandardError => {
  const stream = pino.destination({ fd: 2, sync: false, minLength: 0 });
  // A closed terminal accepts no line. That is no reason to end the program.
  stream.on('error', () => mute(stream));
  return stream;
};

/** The stream would retry a write that can never succeed, at the exit without end. */
const mute = (stream: StandardError): void => {
  const nothing = (): void => undefined;
  Object.assign(stream, { write: () => true, flush: nothing, flushSync: nothing, end: nothing, destroy: nothing });
};
