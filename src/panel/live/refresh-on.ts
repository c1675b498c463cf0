/** Attributes of an element that fetches itself again when a topic has changed. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';

/** The path of the page with its query. */
export const addressOf = ({ path, query }: Pick<View, 'path' | 'query'>): string =>
  query.size === 0 ? path : `${path}?${query}`;

/**
 * `id`: of the element; `path`: of its page, with the query; `topic`: one of the page's `topics`. The script fetches the
 * whole page and takes the element with this id out of it, so one handler renders the element in both cases.
 */
export const refreshOn = (id: string, path: string, topic: string): Html =>
  html`hx-get="${path}" hx-trigger="sse:${topic}" hx-select="#${id}" hx-target="this" hx-swap="outerHTML"`;
