/** Restaurants for support: find one, create one, see the clients that may reach it. */
import { addressOf, refreshOn } from '../live/refresh-on.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { historyFact } from '../page/history-link.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor, readSearch } from '../page/read-query.ts';
import type { SupportRestaurant } from '../ports/support.ts';
import type { Texts } from '../texts/en/en.ts';
import { sandboxBadge } from '../view/badge.ts';
import { copyButton } from '../view/copy-button.ts';
import { fieldNote } from '../view/field.ts';
import { message } from '../view/layout.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { clientTable } from './client-table.ts';
import { currencyCodes, nameOfCurrency, timeZones } from './money-and-zones.ts';
import { supportRoles } from './roles.ts';
import { credentialsTopic } from './topics.ts';

const listPath = '/panel/support/restaurants';

export const restaurantPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/support/restaurants',
    roles: supportRoles,
    nav: (texts) => texts.support.restaurants.title,
    topics: [credentialsTopic],
    handle: (view) => showList(view),
  },
  {
    method: 'GET',
    path: '/support/restaurants/new',
    roles: supportRoles,
    handle: (view) => showForm(view, { name: '', currency: 'EUR', timeZone: '', sandbox: false }, {}),
  },
  { method: 'POST', path: '/support/restaurants/new', roles: supportRoles, handle: (view) => create(view) },
  {
    method: 'GET',
    path: '/support/restaurants/:restaurant',
    roles: supportRoles,
    nav: (texts) => texts.support.restaurants.clientsNav,
    handle: (view) => showOne(view),
  },
];

export const restaurantPath = (restuid: string): string => `${listPath}/${encodeURIComponent(restuid)}`;

const showList = async (view: View): Promise<Answer> => {
  const { texts, path, query, ports } = view;
  const t = texts.support.restaurants;
  const search = readSearch(view, 'q') ?? '';
  const { restaurants, next } = await ports.support.listRestaurants(search, readCursor(view));
  return page({
    title: t.title,
    body: html`<div class="row spread">
<form method="get" action="${listPath}" role="search" class="row">
<label>${t.searchLabel}<input type="search" name="q" value="${search}" maxlength="255"></label>
<button>${texts.support.search}</button>
</form>
<a class="button primary" href="${listPath}/new">${t.create}</a></div>
<div id="restaurants" ${refreshOn('restaurants', addressOf({ path, query }), credentialsTopic)}>
${
  restaurants.length === 0
    ? html`<p>${search === '' ? t.empty : t.noneFound(search)}</p>`
    : restaurantTable(texts, restaurants)
}
${pager(view, { next, pathOf: (after) => withQuery(listPath, { q: search, after }) })}</div>`,
  });
};

const restaurantTable = (texts: Texts, restaurants: readonly SupportRestaurant[]): Html => {
  const t = texts.support.restaurants;
  return table({
    caption: t.caption,
    columns: [t.name, t.id, t.currency, t.timeZone, t.apiAccess],
    rows: restaurants.map(({ restuid, name, currency, timeZone, apiEnabled }) => [
      html`<a href="${restaurantPath(restuid)}">${name}</a>`,
      html`<code>${restuid}</code>${sandboxBadge(restuid)}`,
      currency,
      timeZone,
      apiEnabled ? texts.support.on : texts.support.off,
    ]),
  });
};

const showOne = async (view: View): Promise<Answer> => {
  const { texts, params, ports } = view;
  const restuid = params.restaurant ?? '';
  const found = await ports.support.findRestaurant(restuid);
  if (found === undefined) return notFound();
  const { clients, next } = await ports.support.listClients({ restaurant: restuid }, undefined);
  const t = texts.support.restaurants;
  return page({
    title: found.name,
    body: html`<dl class="facts"><dt>${t.id}</dt><dd class="row"><code id="restuid">${restuid}</code>${sandboxBadge(restuid)}
${copyButton({ texts }, 'restuid')}</dd>
<dt>${t.currency}</dt><dd>${found.currency}</dd><dt>${t.timeZone}</dt><dd>${found.timeZone}</dd>
<dt>${t.apiAccess}</dt><dd>${found.apiEnabled ? texts.support.on : texts.support.off}</dd>
${historyFact(view, { restaurant: restuid })}</dl>
<div class="row spread"><h2>${t.clients}</h2>
<a class="button primary" href="/panel/clients/new?restaurant=${encodeURIComponent(restuid)}">${t.giveAccess}</a></div>
${clients.length === 0 ? html`<p>${t.noClients}</p>` : clientTable(texts, clients, ports.support.scopes.length)}
${next !== null && html`<p><a class="button" href="/panel/clients?restaurant=${encodeURIComponent(restuid)}">${t.moreClients}</a></p>`}`,
  });
};

type Given = { name: string; currency: string; timeZone: string; sandbox: boolean };
type Problems = Partial<Record<keyof Given, string>>;

const create = async (view: View): Promise<Answer> => {
  const { form, texts, ports, actor } = view;
  const t = texts.support.restaurants;
  const given = {
    name: (form.get('name') ?? '').trim(),
    currency: form.get('currency') ?? '',
    timeZone: form.get('time_zone') ?? '',
    sandbox: form.has('sandbox'),
  };
  const problems: Problems = {
    ...(given.name === '' || [...given.name].length > 255 ? { name: t.nameProblem } : undefined),
    ...(currencyCodes().includes(given.currency) ? undefined : { currency: t.currencyProblem }),
    ...(timeZones().includes(given.timeZone) ? undefined : { timeZone: t.timeZoneProblem }),
  };
  if (Object.keys(problems).length > 0) return showForm(view, given, problems);
  const restuid = await ports.support.createRestaurant(actor, given);
  return redirect(restaurantPath(restuid), { tone: 'good', text: t.made(given.name) });
};

const showForm = (
  { texts, language, csrfField }: View,
  { name, currency, timeZone, sandbox }: Given,
  problems: Problems,
): Answer => {
  const t = texts.support.restaurants;
  const isRefused = Object.keys(problems).length > 0;
  const nameNote = fieldNote('name', problems.name, t.nameHint);
  const currencyNote = fieldNote('currency', problems.currency, t.currencyHint);
  const zoneNote = fieldNote('time_zone', problems.timeZone, t.timeZoneHint);
  return page({
    title: t.create,
    status: isRefused ? 422 : 200,
    body: html`${isRefused && message({ tone: 'bad', text: texts.support.correct })}
<form method="post" action="${listPath}/new" class="card narrow">${csrfField}
<label>${t.name}<input name="name" required maxlength="255" autocomplete="off" value="${name}"${nameNote.attributes}></label>
${nameNote.line}
<label>${t.currency}<select name="currency"${currencyNote.attributes}>${currencyCodes().map(
      (code) =>
        html`<option value="${code}"${code === currency && html` selected`}>${code} – ${nameOfCurrency(code, language)}</option>`,
    )}</select></label>
${currencyNote.line}
<label>${t.timeZone}<select name="time_zone"${timeZone === '' && html` data-own-zone`}${zoneNote.attributes}>${timeZones().map(
      (zone) =>
        html`<option${(zone === timeZone || (timeZone === '' && zone === 'UTC')) && html` selected`}>${zone}</option>`,
    )}</select></label>
${zoneNote.line}
<label class="check"><input type="checkbox" name="sandbox"${sandbox && html` checked`}>${t.sandbox}</label>
<div class="row"><button class="primary">${t.submit}</button><a class="button" href="${listPath}">${texts.support.cancel}</a></div>
</form>`,
  });
};
