/** The CSRF token that every form of a session must contain. */
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { type Html, html } from '../page/html.ts';
import type { LiveSession } from '../ports/staff.ts';

export const csrfFieldOf = ({ csrfToken }: LiveSession): Html =>
  html`<input type="hidden" name="csrf" value="${csrfToken}">`;

export const isCsrfToken = (given: string | null | undefined, expected: string): boolean =>
  equalInConstantTime(given ?? '', expected);
