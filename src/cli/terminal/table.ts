/** Lists for a person at a terminal: aligned columns with a heading. */
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { visibleValue } from './visible.ts';

type Item = Readonly<Record<string, unknown>>;

/** Values that a person looks for first. */
const colours: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  ...Object.fromEntries(['active', 'ok', 'succeeded', 'delivered'].map((word) => [word, 'green'])),
  ...Object.fromEntries(['quarantined', 'retrying', 'warned', 'pending'].map((word) => [word, 'yellow'])),
  ...Object.fromEntries(['revoked', 'disabled', 'failed', 'failing', 'expired'].map((word) => [word, 'red'])),
};

/**
 * The lines of the table. Undefined: a line would be wider than the terminal, and a list is easier to read. Columns without a
 * value are left out. `toText`: form of a value. Colours follow NO_COLOR and the terminal.
 */
export const tableOf = (
  items: readonly Item[],
  toText: (value: unknown) => string,
  stream: WriteStream,
): string[] | undefined => {
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))];
  const cells = items.map((item) => names.map((name) => visibleValue(toText(item[name]))));
  const shown = names.map((_name, index) => index).filter((index) => cells.some((row) => row[index] !== ''));
  const widths = shown.map((index) =>
    Math.max(names[index]?.length ?? 0, ...cells.map((row) => row[index]?.length ?? 0)),
  );
  if (widths.reduce((sum, width) => sum + width + 2, -2) > stream.columns) return undefined;
  const line = (texts: readonly (string | undefined)[], paint: (padded: string, text: string) => string): string =>
    shown
      .map((index, at) => paint((texts[index] ?? '').padEnd(widths[at] ?? 0), texts[index] ?? ''))
      .join('  ')
      .trimEnd();
  const painted = (style: Parameters<typeof styleText>[0], text: string): string => styleText(style, text, { stream });
  return [
    line(names, (padded) => painted('bold', padded)),
    ...cells.map((row) =>
      line(row, (padded, text) => (colours[text] === undefined ? padded : painted(colours[text], padded))),
    ),
  ];
};
