/** Attributes of a part of a page that fetches itself again when a topic has changed. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';

/** Where a page is, with its query. */
export const addressOf = ({ path, query }: Pick<View, 'path' | 'query'>): string =>
  query.size === 0 ? path : `${path}?${query}`;

/**
 * `id`: that of the element; `path`: of the page that it is on, with its query. The page is fetched and the element of this
 * id taken out of it, so that there is one place that makes it. `topic`: one of the page's `topics`.
 */
export const live = (id: string, path: string, topic: string): Html =>
  html`hx-get="${path}" hx-trigger="sse:${topic}" hx-select="#${id}" hx-target="this" hx-swap="outerHTML"`;
