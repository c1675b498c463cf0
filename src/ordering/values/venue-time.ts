/**
 * Times in answers: a legacy date in the API time zone of the restaurant, its ISO form with the offset of the venue,
 * and the days of date filters. Zones are IANA names. Formatters are cached, because creating one is slow.
 */
import { dayMs, hourMs, minuteMs } from '#src/platform/clock.ts';

const formatters = new Map<string, Intl.DateTimeFormat>();

const formatterOf = (zone: string): Intl.DateTimeFormat => {
  let formatter = formatters.get(zone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    formatters.set(zone, formatter);
  }
  return formatter;
};

type Parts = { year: string; month: string; day: string; hour: string; minute: string; second: string };

const partsIn = (date: Date, zone: string): Parts => {
  const parts: Parts = { year: '', month: '', day: '', hour: '', minute: '', second: '' };
  for (const { type, value } of formatterOf(zone).formatToParts(date)) {
    if (type in parts) parts[type as keyof Parts] = value;
  }
  parts.year = parts.year.padStart(4, '0');
  return parts;
};

/** True for an IANA name. An offset such as +01:00, which Intl accepts too, is refused. */
export const isTimeZone = (zone: string): boolean => {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    formatterOf(zone);
    return true;
  } catch {
    return false;
  }
};

/** `2026-03-01 19:30:00` in `zone`; null stays null. */
export const legacyDate = (date: Date | null, zone: string): string | null =>
  date === null ? null : wallClock(date, zone).replace('T', ' ');

/** `2026-03-01T19:30:00+01:00` in `zone`, whole seconds; null stays null. */
export const isoDate = (date: Date | null, zone: string): string | null => {
  if (date === null) return null;
  const minutes = offsetMinutes(date, zone);
  const sign = minutes < 0 ? '-' : '+';
  const pad = (value: number): string => String(value).padStart(2, '0');
  const offset = `${sign}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`;
  return `${wallClock(date, zone)}${offset}`;
};

/** `2026-03-01T19:30:00` in `zone`. */
const wallClock = (date: Date, zone: string): string => {
  const ms = date.getTime();
  if (isPlain(ms)) return new Date(ms + offsetMinutes(date, zone) * minuteMs).toISOString().slice(0, 19);
  const { year, month, day, hour, minute, second } = partsIn(date, zone);
  return `${year}-${month}-${day}T${hour}:${minute}:${second}`;
};

const [plainFromMs, plainBeforeMs] = [Date.UTC(1980, 0), Date.UTC(9999, 0)];

/** In these years every offset is a whole number of minutes, and no zone changes its offset twice within a day. */
const isPlain = (ms: number): boolean => ms >= plainFromMs && ms < plainBeforeMs;

/** Offsets by zone and UTC day; null when the offset changes on that day. Asking Intl takes a hundred times as long. */
const offsets = new Map<string, Map<number, number | null>>();
const daysMax = 2_000;

/** Minutes that `zone` is ahead of UTC at `date`. */
const offsetMinutes = (date: Date, zone: string): number => {
  const ms = date.getTime();
  if (!isPlain(ms)) return askOffset(date, zone);
  const days = offsets.get(zone) ?? new Map<number, number | null>();
  offsets.set(zone, days);
  const day = Math.floor(ms / dayMs);
  let known = days.get(day);
  if (known === undefined) {
    const [first, last] = [askOffset(new Date(day * dayMs), zone), askOffset(new Date((day + 1) * dayMs), zone)];
    known = first === last ? first : null;
    if (days.size >= daysMax) days.clear();
    days.set(day, known);
  }
  return known ?? askOffset(date, zone);
};

/** Long before the first change of a clock, when every zone had its local mean time. */
const localMeanMs = Date.UTC(1000, 0);

/** An earlier moment has the offset of that time: `Date.UTC` takes the years 0 to 99 for 1900 to 1999. */
const askOffset = (date: Date, zone: string): number => {
  const ms = Math.max(date.getTime(), localMeanMs);
  const { year, month, day, hour, minute, second } = partsIn(new Date(ms), zone);
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  return Math.round((local - Math.floor(ms / 1000) * 1000) / 60_000);
};

/** First instant of the day `YYYY-MM-DD` in `zone`. */
export const startOfDay = (day: string, zone: string): Date => firstInstant(new Date(`${day}T00:00:00Z`), zone);

/** First instant after the day `YYYY-MM-DD` in `zone`: the exclusive end of an inclusive day filter. */
export const endOfDay = (day: string, zone: string): Date =>
  firstInstant(new Date(new Date(`${day}T00:00:00Z`).getTime() + 24 * hourMs), zone);

/**
 * The moment at which the clocks in `zone` showed the time that they show at `date`, so many calendar days before. It is not that
 * number of times 24 hours where the clocks changed meanwhile.
 */
export const daysBefore = (date: Date, days: number, zone: string): Date =>
  firstInstant(new Date(date.getTime() + offsetMinutes(date, zone) * minuteMs - days * dayMs), zone);

/**
 * `local`: a local time, such as midnight of a day, as if the zone were UTC. Offsets lie between -12 and +14 hours, so the
 * offsets just outside that span are those before and after a clock change near it. If the local time is skipped, the
 * earlier candidate still shows an earlier one; if it happens twice, the earlier one counts.
 */
const firstInstant = (local: Date, zone: string): Date => {
  const shift = (offset: number): number => local.getTime() - offset * minuteMs;
  const before = shift(offsetMinutes(new Date(local.getTime() - 15 * hourMs), zone));
  const after = shift(offsetMinutes(new Date(local.getTime() + 13 * hourMs), zone));
  const earlier = Math.min(before, after);
  const shown = earlier + offsetMinutes(new Date(earlier), zone) * minuteMs;
  return new Date(shown < local.getTime() ? Math.max(before, after) : earlier);
};
