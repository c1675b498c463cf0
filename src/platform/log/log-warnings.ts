/** Warnings of Node and of libraries, such as deprecations, as lines of the log. Node itself would print them as plain text. */
import type { Logger } from 'pino';

export const logWarnings = (log: Logger): void => {
  // The listener of Node that prints them.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, 'Node or a library warns'));
};
