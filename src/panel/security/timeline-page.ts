/** Everything that the audit knows about one client or one restaurant, in sentences by day. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { readText } from '../page/read-query.ts';
import type { AuditEntry, AuditNames } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { pager } from '../view/pager.ts';
import { time } from '../view/time.ts';
import { searchHref } from './audit-filter.ts';
import { eventHref, newestAndOlder } from './audit-table.ts';
import { named, sentenceOf } from './event-words.ts';
import { timesSwitch } from './times-switch.ts';

const timelinePath = '/panel/security/timeline';
const pageSize = 50;
const idLengthMax = 200;

type Subject = { client: string } | { restaurant: string };

export const timelineHref = (subject: Subject, before?: string): string =>
  `${timelinePath}?${new URLSearchParams({ ...subject, ...(before === undefined ? undefined : { before }) })}`;

export const showTimeline = async (view: View): Promise<Answer> => {
  const { ports, texts, query, actor, address } = view;
  const t = texts.auditEvents;
  const client = readText(view, 'client', idLengthMax);
  const restaurant = readText(view, 'restaurant', idLengthMax);
  const id = client ?? restaurant;
  if (id === undefined)
    return page({ title: t.timelineTitle, body: html`<p>${t.timelineIntro}</p>${subjectForm(view)}` });
  const subject: Subject = client === undefined ? { restaurant: id } : { client };
  const before = query.get('before') ?? undefined;
  try {
    const filter = client === undefined ? { tenant: id } : { client };
    const asked = { filter, limit: pageSize, ...(before === undefined ? undefined : { before }) };
    const { events, next } = await ports.security.searchAudit({ actor, address }, asked);
    const names = new Map([...(await ports.security.namesIn(events)), ...(await ports.security.namesOf([id]))]);
    return page({
      title: t.timelineOf(names.get(id) ?? id),
      body: html`<div class="row spread"><p>${named(names, id)} · <a href="${searchHref(subject)}">${t.asEvents}</a></p>${timesSwitch(texts)}</div>
${events.length === 0 ? html`<p>${t.nothing}</p>` : timeline(texts, events, names)}
${pager({ texts }, { after: before, next, pathOf: (cursor) => timelineHref(subject, cursor), labels: newestAndOlder(texts) })}`,
    });
  } catch (error) {
    // The cursor was cut off or typed by hand.
    if (error instanceof Fault && error.code === 'VALIDATION_ERROR' && before !== undefined)
      return redirect(timelineHref(subject));
    throw error;
  }
};

const timeline = (texts: Texts, events: readonly AuditEntry[], names: AuditNames): Html => {
  const dayOf = (index: number): string | undefined => events[index]?.at.toISOString().slice(0, 10);
  return html`<ol class="timeline" data-days>${events.map(
    (entry, index) =>
      html`${dayOf(index) !== dayOf(index - 1) && html`<li class="day" data-day><h2 data-day-text>${dayOf(index)} UTC</h2></li>`}
<li class="${entry.outcome === 'failure' ? 'refused' : 'done'}"><a href="${eventHref(entry.id)}">${time(entry.at, 'clock')}</a> <span>${sentenceOf(texts, entry, names)}</span></li>`,
  )}</ol>`;
};

const subjectForm = ({ texts }: View): Html => {
  const { fields } = texts.security;
  const t = texts.auditEvents;
  return html`<p>${t.timelineAsk}</p>
${(['client', 'restaurant'] as const).map(
  (name) =>
    html`<form method="get" action="${timelinePath}" class="card narrow" data-no-credentials="${texts.security.searchRefused}">
<label>${fields[name]}<input name="${name}" required maxlength="${idLengthMax}" autocomplete="off" autocapitalize="off" spellcheck="false"></label>
<p class="field-error" role="alert" hidden></p>
<button class="primary">${t.timelineShow}</button></form>`,
)}`;
};
