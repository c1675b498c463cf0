import { isExact } from '#src/platform/http/decimal.ts';
import { UsageError } from './output.ts';

/** The value of an option that is a number, with all the digits that were given; throws UsageError with its name. */
export const toNumber = (option: string, text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`${option} must be a number, not ${text}`);
  if (!isExact(text.trim())) throw new UsageError(`${option} must have fewer digits: ${text} would be rounded`);
  return value;
};
