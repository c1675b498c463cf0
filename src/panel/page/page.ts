/**
 * A page or an action is data: method, path, roles, and a handler that maps a request (`View`) to an `Answer`. The application
 * checks session, role, restaurant and CSRF token before it calls the handler.
 */
import type { Ports } from '../ports/ports.ts';
import type { Role } from '../ports/role.ts';
import type { SignedInUser, Visitor } from '../ports/staff.ts';
import type { Texts } from '../texts/en/en.ts';
import type { Language } from '../texts/texts.ts';
import type { Answer } from './answer.ts';
import type { Html } from './html.ts';

type PageSession = {
  /** The public id of the session, not its token. */
  id: string;
};

export type View = {
  user: SignedInUser;
  session: PageSession;
  /** See LiveSession. */
  needsFactor: boolean;
  language: Language;
  texts: Texts;
  /** Path of the request, with /panel and without the query. */
  path: string;
  /** Values of the path's `:name` segments, decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Fields of the form; empty for GET. */
  form: URLSearchParams;
  ports: Ports;
  /** The actor of every change, as the audit records it. */
  actor: string;
  now: Date;
  visitor: Visitor;
  /** Source address of the request. */
  address: string;
  requestId: string;
  /** The request comes from htmx, which expects a part of a page (`fragment`). */
  wantsFragment: boolean;
  /** A hidden field that every form with method post must hold: `<form method="post">${view.csrfField}…`. */
  csrfField: Html;
};

/** Where a session is led that needs a second factor. */
export const secondFactorPath = '/panel/account/second-factor';

export type PageHandler = (view: View) => Answer | Promise<Answer>;

export type Page = {
  method: 'GET' | 'POST';
  /**
   * Below /panel, without a trailing slash: `/restaurants/:restaurant/keys`. A segment `:name` matches any text. The name
   * `restaurant` is special: an owner may name only one of their own restaurants; any other gets "page not found". So does
   * a contact who names a `client` of others.
   */
  path: string;
  roles: readonly Role[];
  /**
   * Label in the navigation; only roles that may open the page see it. A path with parameters goes into the second row of
   * the navigation, on pages that have the same parameters.
   */
  nav?: (texts: Texts) => string;
  /**
   * Names of the topics that parts of this page watch, all over one event stream. An element with
   * `hx-get="…" hx-trigger="sse:<topic>"` fetches itself again after each change.
   */
  topics?: readonly string[];
  /** Limit for the form's body; default 64 KiB. */
  bodyBytesMax?: number;
  /**
   * What opens while the session needs a second factor. `asks`: the page that explains it. `adds`: a page that adds one, for
   * accounts that have none. Default: neither.
   */
  secondFactor?: 'asks' | 'adds';
  handle: PageHandler;
};
