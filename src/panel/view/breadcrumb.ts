/** The way to a page about a restaurant, with a switcher that keeps the page: `Restaurants / NAME / Page`. */
import { type Html, html } from '../page/html.ts';
import type { Texts } from '../texts/en/en.ts';

export type Crumbs = {
  /** The list of restaurants. */
  listPath: string;
  name: string;
  /** Path of the restaurant. */
  path: string;
  /** Name and path of the page below the restaurant; undefined on its own page. */
  page: { label: string; path: string } | undefined;
  /** The same page of other restaurants. */
  others: readonly { name: string; path: string }[];
};

/** `current`: path of the shown page, which is no link. The switcher works without script. */
export const breadcrumb = ({ overview }: Texts, crumbs: Crumbs, current: string): Html => {
  const t = overview.crumbs;
  const step = (to: string, label: string): Html =>
    to === current ? html`<span aria-current="page">${label}</span>` : html`<a href="${to}">${label}</a>`;
  const { listPath, name, path, page, others } = crumbs;
  return html`<nav class="crumbs" aria-label="${t.label}"><ol>
<li><a href="${listPath}">${t.restaurants}</a></li>
<li>${
    others.length === 0
      ? step(path, name)
      : html`<details class="switcher"><summary><span class="visually-hidden">${t.other}: </span>${name}</summary>
<ul>${others.map((other) => html`<li><a href="${other.path}">${other.name}</a></li>`)}<li><a href="${listPath}">${t.all}</a></li></ul></details>`
  }</li>
${page !== undefined && html`<li>${step(page.path, page.label)}</li>`}</ol></nav>`;
};
