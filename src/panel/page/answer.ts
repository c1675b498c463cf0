/** The result of a handler: data that server/write-answer.ts turns into a response with the panel's headers. */
import type { Html } from './html.ts';

export type Flash = { tone: 'good' | 'bad'; text: string };

export type PageContent = {
  /** Text of the document title and of the only h1. */
  title: string;
  body: Html;
  /** Default 200. */
  status?: number;
  /** Scripts that only this page needs: names of files in src/panel/assets. */
  scripts?: readonly string[];
  cookies?: readonly string[];
  /**
   * The address that shows the page again, to which the choice of the language leads. Default: that of the request, and after
   * a POST that of the nearest page.
   */
  address?: string;
};

export type Answer =
  | ({ kind: 'page' } & PageContent)
  | { kind: 'fragment'; body: Html; status: number }
  | { kind: 'redirect'; to: string; flash: Flash | undefined; cookies: readonly string[] }
  | { kind: 'file'; name: string; type: string; body: string | Buffer | AsyncIterable<string | Buffer> }
  | { kind: 'events' }
  | { kind: 'notFound' };

export const page = (content: PageContent): Answer => ({ kind: 'page', ...content });

/** A part of a page, as the response to htmx. */
export const fragment = (body: Html, status = 200): Answer => ({ kind: 'fragment', body, status });

/** The answer to every change: 303 to a path of the panel (`/panel/…`), with a message that the next page shows. */
export const redirect = (to: string, flash?: Flash, cookies: readonly string[] = []): Answer => ({
  kind: 'redirect',
  to,
  flash,
  cookies,
});

/** A download; `name` is the file name. */
export const file = (name: string, type: string, body: string | Buffer | AsyncIterable<string | Buffer>): Answer => ({
  kind: 'file',
  name,
  type,
  body,
});

/** The object does not exist, or the user may not see it; both get the same answer. */
export const notFound = (): Answer => ({ kind: 'notFound' });
