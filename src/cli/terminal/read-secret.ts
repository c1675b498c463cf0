/** A secret that a person types: nothing of it is shown. */

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** The prompt goes to standard error, so that standard output has the result alone. Rejects when Ctrl-C ends it. */
export const readSecret = async (prompt: string): Promise<string> => {
  process.stderr.write(prompt);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  const ended = new AbortController();
  lines.once('SIGINT', () => ended.abort(new Error('nothing was kept')));
  try {
    return await lines.question('', { signal: ended.signal });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
};
