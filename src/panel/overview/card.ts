/** A card of the start page: a title, rows or a sentence that says what to do next, and a link to the page with all rows. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { NamedCaller } from '../ports/overview.ts';
import { pathOfRestaurant } from '../restaurant/paths.ts';
import { searchHref } from '../security/audit-filter.ts';
import { clientPath } from '../support/client-table.ts';

type Card = {
  /** Unique on the page. */
  id: string;
  title: string;
  body: Html;
  /** Undefined: each row links to a page of its own. */
  link?: { path: string; label: string } | undefined;
};

/** Id of the element. */
export const cardId = (id: string): string => `${id}-card`;

export const card = ({ id, title, body, link }: Card): Html =>
  html`<section class="card" id="${cardId(id)}" aria-labelledby="card-${id}"><h2 id="card-${id}">${title}</h2>
${body}${link !== undefined && html`\n<p class="more"><a href="${link.path}">${link.label}</a></p>`}</section>`;

/** `none`: shown instead of an empty list. */
export const rowsOr = <T>(items: readonly T[], none: string, row: (item: T) => Html): Html =>
  items.length === 0
    ? html`<p class="plain">${none}</p>`
    : html`<ul class="rows">${items.map((item) => html`<li>${row(item)}</li>`)}</ul>`;

/** The name, as a link to the page that the viewer may open: security searches the audit. */
export const callerLink = ({ user }: View, { id, name, client, restuid }: NamedCaller): Html => {
  const path =
    user.role === 'security'
      ? searchHref(client === null || client !== id ? { credential: id } : { client })
      : client !== null
        ? clientPath(client)
        : pathOfRestaurant(restuid ?? '', '/keys');
  return html`<a href="${path}">${name}</a>${name !== id && html` <code>${id}</code>`}`;
};
