/** A table of audit events by day, each with a link to its page. */
import { type Html, html } from '../page/html.ts';
import type { AuditEntry, AuditNames } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { badge } from '../view/badge.ts';
import { table } from '../view/table.ts';
import { exactTime, time } from '../view/time.ts';
import { named } from './event-words.ts';

export const eventHref = (id: string): string => `/panel/security/events/${encodeURIComponent(id)}`;

export const auditTable = (
  texts: Texts,
  entries: readonly AuditEntry[],
  { caption, names }: { caption: string; names: AuditNames },
): Html => {
  const t = texts.security;
  return table({
    caption,
    hasRowHeader: false,
    dayOf: (index) => entries[index]?.at,
    columns: [t.columns.time, t.columns.event, t.columns.who, t.columns.route, t.columns.address],
    rows: entries.map((entry) => [
      html`<a href="${eventHref(entry.id)}">${time(entry.at, 'clock')}</a>`,
      html`<code>${entry.action}</code> ${outcomeBadge(texts, entry)}${unsignedBadge(texts, entry)}${entry.count > 1 && html` <span class="hint">${t.times(entry.count)}</span>`}${entry.reason !== null && html`<br><span class="hint">${entry.reason}</span>`}`,
      whoOf(entry, names),
      // An empty cell takes no line of a card on a phone.
      entry.routeId ?? '',
      entry.address ?? '',
    ]),
  });
};

/** Of these, a failure is a refusal. Others failed: a service answered an allowed request with an error, or a chain was changed. */
const refusals: ReadonlySet<string> = new Set(['request.denied', 'token.refused']);

export const outcomeBadge = (
  { security: t }: Texts,
  { action, outcome }: Pick<AuditEntry, 'action' | 'outcome'>,
): Html => (outcome === 'success' ? badge('good', t.done) : badge('bad', refusals.has(action) ? t.refused : t.failed));

export const unsignedBadge = (texts: Texts, { signed }: AuditEntry): Html | false =>
  signed === false && html` ${badge('bad', texts.security.notSigned)}`;

const whoOf = ({ clientId, credentialId, actor, tenants }: AuditEntry, names: AuditNames): Html => {
  // A long list of restaurants is on the page of the event.
  const restaurants = tenants.length <= 2 ? tenants : [];
  const ids = [actor, clientId, credentialId, ...restaurants].filter((id) => id !== null);
  // The name of a secret is that of its client, which the line before has already.
  const own = clientId === null ? names : new Map([...names].filter(([id]) => id !== credentialId));
  return ids.length === 0
    ? html`–`
    : html`${ids.map((id, index) => html`${index > 0 && html`<br>`}${named(own, id)}`)}`;
};

/** Where a search stopped that read many events without filling a page. */
export const searchedNote = ({ security: t }: Texts, shown: number, searchedTo: Date): Html =>
  html`<p role="status">${shown === 0 ? t.noneSoFar : t.someSoFar} ${t.searchedTo} ${exactTime(searchedTo)}. ${t.lookFurtherHint}</p>`;

/** Labels for the pager of a list that is ordered by age. */
export const newestAndOlder = ({ security: t }: Texts): { first: string; next: string } => ({
  first: t.newest,
  next: t.older,
});
