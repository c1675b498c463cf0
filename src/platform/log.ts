/** Structured log (pino, JSON lines on stderr; stdout belongs to the command line). No secret is ever passed to it. */

import type { Logger } from 'pino';
import { pino } from 'pino';

export type { Logger } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export const createLog = (level: LogLevel): Logger =>
  pino(
    {
      level,
      base: null,
      // Last line of defence: callers pass fields by name and none of these is meant to be among them.
      redact: {
        paths: ['authorization', 'cookie', '*.authorization', '*.cookie', 'secret', '*.secret', 'token', '*.token'],
        remove: true,
      },
    },
    pino.destination({ fd: 2, sync: false, minLength: 0 }),
  );
