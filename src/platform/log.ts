/**
 * Structured log (pino, JSON lines on stderr; stdout belongs to the command line). No secret is ever passed to it.
 *
 * An outage repeats one error with every request and every attempt. The first line of a kind is written at once and whole;
 * those that follow are counted, and their number is written each minute until a minute has none of them.
 */
import { readFileSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { pino } from 'pino';
import { createRepeats } from './log-repeats.ts';

export type { Logger } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export type LogSettings = {
  level: LogLevel;
  /** What the process runs, as its lines name it. */
  role: string;
  /** Between two counts of repeated errors. */
  countEveryMs?: number;
  /** Default: standard error. */
  destination?: DestinationStream;
};

const errorSeverity = 50;
const countEveryMsDefault = 60_000;

/** Release of the program, as package.json has it. */
export const programVersion: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

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
      // Last line of defence: callers pass fields by name and none of these is meant to be among them.
      redact: {
        paths: ['authorization', 'cookie', '*.authorization', '*.cookie', 'secret', '*.secret', 'token', '*.token'],
        remove: true,
      },
    },
    destination ?? stream,
  );
  const count = (): void => {
    for (const { severity, message, fields } of repeats.take()) {
      if (severity >= errorSeverity) log.error(fields, message);
      else log.warn(fields, message);
    }
  };
  setInterval(count, countEveryMs ?? countEveryMsDefault).unref();
  // What was counted since the last minute would be lost with the process. Comes before the stream's own last flush.
  process.prependOnceListener('exit', () => {
    if (stream !== undefined && !isWritable()) mute(stream);
    count();
  });
  return log;
};

/** False for a terminal that was closed, also before the first line to it has failed. */
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
  // A terminal that was closed takes no line any more. That is no reason to end the program.
  stream.on('error', () => mute(stream));
  return stream;
};

/** The stream would try a write that can never succeed again and again, at the exit without end. */
const mute = (stream: StandardError): void => {
  const nothing = (): void => undefined;
  Object.assign(stream, { write: () => true, flush: nothing, flushSync: nothing, end: nothing, destroy: nothing });
};
