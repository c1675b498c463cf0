import { UsageError } from './output.ts';

/** The value of an option that is a number; throws UsageError with its name. */
export const toNumber = (option: string, text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`${option} must be a number, not ${text}`);
  return value;
};
