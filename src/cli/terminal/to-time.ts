import { UsageError } from './output.ts';

/** The time in an option; undefined when it was not given. `name`: of the option, for the error. */
export const toTime = (name: string, text: string | undefined): Date | undefined => {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new UsageError(`${name} is a time like 2026-05-01T10:00:00Z`);
  return time;
};

/** The time in `--expires`. Its offset is required: without it the end would depend on the zone of this machine. */
export const expiresTime = (text: string): Date => {
  const date = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(date.getTime()))
    throw new UsageError('--expires takes a time such as 2026-03-01T19:30:00+01:00');
  return date;
};
