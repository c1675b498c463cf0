/** A request of the panel as Koa hands it from step to step. */
import type { Middleware, ParameterizedContext } from 'koa';
import type { LiveSession } from '../ports/staff.ts';
import type { Texts } from '../texts/en/en.ts';
import type { Language } from '../texts/texts.ts';

/** What the steps have found out about a request so far; `begin` sets every member. */
export type PanelState = {
  requestId: string;
  language: Language;
  texts: Texts;
  query: URLSearchParams;
  /** Undefined when the visitor is not signed in. */
  live: LiveSession | undefined;
  /** Values of the path's `:name` segments, decoded. */
  params: Readonly<Record<string, string>>;
  /** Fields of the form; empty for GET. */
  form: URLSearchParams;
  /** Address of the page's event stream. */
  streamUrl: string | undefined;
};

export type PanelContext = ParameterizedContext<PanelState>;

/** Koa middleware. It calls `next`, or it answers, or it throws. */
export type Step = Middleware<PanelState>;

/** HEAD is answered like GET, without the body. */
export const isRead = ({ method }: PanelContext): boolean => method === 'GET' || method === 'HEAD';

export const isHtmx = (ctx: PanelContext): boolean => ctx.get('hx-request') === 'true';

/** The session of a request that has passed `requireSession`. Throws when there is none. */
export const sessionOf = ({ state: { live } }: PanelContext): LiveSession => {
  if (live === undefined) throw new Error('a page was reached without a session');
  return live;
};
