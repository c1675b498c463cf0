/** Kinds of settings that several features have. Values of the environment are texts. */
import { z } from 'zod';

/** An integer from `min` to `max`; `value` is the default. */
export const number = (min: number, max: number, value: number) =>
  z.coerce.number().int().min(min).max(max).default(value);

/** True for an address with a user or a password. Node fetches none, and quotes it in the error, which the log would show. */
export const hasLogin = (address: string): boolean => {
  const { username, password } = URL.parse(address) ?? {};
  return Boolean(username) || Boolean(password);
};

/** `value` is the default. */
export const onOff = (value: 'on' | 'off') => z.enum(['off', 'on']).default(value);
