/** The link from the page of a client, restaurant or user to its history in the audit, for roles that may read the audit. */

import type { Role } from '../ports/role.ts';
import { type Html, html } from './html.ts';
import type { View } from './page.ts';

export const timelinePath = '/panel/security/timeline';

export type HistorySubject = { client: string } | { restaurant: string } | { user: string };

/** Roles that may read the audit. */
const auditRoles: readonly Role[] = ['security', 'admin'];

export const timelineHref = (subject: HistorySubject, before?: string): string =>
  `${timelinePath}?${new URLSearchParams({ ...subject, ...(before === undefined ? undefined : { before }) })}`;

/** A row of a list of facts. */
export const historyFact = ({ user, texts: { auditEvents: t } }: View, subject: HistorySubject): Html | false =>
  auditRoles.includes(user.role) &&
  html`<dt>${t.timelineTitle}</dt><dd><a href="${timelineHref(subject)}">${t.historyLead}</a></dd>`;
