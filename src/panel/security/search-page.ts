/** Search of the audit. The filter is kept in the query, so a search can be bookmarked and shared. */
import { Fault } from '#src/contract/fault.ts';
import { hourMs } from '#src/platform/clock.ts';
import { newsLink, newsSlot } from '../live/news.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { timelineHref } from '../page/history-link.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { AuditNames, AuditPage } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { message } from '../view/layout.ts';
import { pager } from '../view/pager.ts';
import {
  listOf,
  resolveNames,
  type SubjectKind,
  suggestions,
  type UnclearName,
  unclearNames,
} from '../view/subject-names.ts';
import { exactTime } from '../view/time.ts';
import {
  actorOf,
  exportLinks,
  readFilter,
  type SearchFields,
  searchHref,
  searchPath,
  toFilter,
} from './audit-filter.ts';
import { auditTable, searchedNote } from './audit-table.ts';
import { savedSearches } from './saved-searches.ts';
import { timesSwitch } from './times-switch.ts';
import { newsTopic } from './topics.ts';

const pageSize = 50;

export const showSearch = async (view: View): Promise<Answer> => {
  const { filter, wrong } = readFilter(view);
  const t = view.texts.security;
  if (wrong.length > 0) return refuseSearch(view);
  const before = view.query.get('before') ?? undefined;
  try {
    view.ports.security.assertNoCredential(toFilter(filter), '');
    const { ids, unclear } = await resolveNames(view, filter);
    if (unclear.length > 0) return searchPage(view, filter, { unclear });
    const resolved = { ...filter, ...ids };
    if (searchHref(resolved) !== searchHref(filter)) return redirect(searchHref(resolved));
    const { actor, address } = view;
    const search = { filter: toFilter(filter), limit: pageSize, ...(before === undefined ? undefined : { before }) };
    const found = await view.ports.security.searchAudit({ actor, address }, search);
    const asked = [filter.client, filter.restaurant, filter.user && actorOf(filter.user)].filter(
      (id) => id !== undefined,
    );
    const names = new Map([
      ...(await view.ports.security.namesIn(found.events)),
      ...(await view.ports.security.namesOf(asked)),
    ]);
    return searchPage(view, filter, { found, names, saved: await savedSearches(view, filter) });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'VALIDATION_ERROR') throw error;
    return searchPage(view, filter, { problem: t.searchRefused });
  }
};

export const searchNews = (view: View): Answer =>
  newsLink(view.texts.security.news, searchHref(Object.fromEntries(Object.entries(readFilter(view).filter))));

/** The search page with an error, for a download that is refused. */
export const refuseSearch = (view: View): Promise<Answer> => {
  const { filter, wrong } = readFilter(view);
  const t = view.texts.security;
  return searchPage(view, filter, {
    problem: t.wrongFields(
      wrong.map(
        (name) => `${name === 'decision' ? t.decision : t.fields[name]} “${view.query.get(name)?.slice(0, 60)}”`,
      ),
    ),
  });
};

type Outcome =
  | { found: AuditPage; names: AuditNames; saved: Html | false }
  | { problem: string }
  | { unclear: readonly UnclearName[] };

const searchPage = async (view: View, filter: SearchFields, outcome: Outcome): Promise<Answer> => {
  const t = view.texts.security;
  return page({
    title: t.auditTitle,
    status: 'found' in outcome ? 200 : 422,
    scripts: ['security.js'],
    body: html`<p>${t.auditIntro}</p>
${'problem' in outcome && message({ tone: 'bad', text: outcome.problem })}
${'unclear' in outcome && unclearNames(view, outcome.unclear, (choice) => searchHref({ ...filter, ...choice }))}
${filterForm(view, filter)}${printedFilter(view, filter)}${await suggestions(view)}
${'found' in outcome && html`${outcome.saved}${timelineLinks(view.texts, filter, outcome.names)}${results(view, filter, outcome)}`}`,
  });
};

const timelineLinks = (
  { auditEvents: t }: Texts,
  { client, restaurant, user }: SearchFields,
  names: AuditNames,
): Html | false =>
  (client !== undefined || restaurant !== undefined || user !== undefined) &&
  html`<p class="row">${client !== undefined && html`<a href="${timelineHref({ client })}">${t.timelineLink(names.get(client) ?? client)}</a>`}${restaurant !== undefined && html`<a href="${timelineHref({ restaurant })}">${t.timelineLink(names.get(restaurant) ?? restaurant)}</a>`}${user !== undefined && html`<a href="${timelineHref({ user })}">${t.timelineLink(names.get(actorOf(user)) ?? user)}</a>`}</p>`;

const results = (
  view: View,
  filter: SearchFields,
  { found: { events, next, searchedTo }, names }: { found: AuditPage; names: AuditNames },
): Html => {
  const t = view.texts.security;
  const isFirst = !view.query.has('before');
  if (events.length === 0 && searchedTo === undefined) {
    return html`<p>${isFirst ? t.nothingFits : t.nothingOlder} <a href="${isFirst ? searchPath : searchHref(filter)}">${isFirst ? t.clearFilter : t.newest}</a></p>`;
  }
  return html`${isFirst && newsSlot(searchHref(filter).replace(searchPath, `${searchPath}/news`), newsTopic)}
${events.length > 0 && auditTable(view.texts, events, { caption: t.newestFirst, names })}
${searchedTo !== undefined && searchedNote(view.texts, events.length, searchedTo)}
${pager(view, {
  after: isFirst ? undefined : '',
  next,
  pathOf: (before) => searchHref({ ...filter, before }),
  labels: { first: t.newest, next: searchedTo === undefined ? t.older : t.lookFurther },
  more: html`<span class="hint">${t.exportThese}</span>${exportLinks(view.texts, filter)}`,
})}`;
};

/** On paper, where the form is left out: what was searched. */
const printedFilter = ({ texts: { security: t } }: View, filter: SearchFields): Html => {
  const { decision, ...fields } = filter;
  const shown = Object.entries(fields) as [keyof typeof t.fields, string | Date][];
  return html`<dl class="facts printed">${shown.map(
    ([name, value]) => html`<dt>${t.fields[name]}</dt><dd>${value instanceof Date ? exactTime(value) : value}</dd>`,
  )}${decision !== undefined && html`<dt>${t.decision}</dt><dd>${t.decisions[decision]}</dd>`}</dl>`;
};

/** The fields behind "More filters", which is open while one of them is used. */
const rareNames = [
  'user',
  'until',
  'decision',
  'route',
  'address',
  'requestId',
  'fingerprint',
  'credential',
  'tokenId',
  'issuedFor',
] as const;

const filterForm = (view: View, filter: SearchFields): Html => {
  const t = view.texts.security;
  const { actions, routes } = view.ports.security;
  const shown = (name: string): string | null => view.query.get(name);
  const field = (name: keyof typeof t.fields, more: Html = html``): Html =>
    html`<label>${t.fields[name]}<input name="${name}" value="${shown(name)}" maxlength="200" autocomplete="off" spellcheck="false" autocapitalize="off"${more}></label>`;
  const subject = (kind: SubjectKind): Html => field(kind, html` placeholder="${t.names.hints[kind]}"${listOf(kind)}`);
  // With its zone, since the script takes a time without one for the time of the reader.
  const moment = (name: 'since' | 'until'): Html =>
    html`<label>${t.fields[name]}<input name="${name}" value="${filter[name]?.toISOString() ?? shown(name)}" placeholder="2026-05-01T10:00Z" data-moment autocomplete="off" maxlength="40"></label>`;
  return html`<form method="get" action="${searchPath}" class="card" role="search" aria-label="${t.filter}" data-no-credentials="${t.searchRefused}">
<div class="fields">
${subject('client')}${subject('restaurant')}
<label>${t.fields.action}<select name="action"><option value="">${t.any}</option>${actions.map(
    (name) => html`<option${filter.action === name && html` selected`}>${name}</option>`,
  )}</select></label>
${moment('since')}
</div>
<details${rareNames.some((name) => (shown(name) ?? '') !== '') && html` open`}><summary>${t.moreFields}</summary><div class="fields">
${subject('user')}${moment('until')}<label>${t.decision}<select name="decision"><option value="">${t.any}</option>${(
    ['allow', 'deny'] as const
  ).map(
    (name) => html`<option value="${name}"${filter.decision === name && html` selected`}>${t.decisions[name]}</option>`,
  )}</select></label>
${field('route', html` list="routes"`)}<datalist id="routes">${routes().map((id) => html`<option value="${id}"></option>`)}</datalist>
${field('address')}${field('requestId')}${field('fingerprint')}${field('credential')}${field('tokenId')}${field('issuedFor')}
</div></details>
<div class="row"><button class="primary">${t.search}</button><a href="${searchPath}">${t.clearFilter}</a>
<span class="hint">${t.quickTimes}: ${quickTimes(view, filter)}</span>${timesSwitch(view.texts)}</div>
<p class="field-error" role="alert" hidden></p>
</form>`;
};

const quickTimes = ({ texts, now }: View, filter: SearchFields): Html[] =>
  ([1, 24, 168] as const).map(
    (hours, index) =>
      html`${index > 0 && ' · '}<a href="${searchHref({ ...filter, until: undefined, since: new Date(now.getTime() - hours * hourMs) })}">${texts.security.lastHours(hours)}</a>`,
  );
