/**
 * The start of the process for long work. Loading the program is long work too, so the priority comes first and all the rest
 * after it.
 */

import type { ChildMessage, ImportSettings } from './messages.ts';
import { lowerProcess } from './niceness.ts';

const startingEveryMs = 1_000;

const send = (message: ChildMessage): void => void process.send?.(message, () => undefined);

lowerProcess();
// Ctrl-C reaches every process of a terminal; when this one ends is the program's business, which may still need it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// Also when the program was killed: nobody is there to ask for anything.
process.once('disconnect', () => process.exit());
process.once('message', (settings: ImportSettings) => {
  // A busy machine may take minutes to load the program: while it does, the parent knows that it goes on.
  const starting = setInterval(() => send({ starting: true }), startingEveryMs);
  void import('./serve-core.ts')
    .then(({ serveCore }) => serveCore(settings, send))
    .finally(() => clearInterval(starting));
});
