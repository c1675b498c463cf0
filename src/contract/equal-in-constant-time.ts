import { timingSafeEqual } from 'node:crypto';

/** The time it takes reveals the length of the values and nothing else. Texts are compared as UTF-8. */
export const equalInConstantTime = (left: string | Uint8Array, right: string | Uint8Array): boolean => {
  const [one, other] = [bytesOf(left), bytesOf(right)];
  return one.length === other.length && timingSafeEqual(one, other);
};

const bytesOf = (value: string | Uint8Array): Uint8Array => (typeof value === 'string' ? Buffer.from(value) : value);
