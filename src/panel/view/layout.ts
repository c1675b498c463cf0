/** The document around every page: title, navigation of the role, message, landmarks. */

import type { Flash, PageContent } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { SignedInUser } from '../ports/staff.ts';
import type { Texts } from '../texts/en/en.ts';
import type { Language } from '../texts/texts.ts';
import { languages } from '../texts/texts.ts';
import { breadcrumb, type Crumbs } from './breadcrumb.ts';
import { breakable } from './breakable.ts';
import { findForm } from './find-form.ts';

export type NavItem = { path: string; label: string; isCurrent: boolean };

/**
 * Maps the name of a file in src/panel/assets to its path, `/panel/assets/frame.3f2a….css`. Throws for an unknown name.
 */
export type AssetPaths = { pathOf(name: string): string };

type Frame = {
  assets: AssetPaths;
  language: Language;
  texts: Texts;
  path: string;
  /** Shows the page again, for the choice of the language. */
  address: string;
  flash: Flash | undefined;
  /** Undefined when the visitor is not signed in. */
  signedIn:
    | {
        user: Pick<SignedInUser, 'email' | 'role'>;
        csrfToken: string;
        csrfField: Html;
        nav: readonly NavItem[];
        /** Pages about the same object as this one, or of the same group. */
        subNav: readonly NavItem[];
        others: readonly NavItem[];
        /** Of a page about a restaurant. */
        crumbs: Crumbs | undefined;
        /** Address of the page's event stream; undefined when it watches no topic. */
        streamUrl: string | undefined;
      }
    | undefined;
};

/**
 * Settings of htmx: no eval, no inline script or style, no other host. Its history cache is off, because cached pages would
 * outlive the session. A 422 is swapped in like a success, because it contains the form with its error messages.
 */
const htmxConfig = JSON.stringify({
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
  timeout: 30_000,
  responseHandling: [
    { code: '204', swap: false },
    { code: '[23]..', swap: true },
    { code: '422', swap: true },
    { code: '[45]..', swap: false, error: true },
  ],
});

export const layout = (frame: Frame, content: PageContent): Html => {
  const { assets, language, texts, path, signedIn } = frame;
  const t = texts.frame;
  const scripts = ['htmx.js', 'htmx-sse.js', 'panel.js', 'charts.js', ...(content.scripts ?? [])];
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<title>${content.title} · Orderpass</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="htmx-config" content="${htmxConfig}">
<link rel="icon" href="${assets.pathOf('mark.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.pathOf('panel.css')}">
${scripts.map((name) => html`<script src="${assets.pathOf(name)}" defer></script>\n`)}</head>
<body${signedIn && html` hx-headers="${JSON.stringify({ 'x-csrf-token': signedIn.csrfToken })}"`} data-language="${language}" data-failed="${t.requestFailed}" data-copied="${t.copied}">
<a class="skip" href="#main">${t.skip}</a>
<header class="top">
<a class="brand" href="/panel"><img src="${assets.pathOf('mark.svg')}" alt="" width="24" height="24">Orderpass</a>
${
  signedIn === undefined
    ? html`<div class="who">${languageChoice(frame)}</div>`
    : html`<button type="button" class="menu-button" popovertarget="menu">${t.menu}</button>
<div id="menu" class="menu" popover>${mainNavigation(texts, signedIn.nav)}${sectionInMenu(texts, signedIn.subNav)}${findForm(texts, signedIn.user.role)}${accountMenu(frame, signedIn)}</div>`
}
</header>
${signedIn && signedIn.subNav.length > 0 && subNavigation(texts, signedIn.subNav)}
<main id="main" tabindex="-1" data-area="${areaOf(path)}"${signedIn && stream(signedIn.streamUrl)}>
${signedIn?.crumbs && breadcrumb(texts, signedIn.crumbs, path)}${frame.flash && message(frame.flash)}
<h1>${content.title.includes('@') ? breakable(content.title) : content.title}</h1>
${content.body}
${signedIn?.streamUrl !== undefined && html`<div hx-get="/panel" hx-trigger="sse:signed-out" hx-swap="none" hidden></div>`}
</main>
<div id="toast" class="toast" role="status" aria-live="polite"></div>
</body>
</html>
`;
};

/** The area whose style sheet (assets/<area>.css) applies to the page. */
const areaOf = (path: string): string =>
  path === '/panel'
    ? 'overview'
    : (areaPaths.find(([start]) => path === start || path.startsWith(`${start}/`))?.[1] ?? 'frame');

const areaPaths = [
  ['/panel/restaurants', 'restaurant'],
  ['/panel/clients', 'support'],
  ['/panel/portal', 'support'],
  ['/panel/support', 'support'],
  ['/panel/security', 'security'],
] as const;

export const message = ({ tone, text }: Flash): Html =>
  html`<p class="message ${tone}" role="${tone === 'bad' ? 'alert' : 'status'}">${text}</p>`;

const link = ({ path, label, isCurrent }: NavItem): Html =>
  html`<a href="${path}"${isCurrent && html` aria-current="page"`}>${label}</a>`;

const listOf = (items: readonly NavItem[]): Html[] => items.map((item) => html`<li>${link(item)}</li>`);

const mainNavigation = (texts: Texts, items: readonly NavItem[]): Html =>
  html`<nav class="main-nav" aria-label="${texts.frame.mainNavigation}"><ul>${listOf(items)}</ul></nav>`;

/** The pages of the group or object of this page. On a phone they are in the menu instead. */
const subNavigation = (texts: Texts, items: readonly NavItem[]): Html =>
  html`<nav class="sub-nav" aria-label="${texts.frame.subNavigation}"><ul>${listOf(items)}</ul></nav>`;

const sectionInMenu = (texts: Texts, items: readonly NavItem[]): Html | false =>
  items.length > 0 &&
  html`<nav class="section-nav" aria-label="${texts.frame.subNavigation}"><ul>${listOf(items)}</ul></nav>`;

/** What is about the user and not about the work. On a phone it stands open at the end of the menu. */
const accountMenu = (frame: Frame, { user, csrfField, others }: NonNullable<Frame['signedIn']>): Html => {
  const t = frame.texts.frame;
  return html`<button type="button" class="account-button quiet" popovertarget="account-menu">${user.email}</button>
<div id="account-menu" class="who" popover><a href="/panel/account">${t.account}</a>${others.filter(({ path }) => path !== '/panel/account').map(link)}${languageChoice(frame)}
<form method="post" action="/panel/sign-out">${csrfField}<button class="quiet">${t.signOut}</button></form></div>`;
};

const languageChoice = ({ language, texts, address, signedIn }: Frame): Html =>
  html`<form method="post" action="/panel/language" class="language" aria-label="${texts.frame.language}">
${signedIn?.csrfField}<input type="hidden" name="next" value="${address}">
${languages
  .filter((other) => other !== language)
  .map(
    (other) =>
      html`<button class="quiet" name="language" value="${other}" lang="${other}">${texts.frame.languageNames[other]}</button>`,
  )}</form>`;

const stream = (url: string | undefined): Html | false => url !== undefined && html` hx-ext="sse" sse-connect="${url}"`;
