/** The CSRF token that every form of a session must contain. */
import { timingSafeEqual } from 'node:crypto';

/** Compares in constant time. */
export const isCsrfToken = (given: string | null | undefined, expected: string): boolean => {
  const left = Buffer.from(given ?? '');
  const right = Buffer.from(expected);
  return left.length === right.length && timingSafeEqual(left, right);
};
