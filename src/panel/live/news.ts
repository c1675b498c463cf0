/**
 * A link that appears on an open page when there is newer data. It is for pages whose every view is recorded in the audit:
 * such a page must not fetch its data again by itself.
 */
import { type Answer, fragment } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';

/**
 * An empty element until a topic changes. `href`: of the fragment with the link; `topics`: some of the page's topics.
 */
export const newsSlot = (href: string, ...topics: readonly string[]): Html =>
  html`<div id="news" role="status" hx-get="${href}" hx-trigger="${topics.map((topic) => `sse:${topic}`).join(', ')}"></div>`;

/** The link. It contains nothing of the newer data. */
export const newsLink = (text: string, href: string): Answer =>
  fragment(html`<a class="button" href="${href}">${text}</a>`);
