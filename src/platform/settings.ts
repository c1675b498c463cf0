/** Kinds of settings that several features have. Values of the environment are texts. */
import { z } from 'zod';

/** Reads the digits of the environment. A blank, `null` or `[]` stays what it is and is refused: as a number it would be 0. */
export const asNumber = (value: unknown): unknown =>
  typeof value === 'string' && value.trim() !== '' ? Number(value) : value;

/** An integer from `min` to `max`. */
export const integer = (min: number, max: number) => z.preprocess(asNumber, z.number().int().min(min).max(max));

/** The same; `value` is the default. */
export const number = (min: number, max: number, value: number) => integer(min, max).default(value);

/** True for an address with a user or a password. Node fetches none, and quotes it in the error, which the log would show. */
export const hasLogin = (address: string): boolean => {
  const { username, password } = URL.parse(address) ?? {};
  return Boolean(username) || Boolean(password);
};

/** `value` is the default. */
export const onOff = (value: 'on' | 'off') => z.enum(['off', 'on']).default(value);
