/** A table of audit events, each with a link to its page. */
import { type Html, html } from '../page/html.ts';
import type { AuditEntry } from '../ports/ports.ts';
import type { Texts } from '../texts/en.ts';
import { time } from '../view/time.ts';

export const eventHref = (id: string): string => `/panel/security/events/${encodeURIComponent(id)}`;

export const auditTable = (texts: Texts, entries: readonly AuditEntry[], caption: string): Html => {
  const t = texts.security;
  return html`<table class="stack">
<caption>${caption}</caption>
<thead><tr><th scope="col">${t.columns.time}</th><th scope="col">${t.columns.event}</th><th scope="col">${t.columns.who}</th><th scope="col">${t.columns.route}</th><th scope="col">${t.columns.address}</th></tr></thead>
<tbody>${entries.map(
    (entry) => html`<tr>
<td data-label="${t.columns.time}"><a href="${eventHref(entry.id)}">${time(entry.at)}</a></td>
<td data-label="${t.columns.event}"><code>${entry.action}</code> ${outcomeBadge(texts, entry.outcome)}${entry.count > 1 && html` <span class="hint">${t.times(entry.count)}</span>`}${entry.reason !== null && html`<br><span class="hint">${entry.reason}</span>`}</td>
<td data-label="${t.columns.who}">${whoOf(entry)}</td>
<td data-label="${t.columns.route}">${entry.routeId ?? '–'}</td>
<td data-label="${t.columns.address}">${entry.address ?? '–'}</td>
</tr>`,
  )}</tbody>
</table>`;
};

export const outcomeBadge = (texts: Texts, outcome: AuditEntry['outcome']): Html =>
  outcome === 'failure'
    ? html`<span class="badge bad">${texts.security.refused}</span>`
    : html`<span class="badge good">${texts.security.done}</span>`;

const whoOf = ({ clientId, credentialId, actor }: AuditEntry): Html => {
  const names = [actor, clientId, credentialId].filter((name) => name !== null);
  return names.length === 0
    ? html`–`
    : html`<code>${names[0]}</code>${names.slice(1).map((name) => html`<br><code>${name}</code>`)}`;
};
