/** The entry of the import process. Loading the program is work too, so the priority is lowered first. */

import type { ChildMessage, ImportSettings } from './messages.ts';
import { lowerProcess } from './niceness.ts';

const startingEveryMs = 1_000;

const send = (message: ChildMessage): void => void process.send?.(message, () => undefined);

lowerProcess();
// Ctrl-C reaches every process of a terminal. The program ends this process itself, since it may still need it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// The program has ended, even if it was killed: no request can come any more.
process.once('disconnect', () => process.exit());
process.once('message', (settings: ImportSettings) => {
  // A busy machine may take minutes to load the program. These messages show the program that the start continues.
  const starting = setInterval(() => send({ starting: true }), startingEveryMs);
  void import('./serve-core.ts')
    .then(({ serveCore }) => serveCore(settings, send))
    .finally(() => clearInterval(starting));
});
