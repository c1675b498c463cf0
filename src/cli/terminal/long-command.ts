/** Progress and interruption of commands that may take minutes. */
import { onStop } from './on-stop.ts';
import type { Output } from './output.ts';
import { createProgressBar } from './progress-bar.ts';

/** A bar on a terminal, and nothing for scripts. */
export const showProgress = (output: Output): ReturnType<typeof createProgressBar> =>
  process.stderr.isTTY && !output.json
    ? createProgressBar(process.stderr)
    : { show: () => undefined, end: () => undefined };

/** Aborted by a stop, so that the command can remove what is not finished. */
export const abortOnSignal = (): AbortSignal => {
  const controller = new AbortController();
  onStop((signal) => controller.abort(new Error(`${signal}: the command was ended before it was done`)));
  return controller.signal;
};
