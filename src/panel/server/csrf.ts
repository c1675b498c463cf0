/** The CSRF token that every form of a session must contain. */
import { timingSafeEqual } from 'node:crypto';
import { type Html, html } from '../page/html.ts';
import type { LiveSession } from '../ports/staff.ts';

export const csrfFieldOf = ({ csrfToken }: LiveSession): Html =>
  html`<input type="hidden" name="csrf" value="${csrfToken}">`;

/** Compares in constant time. */
export const isCsrfToken = (given: string | null | undefined, expected: string): boolean => {
  const left = Buffer.from(given ?? '');
  const right = Buffer.from(expected);
  return left.length === right.length && timingSafeEqual(left, right);
};
