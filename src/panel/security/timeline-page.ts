/** Everything that the audit knows about one client, restaurant or user, in sentences by day. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type HistorySubject, timelineHref, timelinePath } from '../page/history-link.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { readText } from '../page/read-query.ts';
import type { AuditEntry, AuditNames } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { message } from '../view/layout.ts';
import { pager } from '../view/pager.ts';
import {
  listOf,
  resolveNames,
  subjectKinds,
  suggestions,
  type UnclearName,
  unclearNames,
} from '../view/subject-names.ts';
import { time } from '../view/time.ts';
import { actorOf, searchHref, toFilter } from './audit-filter.ts';
import { eventHref, newestAndOlder, searchedNote, unsignedBadge } from './audit-table.ts';
import { named as nameAndId, sentenceOf } from './event-words.ts';
import { timesSwitch } from './times-switch.ts';

const pageSize = 50;
const idLengthMax = 200;

export const showTimeline = async (view: View): Promise<Answer> => {
  const { ports, texts, query, actor, address } = view;
  const t = texts.auditEvents;
  const kind = subjectKinds.find((one) => (query.get(one) ?? '').trim() !== '');
  const asked = kind && readText(view, kind, idLengthMax);
  if (kind === undefined || asked === undefined) return askForSubject(view);
  const before = query.get('before') ?? undefined;
  try {
    ports.security.assertNoCredential({ client: asked }, '');
    const { ids, unclear } = await resolveNames(view, { [kind]: asked });
    const id = ids[kind];
    if (id === undefined) return askForSubject(view, unclear);
    const subject = { [kind]: id } as HistorySubject;
    if (id !== asked) return redirect(timelineHref(subject));
    const filter = toFilter(subject);
    const search = { filter, limit: pageSize, ...(before === undefined ? undefined : { before }) };
    const { events, next, searchedTo } = await ports.security.searchAudit({ actor, address }, search);
    const named = kind === 'user' ? actorOf(id) : id;
    const names = new Map([...(await ports.security.namesIn(events)), ...(await ports.security.namesOf([named]))]);
    const titleOf = kind === 'user' ? t.activityOf : t.timelineOf;
    return page({
      title: titleOf(names.get(named) ?? id),
      body: html`<div class="row spread"><p>${nameAndId(names, named)} · <a href="${searchHref(subject)}">${t.asEvents}</a></p>${timesSwitch(texts)}</div>
${events.length > 0 && timeline(texts, events, names)}
${events.length === 0 && searchedTo === undefined && html`<p>${before === undefined ? t.nothing : texts.security.nothingOlder}</p>`}
${searchedTo !== undefined && searchedNote(texts, events.length, searchedTo)}
${pager({ texts }, { after: before, next, pathOf: (cursor) => timelineHref(subject, cursor), labels: newestAndOlder(texts) })}`,
    });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'VALIDATION_ERROR') throw error;
    // The cursor was cut off or typed by hand.
    return before === undefined ? askForSubject(view, []) : redirect(timelineHref({ [kind]: asked } as HistorySubject));
  }
};

const timeline = (texts: Texts, events: readonly AuditEntry[], names: AuditNames): Html => {
  const dayOf = (index: number): string | undefined => events[index]?.at.toISOString().slice(0, 10);
  return html`<ol class="timeline" data-days>${events.map(
    (entry, index) =>
      html`${dayOf(index) !== dayOf(index - 1) && html`<li class="day" data-day><h2 data-day-text>${dayOf(index)} UTC</h2></li>`}
<li class="${entry.outcome === 'failure' ? 'refused' : 'done'}"><a href="${eventHref(entry.id)}">${time(entry.at, 'clock')}</a> <span>${sentenceOf(texts, entry, names)}${unsignedBadge(texts, entry)}</span></li>`,
  )}</ol>`;
};

const askForSubject = async (view: View, unclear?: readonly UnclearName[]): Promise<Answer> => {
  const { texts, query } = view;
  const { fields } = texts.security;
  const t = texts.auditEvents;
  return page({
    title: t.timelineTitle,
    status: unclear === undefined ? 200 : 422,
    scripts: ['security.js'],
    body: html`<p>${t.timelineIntro}</p>
${unclear?.length === 0 && message({ tone: 'bad', text: texts.security.searchRefused })}
${unclear !== undefined && unclearNames(view, unclear, (choice) => timelineHref(choice as HistorySubject))}
<p>${t.timelineAsk}</p>
<div class="cards">${subjectKinds.map(
      (kind) =>
        html`<form method="get" action="${timelinePath}" class="card" data-no-credentials="${texts.security.searchRefused}">
<label>${fields[kind]}<input name="${kind}" required maxlength="${idLengthMax}" value="${unclear !== undefined && unclear.length > 0 && query.get(kind)}" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="${texts.security.names.hints[kind]}"${listOf(kind)}></label>
<p class="field-error" role="alert" hidden></p>
<button class="primary">${t.timelineShow}</button></form>`,
    )}</div>${await suggestions(view)}`,
  });
};
