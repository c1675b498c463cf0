/**
 * A page or an action is data: method, path, who may, and a function from what was asked to what is answered. The router
 * has checked session, role, restaurant and CSRF token before the function runs.
 */
import type { IncomingMessage } from 'node:http';
import type { Ports } from '../ports/ports.ts';
import type { Role } from '../ports/role.ts';
import type { SignedInUser } from '../ports/staff.ts';
import type { Texts } from '../texts/en.ts';
import type { Language } from '../texts/texts.ts';
import type { Answer } from './answer.ts';
import type { Html } from './html.ts';

export type PageSession = {
  /** Names it; opens nothing. */
  id: string;
};

export type View = {
  user: SignedInUser;
  session: PageSession;
  language: Language;
  texts: Texts;
  /** Path as it was asked for, with /panel and without the query. */
  path: string;
  /** What stands where the page's path has `:name`, decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Fields of the form; empty for GET. */
  form: URLSearchParams;
  ports: Ports;
  /** For every change: the audit names the person by it. */
  actor: string;
  now: Date;
  /** Source address of the request. */
  address: string;
  request: IncomingMessage;
  requestId: string;
  /** htmx asks for a part of a page (`fragment`). */
  wantsFragment: boolean;
  /** A hidden field that every form with method post must hold: `<form method="post">${view.csrfField}…`. */
  csrfField: Html;
};

export type PageHandler = (view: View) => Answer | Promise<Answer>;

export type Page = {
  method: 'GET' | 'POST';
  /**
   * Below /panel, without a slash at the end: `/restaurants/:restaurant/keys`. A segment `:name` takes anything. The name
   * `restaurant` is special: for owners it must be one of theirs, else the answer is that of a page that does not exist.
   */
  path: string;
  roles: readonly Role[];
  /**
   * Shows the page in the navigation of the roles that may see it. A path with parameters is shown as a second row where
   * the page that is shown has the same parameters.
   */
  nav?: (texts: Texts) => string;
  /**
   * Names of topics that parts of this page watch, over one stream for the page: an element with
   * `hx-get="…" hx-trigger="sse:<topic>"` fetches itself again after each change.
   */
  topics?: readonly string[];
  /** Body of the form; default 64 KiB. */
  bodyBytesMax?: number;
  handle: PageHandler;
};
