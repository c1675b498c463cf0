/** The search in the header of every page: a plain GET form. The script of every page puts `/` on it. */
import { type Html, html } from '../page/html.ts';
import { panelPath } from '../page/page-path.ts';
import type { Role } from '../ports/role.ts';
import type { Texts } from '../texts/en/en.ts';

export const findPath = '/search';
export const findTextMax = 255;

/** Roles that have the search. */
export const findRoles: readonly Role[] = ['owner', 'support', 'security', 'admin'];

export const findForm = ({ overview }: Texts, role: Role): Html | false => {
  const t = overview.search;
  return (
    findRoles.includes(role) &&
    html`<form method="get" action="${panelPath}${findPath}" class="find-any" role="search" aria-label="${t.label}">
<input name="q" type="text" inputmode="search" enterkeyhint="search" maxlength="${findTextMax}" autocomplete="off" spellcheck="false" aria-label="${t.label}" aria-keyshortcuts="/" placeholder="${t.placeholder}" data-find></form>`
  );
};
