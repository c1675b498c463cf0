/** Links to the other pages of a list. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';

type Pages = {
  /** Cursor of the shown page; undefined on the first page, and where no link to the first page is wanted. */
  after?: string | undefined;
  /** Cursor of the next page; undefined or null on the last page. */
  next: string | null | undefined;
  /** Path of the page after a cursor; without a cursor that of the first page. */
  pathOf: (cursor?: string) => string;
  /** Texts of the two links, where the usual ones do not fit. */
  labels?: { first: string; next: string };
  /** Further links beside these. */
  more?: Html;
};

export const pager = ({ texts }: Pick<View, 'texts'>, { after, next, pathOf, labels, more }: Pages): Html | false => {
  const t = texts.frame;
  const hasNext = next !== null && next !== undefined;
  if (after === undefined && !hasNext && more === undefined) return false;
  return html`<nav class="row pager" aria-label="${t.pages}">${
    after !== undefined && html`<a class="button" href="${pathOf()}">${labels?.first ?? t.firstPage}</a>`
  }${
    hasNext &&
    html`<a class="button" id="next-page" rel="next" href="${pathOf(next)}">${labels?.next ?? t.nextPage}</a>`
  }${more}</nav>`;
};
