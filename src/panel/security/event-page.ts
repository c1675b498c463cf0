/** All facts of one audit event. Each value links to the events with the same value. */
import { type Answer, notFound, page } from '../page/answer.ts';
import { timelineHref } from '../page/history-link.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { AuditEntry, AuditNames } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { breakable } from '../view/breakable.ts';
import { exactTime } from '../view/time.ts';
import { type SearchFields, searchHref, searchPath } from './audit-filter.ts';
import { outcomeBadge, unsignedBadge } from './audit-table.ts';
import { named, sentenceOf } from './event-words.ts';
import { integrityPath } from './integrity-page.ts';
import { timesSwitch } from './times-switch.ts';

export const showEvent = async ({ ports, actor, address, params, texts }: View): Promise<Answer> => {
  const entry = await ports.security.findEvent({ actor, address }, params.event ?? '');
  if (entry === undefined) return notFound();
  const t = texts.security;
  const names = await ports.security.namesIn([entry]);
  return page({
    title: t.eventTitle(entry.action),
    body: html`<p>${sentenceOf(texts, entry, names)}</p>
<div class="row spread"><p>${outcomeBadge(texts, entry)}${unsignedBadge(texts, entry)} ${exactTime(entry.at)}</p>${timesSwitch(texts)}</div>
${entry.signed === false && html`<p class="message bad">${t.notSignedHint} <a href="${integrityPath}">${t.integrity.title}</a></p>`}
<p class="hint">${t.valuesLead}</p>
<dl class="facts">${factsOf(texts, entry, names)}</dl>
<h2>${t.details}</h2>
<pre tabindex="0">${JSON.stringify(entry.details, null, 2)}</pre>
<p class="row"><a href="${searchPath}">${t.backToSearch}</a>${entry.clientId !== null && html`<a href="${timelineHref({ client: entry.clientId })}">${texts.auditEvents.timelineLink(names.get(entry.clientId) ?? entry.clientId)}</a>`}</p>`,
  });
};

const factsOf = (texts: Texts, entry: AuditEntry, names: AuditNames): Html[] => {
  const t = texts.security;
  const lead = (filter: SearchFields, text: string): Html =>
    html`${names.has(text) && html`${names.get(text)} `}<a href="${searchHref(filter)}"><code>${text}</code></a>`;
  const list = (values: readonly string[], filterOf: (value: string) => SearchFields): Html | undefined =>
    values.length === 0 ? undefined : html`${values.map((value) => html`${lead(filterOf(value), value)} `)}`;
  const facts: [string, Html | string | number | null | undefined][] = [
    [t.fields.action, lead({ action: entry.action }, entry.action)],
    [t.facts.reason, entry.reason],
    [t.facts.count, entry.count],
    [t.facts.actor, entry.actor && actorFact(names, entry.actor)],
    [t.fields.client, entry.clientId && lead({ client: entry.clientId }, entry.clientId)],
    [t.fields.credential, entry.credentialId && lead({ credential: entry.credentialId }, entry.credentialId)],
    [t.facts.kind, entry.kind],
    [t.fields.tokenId, entry.tokenId && lead({ tokenId: entry.tokenId }, entry.tokenId)],
    [t.fields.fingerprint, entry.fingerprint && lead({ fingerprint: entry.fingerprint }, entry.fingerprint)],
    [t.fields.restaurant, list(entry.tenants, (restaurant) => ({ restaurant }))],
    [t.fields.route, entry.routeId && lead({ route: entry.routeId }, entry.routeId)],
    [t.facts.scopes, entry.scopes.length > 0 ? html`<code>${entry.scopes.join(' ')}</code>` : undefined],
    [t.fields.address, entry.address && lead({ address: entry.address }, entry.address)],
    [t.fields.requestId, list(entry.requestIds.slice(0, idsShown), (requestId) => ({ requestId }))],
    [t.facts.place, html`<code>${entry.id}</code>`],
    [t.facts.hash, html`<code>${entry.hash}</code>`],
  ];
  return facts.flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [html`<dt>${name}</dt><dd>${value}</dd>`],
  );
};

/** A user of the panel leads to the events of the user. */
const actorFact = (names: AuditNames, actor: string): Html => {
  const [, user] = /^panel:(.+)$/.exec(actor) ?? [];
  if (user === undefined) return named(names, actor);
  return html`${breakable(names.get(actor) ?? '')} <a href="${searchHref({ user })}"><code>${user}</code></a>`;
};

/** One event may stand for many requests. */
const idsShown = 20;
