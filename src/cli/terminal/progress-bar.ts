/** A progress bar on stderr, redrawn in place, so that stdout stays readable for scripts. */

const width = 30;

/** `percent` 0 to 100. */
const barText = (percent: number): string => {
  const full = Math.round((width * percent) / 100);
  return `[${'#'.repeat(full)}${' '.repeat(width - full)}] ${String(percent).padStart(3)} %`;
};

export const createProgressBar = (out: {
  write(text: string): unknown;
}): { show(percent: number): void; end(): void } => {
  let shown = -1;
  return {
    show: (percent) => {
      if (percent <= shown) return;
      shown = percent;
      out.write(`\r${barText(percent)}`);
    },
    end: () => {
      if (shown >= 0) out.write('\n');
    },
  };
};
