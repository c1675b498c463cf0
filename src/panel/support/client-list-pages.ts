/** The list of API clients, and the form that creates one. */

import { addressOf, refreshOn } from '../live/refresh-on.ts';
import { type Answer, notFound, page } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor, readSearch, readText } from '../page/read-query.ts';
import { fieldNote } from '../view/field.ts';
import { message } from '../view/layout.ts';
import { pager } from '../view/pager.ts';
import { secretOnce } from '../view/secret-once.ts';
import { clientPath, clientTable } from './client-table.ts';
import { findField, mixesKinds, readChosen, restaurantChoice } from './restaurant-choice.ts';
import { supportRoles } from './roles.ts';
import { readScopes, scopeChoice } from './scope-choice.ts';
import { credentialsTopic } from './topics.ts';

const listPath = '/panel/clients';
const nameLengthMax = 100;

export const clientListPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/clients',
    roles: supportRoles,
    nav: (texts) => texts.support.clients.title,
    topics: [credentialsTopic],
    handle: (view) => showList(view),
  },
  {
    method: 'GET',
    path: '/clients/new',
    roles: supportRoles,
    handle: (view) =>
      showForm(view, { ...blank, restaurants: [readText(view, 'restaurant')].filter((uid) => uid !== undefined) }),
  },
  { method: 'POST', path: '/clients/new', roles: supportRoles, handle: (view) => create(view) },
];

const showList = async (view: View): Promise<Answer> => {
  const { texts, path, query, ports } = view;
  const t = texts.support.clients;
  const text = readSearch(view, 'q') ?? '';
  const restuid = readText(view, 'restaurant') ?? '';
  const restaurant = restuid === '' ? undefined : await ports.support.findRestaurant(restuid);
  if (restuid !== '' && restaurant === undefined) return notFound();
  const { clients, next } = await ports.support.listClients(
    { text, ...(restaurant && { restaurant: restuid }) },
    readCursor(view),
  );
  return page({
    title: t.title,
    body: html`<div class="row spread">
<form method="get" action="${listPath}" role="search" class="row">
${restaurant && html`<input type="hidden" name="restaurant" value="${restuid}">`}
<label>${t.searchLabel}<input type="search" name="q" value="${text}" maxlength="255" autocomplete="off"></label>
<button>${texts.support.search}</button>
</form>
<a class="button primary" href="${listPath}/new">${t.create}</a></div>
${restaurant && html`<p>${t.ofRestaurant(restaurant.name)} · <a href="${listPath}">${t.showAll}</a></p>`}
<div id="clients" ${refreshOn('clients', addressOf({ path, query }), credentialsTopic)}>
${
  clients.length === 0
    ? html`<p>${text === '' ? t.empty : t.noneFound(text)}</p>`
    : clientTable(texts, clients, ports.support.scopes.length)
}
${pager(view, { next, pathOf: (after) => withQuery(listPath, { q: text, restaurant: restuid, after }) })}</div>`,
  });
};

type Given = {
  name: string;
  restaurants: readonly string[];
  scopes: readonly string[] | null;
  mayIntrospect: boolean;
  dpopRequired: boolean;
};

const blank: Given = { name: '', restaurants: [], scopes: [], mayIntrospect: false, dpopRequired: false };

type Problems = { name?: string; restaurants?: string; scopes?: string };

const create = async (view: View): Promise<Answer> => {
  const { form, texts, ports, actor } = view;
  const given: Given = {
    name: (form.get('name') ?? '').trim(),
    restaurants: readChosen(view),
    scopes: readScopes(form),
    mayIntrospect: form.has('introspect'),
    dpopRequired: form.has('dpop'),
  };
  if (form.has(findField)) return showForm(view, given);
  const t = texts.support.newClient;
  const problems: Problems = {
    ...(given.name === '' || given.name.length > nameLengthMax ? { name: t.nameProblem } : undefined),
    ...(given.restaurants.length === 0 ? { restaurants: t.restaurantsProblem } : undefined),
    ...(mixesKinds(given.restaurants, undefined) ? { restaurants: t.kindsProblem } : undefined),
    ...(given.scopes?.length === 0 ? { scopes: texts.support.scopeChoice.problem } : undefined),
  };
  if (Object.keys(problems).length > 0) return showForm(view, given, problems);
  const { restaurants, ...client } = given;
  const { clientId, secret } = await ports.support.createClient(actor, { ...client, tenants: restaurants });
  return page({
    title: t.doneTitle,
    body: secretOnce(view, {
      text: t.doneText,
      values: [
        { id: 'client-id', label: t.clientId, value: clientId },
        { id: 'client-secret', label: t.secret, value: secret },
      ],
      warning: t.once,
      done: { path: clientPath(clientId), label: t.toClient },
    }),
  });
};

const showForm = async (view: View, given: Given, problems: Problems = {}): Promise<Answer> => {
  const { texts, csrfField } = view;
  const t = texts.support.newClient;
  const isRefused = Object.keys(problems).length > 0;
  const nameNote = fieldNote('name', problems.name, t.nameHint);
  return page({
    title: t.title,
    status: isRefused ? 422 : 200,
    body: html`${isRefused && message({ tone: 'bad', text: texts.support.correct })}
<form method="post" action="${listPath}/new">${csrfField}
<label>${t.name}<input name="name" required maxlength="${nameLengthMax}" autocomplete="off" value="${given.name}"${nameNote.attributes}></label>
${nameNote.line}
${await restaurantChoice(view, { title: t.restaurantsTitle, chosen: given.restaurants, problem: problems.restaurants })}
${scopeChoice(view, { held: given.scopes, problem: problems.scopes })}
<details${(given.mayIntrospect || given.dpopRequired) && html` open`}><summary>${t.more}</summary>
<label class="check"><input type="checkbox" name="dpop"${given.dpopRequired && html` checked`}>${t.dpop}</label>
<label class="check"><input type="checkbox" name="introspect"${given.mayIntrospect && html` checked`}>${t.introspect}</label>
</details>
<div class="row"><button class="primary">${t.submit}</button><a class="button" href="${listPath}">${texts.support.cancel}</a></div>
</form>`,
  });
};
