/**
 * Tells an open page that there are newer events. Only told, not fetched: each look at the audit is noted, so a page may not
 * look by itself.
 */
import { type Answer, fragment } from '../frame/answer.ts';
import { type Html, html } from '../frame/html.ts';
import type { Texts } from '../texts/texts.ts';

/** The page must name the topic. */
export const newsTopic = 'security-audit';

/** Stays empty until there are some. `href`: of the fragment that tells it. */
export const newsPlace = (href: string): Html =>
  html`<div id="news" role="status" hx-get="${href}" hx-trigger="sse:${newsTopic}"></div>`;

/** A link that shows them. Says nothing of the audit. */
export const newsLink = (texts: Texts, href: string): Answer =>
  fragment(html`<p><a class="button" href="${href}">${texts.security.news}</a></p>`);
