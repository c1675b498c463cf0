/** Pages for whoever is not signed in: sign-in and its ways around. The router has checked where a form comes from. */
import type { IncomingMessage } from 'node:http';
import type { LiveSession, StaffPorts } from '../ports/staff.ts';
import type { Texts } from '../texts/en.ts';
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
  /** Somebody who is signed in may come here too. */
  live: LiveSession | undefined;
  staff: StaffPorts;
};

export type PublicPage = {
  method: 'GET' | 'POST';
  path: string;
  handle: (visit: Visit) => Answer | Promise<Answer>;
};
