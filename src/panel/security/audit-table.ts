/** A table of audit events, each with a link to its page. */
import { type Html, html } from '../page/html.ts';
import type { AuditEntry } from '../ports/ports.ts';
import type { Texts } from '../texts/en/en.ts';
import { badge } from '../view/badge.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';

export const eventHref = (id: string): string => `/panel/security/events/${encodeURIComponent(id)}`;

export const auditTable = (texts: Texts, entries: readonly AuditEntry[], caption: string): Html => {
  const t = texts.security;
  return table({
    caption,
    hasRowHeader: false,
    columns: [t.columns.time, t.columns.event, t.columns.who, t.columns.route, t.columns.address],
    rows: entries.map((entry) => [
      html`<a href="${eventHref(entry.id)}">${time(entry.at)}</a>`,
      html`<code>${entry.action}</code> ${outcomeBadge(texts, entry.outcome)}${entry.count > 1 && html` <span class="hint">${t.times(entry.count)}</span>`}${entry.reason !== null && html`<br><span class="hint">${entry.reason}</span>`}`,
      whoOf(entry),
      entry.routeId ?? '–',
      entry.address ?? '–',
    ]),
  });
};

export const outcomeBadge = (texts: Texts, outcome: AuditEntry['outcome']): Html =>
  outcome === 'failure' ? badge('bad', texts.security.refused) : badge('good', texts.security.done);

const whoOf = ({ clientId, credentialId, actor }: AuditEntry): Html => {
  const names = [actor, clientId, credentialId].filter((name) => name !== null);
  return names.length === 0
    ? html`–`
    : html`<code>${names[0]}</code>${names.slice(1).map((name) => html`<br><code>${name}</code>`)}`;
};

/** Labels for the pager of a list that is ordered by age. */
export const newestAndOlder = ({ security: t }: Texts): { first: string; next: string } => ({
  first: t.newest,
  next: t.older,
});
