/**
 * Pages that need no session: sign-in, one-time links, the explanation of refusals. The origin of posted forms is checked.
 */
import type { LiveSession, StaffPorts, Visitor } from '../ports/staff.ts';
import type { Texts } from '../texts/en/en.ts';
import type { Language } from '../texts/texts.ts';
import type { Answer } from './answer.ts';

export type Visit = {
  path: string;
  query: URLSearchParams;
  form: URLSearchParams;
  language: Language;
  texts: Texts;
  visitor: Visitor;
  /** The cookie of a sign-in that is not complete. */
  pending: string | undefined;
  /** Undefined when the visitor is not signed in. */
  live: LiveSession | undefined;
  staff: StaffPorts;
};

export type PublicPage = {
  method: 'GET' | 'POST';
  path: string;
  handle: (visit: Visit) => Answer | Promise<Answer>;
};
