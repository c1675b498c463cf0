/** Pure: a duration as people write it: `90s`, `15m`, `2h`, `3d`, or several of these, the largest first: `1d12h`. */
import { dayMs, hourMs, minuteMs } from '#src/platform/clock.ts';

const form = /^(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,7})s)?$/;

export const durationRule = 'a duration such as 90s, 15m, 2h or 1d12h';

/** Milliseconds; undefined for another text. */
export const readDuration = (text: string): number | undefined => {
  const parts = text === '' ? null : form.exec(text);
  if (parts === null) return undefined;
  const [days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0));
  return (days ?? 0) * dayMs + (hours ?? 0) * hourMs + (minutes ?? 0) * minuteMs + (seconds ?? 0) * 1000;
};
