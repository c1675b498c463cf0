/**
 * Tells an open page that there is something newer. Only told, not fetched, where each look is noted in the audit: there a
 * page may not look by itself.
 */
import { type Answer, fragment } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';

/** Stays empty until there is something. `href`: of the fragment that tells it; `topics`: among those of the page. */
export const newsPlace = (href: string, ...topics: readonly string[]): Html =>
  html`<div id="news" role="status" hx-get="${href}" hx-trigger="${topics.map((topic) => `sse:${topic}`).join(', ')}"></div>`;

/** A link that shows it. Says nothing of what is newer. */
export const newsLink = (text: string, href: string): Answer =>
  fragment(html`<p><a class="button" href="${href}">${text}</a></p>`);
