import { UsageError } from './output.ts';

/** The time in an option; undefined when it was not given. `name`: of the option, for the error. */
export const toTime = (name: string, text: string | undefined): Date | undefined => {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new UsageError(`${name} is a time like 2026-05-01T10:00:00Z`);
  return time;
};
