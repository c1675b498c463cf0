/** The recent use of a client, and its scopes: withdraw the unused ones, or choose them again. */

import { newsLink, newsSlot } from '../live/news.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { assertAsShown, basisField } from '../page/form-basis.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readChoice } from '../page/read-query.ts';
import type { ClientUse, ShownClient } from '../ports/support.ts';
import { badge } from '../view/badge.ts';
import { breakable } from '../view/breakable.ts';
import { confirmChange, confirmPage, isConfirmed } from '../view/confirm-page.ts';
import { message } from '../view/layout.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { clientPath } from './client-table.ts';
import { supportRoles } from './roles.ts';
import { readScopes, scopeChoice } from './scope-choice.ts';
import { callsTopic, credentialsTopic } from './topics.ts';

const periods = [7, 30, 90] as const;
export const daysDefault = 30;

export const usePages: readonly Page[] = [
  {
    method: 'GET',
    path: '/clients/:client/use',
    roles: supportRoles,
    nav: (texts) => texts.support.use.nav,
    topics: [callsTopic, credentialsTopic],
    handle: (view) => showUse(view),
  },
  {
    method: 'GET',
    path: '/clients/:client/use/news',
    roles: supportRoles,
    handle: ({ params, query, texts }) =>
      newsLink(texts.support.use.news, hrefOf(params.client ?? '', periodOf({ query, texts }))),
  },
  { method: 'GET', path: '/clients/:client/shrink', roles: supportRoles, handle: (view) => askToShrink(view) },
  { method: 'POST', path: '/clients/:client/shrink', roles: supportRoles, handle: (view) => shrink(view) },
  { method: 'GET', path: '/clients/:client/scopes', roles: supportRoles, handle: (view) => showScopes(view) },
  { method: 'POST', path: '/clients/:client/scopes', roles: supportRoles, handle: (view) => saveScopes(view) },
];

/** The period in days, from the query or from the fields of a form. */
const periodOf = ({ texts, query }: Pick<View, 'texts' | 'query'>): number =>
  readChoice({ texts, query }, 'days', periods) ?? daysDefault;

const hrefOf = (clientId: string, days: number): string => `${usePath(clientId)}?days=${days}`;

const usePath = (clientId: string): string => `${clientPath(clientId)}/use`;

const showUse = async (view: View): Promise<Answer> => {
  const { params, query, ports, texts, actor } = view;
  const client = await ports.support.showClient(params.client ?? '');
  const days = periodOf({ query, texts });
  const [use] = await ports.support.clientUse(actor, [client], days);
  if (use === undefined) throw new Error('the port returned no use for the client');
  const t = texts.support.use;
  return page({
    title: t.title(client.name),
    body: html`${newsSlot(`${usePath(client.clientId)}/news?days=${days}`, callsTopic, credentialsTopic)}
<form method="get" action="${usePath(client.clientId)}" class="row">
<label class="inline">${t.days} <select name="days">${periods.map(
      (one) => html`<option value="${one}"${one === days && html` selected`}>${t.daysOf(one)}</option>`,
    )}</select></label><button>${t.show}</button></form>
<p>${t.since} ${time(use.since)}: <strong>${use.calls}</strong></p>
${use.calls === 0 && html`<p class="message warn">${t.none} <a href="${clientPath(client.clientId)}#stop">${t.toQuarantine}</a></p>`}
<h2>${t.scopesTitle}</h2>
${shrinkPart(view, client, use, days)}
${scopeTable(view, use)}
${client.state !== 'revoked' && html`<p><a class="button" href="${clientPath(client.clientId)}/scopes">${texts.support.client.changeScopes}</a></p>`}
${use.routes.length > 0 && operations(view, use)}
<h2>${t.refusals}</h2>
${use.refusals.length === 0 ? html`<p>${t.noRefusals}</p>` : refusals(view, use)}`,
  });
};

const shrinkPart = ({ texts }: View, client: ShownClient, use: ClientUse, days: number): Html | false => {
  if (client.state === 'revoked' || use.calls === 0) return false;
  const t = texts.support.use;
  const count = use.scopes.length - use.proposed.length;
  if (count === 0) return html`<p>${t.allUsed}</p>`;
  if (use.partial) return html`<p>${t.partial}</p>`;
  return html`<div class="card"><h3>${t.shrinkTitle}</h3><p>${t.shrinkText(count)}</p>
<a class="button" href="${shrinkPath(client.clientId)}?days=${days}">${t.shrink(count)}</a></div>`;
};

/** Path of the page that asks for confirmation before unused scopes are withdrawn. */
export const shrinkPath = (clientId: string): string => `${clientPath(clientId)}/shrink`;

const unusedPath = '/panel/clients/unused-scopes';

const backOf = (fields: URLSearchParams, clientId: string): string =>
  fields.get('back') === 'unused' ? unusedPath : usePath(clientId);

/** The form lists the scopes to withdraw, so one that was granted after the page was shown stays. */
const askToShrink = async (view: View): Promise<Answer> => {
  const { params, query, ports, texts, actor } = view;
  const client = await ports.support.showClient(params.client ?? '');
  const days = periodOf({ query, texts });
  const [use] = await ports.support.clientUse(actor, [client], days);
  const back = backOf(query, client.clientId);
  const left = use?.scopes.map(({ name }) => name).filter((name) => !use.proposed.includes(name)) ?? [];
  const isOffered = use !== undefined && client.state !== 'revoked' && use.calls > 0 && !use.partial && left.length > 0;
  if (!isOffered) return redirect(back);
  const t = texts.support.use;
  return confirmPage(view, {
    title: texts.support.unused.shrinkTitle(left.length, client.name),
    body: html`<p>${t.shrinkText(left.length)}</p>${scopeList(view, left)}<p class="hint">${t.since} ${time(use.since)}</p>`,
    action: shrinkPath(client.clientId),
    fields: [
      ...left.map((name) => ['unused', name] as const),
      ['days', String(days)],
      ['back', query.get('back') === 'unused' ? 'unused' : ''],
    ],
    submit: t.shrink(left.length),
    back,
  });
};

const scopeList = ({ texts, ports }: View, names: readonly string[]): Html => {
  const described = new Map(ports.support.scopes.map(({ name, description }) => [name, description]));
  return html`<ul>${names.map(
    (name) =>
      html`<li>${texts.support.scopeChoice.describe(name, described.get(name) ?? '')} <code>${name}</code></li>`,
  )}</ul>`;
};

const scopeTable = ({ texts, ports }: View, use: ClientUse): Html => {
  const t = texts.support.use;
  const described = new Map(ports.support.scopes.map(({ name, description }) => [name, description]));
  return table({
    caption: t.scopesCaption,
    columns: [t.scope, t.calls, t.last],
    rows: use.scopes.map(({ name, calls, last }) => [
      html`${texts.support.scopeChoice.describe(name, described.get(name) ?? '')} <code>${name}</code>`,
      calls,
      last === null ? badge('warn', t.unused) : time(last, 'relative'),
    ]),
  });
};

const operations = ({ texts }: View, use: ClientUse): Html => {
  const t = texts.support.use;
  return html`<h2>${t.operations}</h2>${table({
    caption: t.operationsCaption,
    columns: [t.operation, t.calls, t.last],
    rows: use.routes.map(({ method, path, calls, last }) => [
      html`<code>${method} ${breakable(path)}</code>`,
      calls,
      time(last, 'relative'),
    ]),
  })}`;
};

const refusals = ({ texts }: View, use: ClientUse): Html => {
  const t = texts.support.use;
  const reasons: Readonly<Record<string, { title: string }>> = texts.integrator.reasons;
  return table({
    caption: t.refusalsCaption,
    columns: [t.operation, t.reason, t.calls, t.last],
    rows: use.refusals.map(({ path, reason, calls, last }) => [
      html`<code>${breakable(path ?? '–')}</code>`,
      reason === null ? '–' : (reasons[reason]?.title ?? html`<code>${reason}</code>`),
      calls,
      time(last, 'relative'),
    ]),
  });
};

const shrink = async ({ params, form, ports, actor, texts }: View): Promise<Answer> => {
  const client = await ports.support.showClient(params.client ?? '');
  const { clientId } = client;
  // Scopes that were used after the page was shown are kept.
  const [use] = await ports.support.clientUse(actor, [client], periodOf({ query: form, texts }));
  const unused = form.getAll('unused').filter((name) => use?.proposed.includes(name) !== true);
  const left = await ports.support.shrinkScopes(actor, clientId, unused);
  const text = texts.support.use.shrunk(left.length, client.name);
  return redirect(backOf(form, clientId), { tone: 'good', text });
};

const showScopes = async (view: View, problem?: string): Promise<Answer> => {
  const { params, form, ports, texts, csrfField } = view;
  const client = await ports.support.showClient(params.client ?? '');
  const t = texts.support.scopes;
  const back = usePath(client.clientId);
  if (client.state === 'revoked') return redirect(clientPath(client.clientId));
  return page({
    title: t.title(client.name),
    status: problem === undefined ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: texts.support.correct })}
<p>${t.text}</p>
<form method="post" action="${clientPath(client.clientId)}/scopes" autocomplete="off">${csrfField}${basisField(view, 'scopes', basisOf(client))}
${scopeChoice(view, { held: problem === undefined ? client.scopes : readScopes(form), problem })}
<div class="row"><button class="primary">${t.submit}</button><a class="button" href="${back}">${texts.support.cancel}</a></div></form>`,
  });
};

/** Null is another value than a list of all scopes: later ones are included. */
const basisOf = ({ scopes }: ShownClient): readonly unknown[] => scopes ?? [null];

const saveScopes = async (view: View): Promise<Answer> => {
  const { params, form, ports, actor, texts } = view;
  const scopes = readScopes(form);
  if (scopes?.length === 0) return showScopes(view, texts.support.scopeChoice.problem);
  const client = await ports.support.showClient(params.client ?? '');
  const check = (stored: ShownClient) =>
    assertAsShown(view, 'scopes', basisOf(stored), `${clientPath(client.clientId)}/scopes`);
  check(client);
  const lost = lostScopes(view, client, scopes);
  if (!isConfirmed(view, lost)) return askToLose(view, client, lost);
  await ports.support.setScopes(actor, client.clientId, scopes, check);
  return redirect(usePath(client.clientId), { tone: 'good', text: texts.support.scopes.saved(client.name) });
};

/** Scopes that the client has now and would lose. */
const lostScopes = ({ ports }: View, client: ShownClient, next: readonly string[] | null): string[] => {
  const held = client.scopes ?? ports.support.scopes.map(({ name }) => name);
  return next === null ? [] : held.filter((name) => !next.includes(name));
};

const askToLose = (view: View, client: ShownClient, lost: readonly string[]): Answer => {
  const { texts } = view;
  const path = `${clientPath(client.clientId)}/scopes`;
  return confirmChange(view, {
    title: texts.support.unused.shrinkTitle(lost.length, client.name),
    ends: lost,
    body: html`<p>${texts.support.scopes.text}</p>${scopeList(view, lost)}`,
    action: path,
    submit: texts.support.use.shrink(lost.length),
    back: path,
  });
};
