/**
 * Pages that need no session: sign-in, one-time links, the explanation of refusals. The router checks the origin of
 * posted forms.
 */
import type { IncomingMessage } from 'node:http';
import type { LiveSession, StaffPorts } from '../ports/staff.ts';
import type { Texts } from '../texts/en/en.ts';
import type { Language } from '../texts/texts.ts';
import type { Answer } from './answer.ts';

export type Visit = {
  path: string;
  query: URLSearchParams;
  form: URLSearchParams;
  language: Language;
  texts: Texts;
  address: string;
  request: IncomingMessage;
  /** Undefined when the visitor is not signed in. */
  live: LiveSession | undefined;
  staff: StaffPorts;
};

export type PublicPage = {
  method: 'GET' | 'POST';
  path: string;
  handle: (visit: Visit) => Answer | Promise<Answer>;
};
