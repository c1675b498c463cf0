/**
 * Structured log (pino, JSON lines on stderr; stdout belongs to the command line). No secret is ever passed to it.
 *
 * An outage repeats one error with every request and every attempt. The first line of a kind is written at once. Repetitions
 * are counted, and their number is written each minute until a minute has none.
 */
import { hostname } from 'node:os';
import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { pino } from 'pino';
import { programVersion } from './files/release.ts';
import { createRepeats } from './log/repeats.ts';
import { standardError } from './log/standard-error.ts';

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
    destination ?? standardError(),
  );
  const count = (): void => {
    for (const { severity, message, fields } of repeats.flush()) {
      if (severity >= errorSeverity) log.error(fields, message);
      else log.warn(fields, message);
    }
  };
  setInterval(count, countEveryMs ?? countEveryMsDefault).unref();
  // The counts of the last minute would be lost with the process. This runs before the last write of the output.
  process.prependOnceListener('exit', count);
  return log;
};
