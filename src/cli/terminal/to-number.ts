import { isExact } from '#src/platform/http/decimal.ts';
import { UsageError } from './output.ts';

/** The exact number in an option. Throws UsageError with the name of the option. */
export const toNumber = (option: string, text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`${option} must be a number, not ${text}`);
  if (!isExact(text.trim())) throw new UsageError(`${option} must have fewer digits: ${text} would be rounded`);
  return value;
};
