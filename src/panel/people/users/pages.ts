/** Staff accounts, for administrators: list, sessions, one-time links, disabling. */

import { addressOf, refreshOn } from '../../live/refresh-on.ts';
import { type Answer, notFound, page, redirect } from '../../page/answer.ts';
import { historyFact } from '../../page/history-link.ts';
import { type Html, html } from '../../page/html.ts';
import type { Page, View } from '../../page/page.ts';
import { withQuery } from '../../page/page-path.ts';
import { readCursor } from '../../page/read-query.ts';
import { Refusal } from '../../page/refusal.ts';
import type { Role } from '../../ports/role.ts';
import type { ListedUser } from '../../ports/staff.ts';
import { pathOfRestaurant } from '../../restaurant/paths.ts';
import { clientPath } from '../../support/client-table.ts';
import { badge } from '../../view/badge.ts';
import { confirmPage } from '../../view/confirm-page.ts';
import { pager } from '../../view/pager.ts';
import { table } from '../../view/table.ts';
import { time } from '../../view/time.ts';
import { sessionFacts, sessionTable } from '../account/session-table.ts';
import { accessPages } from './access-pages.ts';
import { factorPages } from './factor-pages.ts';
import { invitePages } from './invite-pages.ts';
import { mailChoice } from './one-time-link.ts';
import { usersPath } from './paths.ts';
import { secondFactorOf } from './second-factor.ts';
import { usersTopic } from './topics.ts';

const pageMax = 50;
const roles: readonly Role[] = ['admin'];

type ChangeName = 'disable' | 'enable' | 'remove-totp' | 'remove-passkeys' | 'end-session' | 'end-sessions';
type AskedName = Exclude<ChangeName, 'enable'>;

const change = (name: ChangeName, make: (view: View, email: string) => Promise<unknown>): Page => ({
  method: 'POST',
  path: `/users/:user/${name}`,
  roles,
  handle: async (view) => {
    const user = await view.ports.staff.users.find(view.params.user ?? '');
    if (user === undefined) return notFound();
    // An administrator who did this by mistake could not undo it.
    if (user.userId === view.user.id) throw new Refusal('CONFLICT', view.texts.users.notYourself);
    await make(view, user.email);
    const changed = name === 'enable' ? await view.ports.staff.users.find(user.userId) : undefined;
    const t = view.texts.users;
    const done = changed?.state === 'invited' ? t.enabledInvited : t.done[name];
    return redirect(`${usersPath}/${user.userId}`, { tone: 'good', text: done(user.email) });
  },
});

/** The page that asks for confirmation before a change takes something from an account. */
const question = (name: AskedName, submitOf: (texts: View['texts']) => string): Page => ({
  method: 'GET',
  path: `/users/:user/${name}`,
  roles,
  handle: async (view) => {
    const { ports, texts, query } = view;
    const user = await ports.staff.users.find(view.params.user ?? '');
    if (user === undefined) return notFound();
    if (user.userId === view.user.id) throw new Refusal('CONFLICT', texts.users.notYourself);
    const back = `${usersPath}/${user.userId}`;
    const t = texts.users.ask[name];
    const id = name === 'end-session' ? (query.get('session') ?? '') : undefined;
    const session = (await ports.staff.own.sessions(user.userId)).find((one) => one.id === id);
    if (id !== undefined && session === undefined) return redirect(back);
    return confirmPage(view, {
      title: t.title(user.email),
      body: html`${session && sessionFacts(texts, session)}<p>${t.text}</p>`,
      action: `${back}/${name}`,
      fields: session === undefined ? [] : [['session', session.id]],
      submit: submitOf(texts),
      back,
    });
  },
});

export const usersPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/users',
    roles,
    topics: [usersTopic],
    nav: (texts) => texts.users.title,
    handle: (view) => listPage(view),
  },
  { method: 'GET', path: '/users/:user', roles, topics: [usersTopic], handle: (view) => userPage(view) },
  ...invitePages,
  ...accessPages,
  ...factorPages,
  change('disable', ({ ports, actor }, email) => ports.staff.users.disable(actor, email)),
  question('disable', ({ users: t }) => t.disable),
  question('remove-totp', ({ account: t }) => t.totpRemove),
  question('remove-passkeys', ({ passkeys: t }) => t.removeAll),
  question('end-session', ({ account: t }) => t.endSessionNow),
  question('end-sessions', ({ users: t }) => t.endSessions),
  change('enable', ({ ports, actor }, email) => ports.staff.users.enable(actor, email)),
  change('remove-totp', ({ ports, actor }, email) => ports.staff.users.removeTotp(actor, email)),
  change('remove-passkeys', ({ ports, actor }, email) => ports.staff.users.removePasskeys(actor, email)),
  change('end-session', ({ ports, actor, address, params, form }) =>
    ports.staff.own.endSession(params.user ?? '', form.get('session') ?? '', { actor, address }),
  ),
  change('end-sessions', ({ ports, actor, address, params }) =>
    ports.staff.own.endSessions(params.user ?? '', { actor, address }),
  ),
];

const listPage = async (view: View): Promise<Answer> => {
  const { ports, query, texts, path } = view;
  const t = texts.users;
  const found = await ports.staff.users.list(readCursor(view) ?? '', pageMax + 1);
  const shown = found.slice(0, pageMax);
  const last = shown.at(-1);
  return page({
    title: t.title,
    body: html`<p class="row"><a class="button primary" href="${usersPath}/new">${t.invite}</a><a class="button" href="${usersPath}/second-factor">${texts.factor.title}</a></p>
<div id="users" ${refreshOn('users', addressOf({ path, query }), usersTopic)}>${table({
      caption: t.title,
      isCaptionHidden: true,
      columns: [texts.signIn.email, texts.account.role, t.state, t.secondFactor, t.created],
      rows: shown.map((user) => [
        html`<a href="${usersPath}/${user.userId}">${user.email}</a>`,
        texts.frame.roles[user.role],
        stateBadge(user, texts),
        secondFactorOf(texts, user),
        time(user.created, 'day'),
      ]),
    })}</div>
${pager({ texts }, { next: found.length > pageMax ? last?.email : undefined, pathOf: (after) => withQuery(usersPath, { after }) })}`,
  });
};

const stateBadge = ({ state }: ListedUser, { users: t }: View['texts']): Html =>
  badge(state === 'active' ? 'good' : state === 'disabled' ? 'bad' : 'warn', t.states[state]);

type Link = { path: string; name: string };

/** A row of facts; nothing without links. */
const linkList = (title: string, links: readonly Link[]): Html | false =>
  links.length > 0 &&
  html`<dt>${title}</dt><dd>${links.map(({ path, name }, index) => html`${index > 0 && ', '}<a href="${path}">${name}</a>`)}</dd>`;

/** One that is not there any more has its id as its name. */
const linksOf = (ids: readonly string[], names: ReadonlyMap<string, string>, pathOf: (id: string) => string): Link[] =>
  ids.map((id) => ({ path: pathOf(id), name: names.get(id) ?? id }));

const restaurantLinks = async ({ ports }: View, { restaurants }: ListedUser): Promise<Link[]> => {
  if (restaurants.length === 0) return [];
  const found = await ports.support.namesOf(restaurants);
  return linksOf(restaurants, new Map(found.map(({ restuid, name }) => [restuid, name])), (id) => pathOfRestaurant(id));
};

const clientLinks = async ({ ports }: View, { clients }: ListedUser): Promise<Link[]> => {
  if (clients.length === 0) return [];
  const found = await ports.portal.namesOf(clients);
  return linksOf(clients, new Map(found.map(({ clientId, name }) => [clientId, name])), clientPath);
};

const userPage = async (view: View): Promise<Answer> => {
  const { ports, params, texts, csrfField } = view;
  const t = texts.users;
  const user = await ports.staff.users.find(params.user ?? '');
  if (user === undefined) return notFound();
  const sessions = await ports.staff.own.sessions(user.userId);
  const restaurants = await restaurantLinks(view, user);
  const clients = await clientLinks(view, user);
  const path = `${usersPath}/${user.userId}`;
  const button = (name: string, label: string, more?: Html | false): Html =>
    html`<form method="post" action="${path}/${name}" class="row">${csrfField}<button>${label}</button>${more}</form>`;
  const asking = (name: AskedName, label: string): Html =>
    html`<a class="button" id="ask-${name}" href="${path}/${name}">${label}</a>`;
  const isOther = user.userId !== view.user.id;
  return page({
    title: user.email,
    body: html`<dl class="facts"><dt>${texts.account.role}</dt><dd>${texts.frame.roles[user.role]}</dd>
<dt>${t.state}</dt><dd>${stateBadge(user, texts)}</dd>
<dt>${t.secondFactor}</dt><dd>${secondFactorOf(texts, user)}</dd>
${user.passkeys > 0 && html`<dt>${texts.passkeys.title}</dt><dd>${user.passkeys}</dd>`}
${linkList(t.restaurants, restaurants)}${linkList(texts.support.clients.title, clients)}
<dt>${t.created}</dt><dd>${time(user.created)}</dd>
${historyFact(view, { user: user.userId })}</dl>
${
  isOther &&
  html`<div class="row"><a class="button" href="${path}/access">${t.changeAccess}</a>
${user.state !== 'disabled' && button('link', t.makeLink, mailChoice(view))}
${user.totp && asking('remove-totp', texts.account.totpRemove)}
${user.passkeys > 0 && asking('remove-passkeys', texts.passkeys.removeAll)}
${user.state === 'disabled' ? button('enable', t.enable) : asking('disable', t.disable)}</div>`
}
<h2>${isOther ? t.sessions : texts.account.sessions}</h2>
<div id="sessions" ${refreshOn('sessions', path, usersTopic)}>${sessionTable(view, sessions, isOther ? `${path}/end-session` : '/panel/account/sessions/end')}</div>
${isOther && sessions.length > 0 && html`<p>${asking('end-sessions', t.endSessions)}</p>`}`,
  });
};
