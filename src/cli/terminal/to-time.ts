import { isDay } from '#src/platform/clock.ts';
import { UsageError } from './output.ts';

/** ISO 8601: a day alone, or with a time, with or without an offset. */
const timeForm = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** Undefined for another form, and for a day that does not exist: `Date` takes 31 November for 1 December. */
const readTime = (text: string): { time: Date; hasOffset: boolean } | undefined => {
  const [, day = '', offset] = timeForm.exec(text) ?? [];
  const time = new Date(text);
  return isDay(day) && !Number.isNaN(time.getTime()) ? { time, hasOffset: offset !== undefined } : undefined;
};

/** The time in an option; undefined when it was not given. `name`: of the option, for the error. */
export const toTime = (name: string, text: string | undefined): Date | undefined => {
  if (text === undefined) return undefined;
  const read = readTime(text);
  if (read === undefined) throw new UsageError(`${name} is a time like 2026-05-01T10:00:00Z`);
  return read.time;
};

/** A time whose offset is required: without it the time would depend on the zone of this machine. `what`: for the error. */
export const timeWithOffset = (what: string, text: string): Date => {
  const read = readTime(text);
  if (read?.hasOffset !== true) throw new UsageError(`${what} a time with offset, such as 2026-03-01T19:30:00+01:00`);
  return read.time;
};

/** The time in `--expires`. */
export const expiresTime = (text: string): Date => timeWithOffset('--expires takes', text);
