/** The start page of a contact: each of the API clients, with its state, its use of today, its newest refusal and endpoints that fail. */
import { pathOfOwnClient, portalPath } from '../integrator/portal-parts.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import type { LimitedCaller } from '../ports/limits.ts';
import type { OwnClient } from '../ports/portal.ts';
import { credentialBadge } from '../view/badge.ts';
import { time } from '../view/time.ts';
import { card } from './card.ts';

/** Each takes some statements. */
const clientsMax = 6;

export const contactCards = async (view: View): Promise<Html> => {
  const { user, ports, texts } = view;
  const clients = (await ports.portal.namesOf(user.clients)).slice(0, clientsMax);
  if (clients.length === 0) return html`<p>${texts.portal.none}</p>`;
  const cards: Html[] = [];
  for (const { clientId } of clients) cards.push(await clientCard(view, clientId));
  return html`<div class="figures">${cards}</div>${
    user.clients.length > clients.length &&
    html`<p class="hint">${texts.overview.own.more(clients.length, user.clients.length)} <a href="/panel${portalPath}">${texts.portal.title}</a></p>`
  }`;
};

/** Shows what the client may read at the API, as the pages of the portal do. */
const clientCard = async (view: View, clientId: string): Promise<Html> => {
  const { ports, texts } = view;
  const client = await ports.portal.show(clientId);
  const t = texts.overview.own;
  return card({
    id: clientId,
    title: client.name,
    body: html`<dl class="facts">
<dt>${texts.support.client.state}</dt><dd>${credentialBadge(client.state, texts.support.clients.states)}</dd>
${await usageRows(view, client)}
${await refusalRow(view, client)}${await endpointsRow(view, client)}</dl>`,
    link: { path: pathOfOwnClient(clientId), label: t.show },
  });
};

const usageRows = async ({ ports, texts }: View, client: OwnClient): Promise<Html | false> => {
  if (!client.mayRead.has('whoami.usage')) return false;
  const caller = await ports.limits.show('client', client.clientId);
  const t = texts.overview.own;
  const today = caller.days.at(-1);
  return html`<dt>${t.requests}</dt><dd>${today?.requests ?? 0}${usedShares(texts, caller)}</dd>
${today !== undefined && today.limited > 0 && html`<dt>${t.limited}</dt><dd>${today.limited}</dd>`}`;
};

const usedShares = (texts: View['texts'], { limits, dayUnits, monthUnits }: LimitedCaller): Html | false => {
  const t = texts.overview.limited;
  const share = (units: number, limit: number | undefined, period: 'day' | 'month'): string | false =>
    limit !== undefined && limit > 0 && t.used(Math.round((100 * units) / limit), period);
  const says = [share(dayUnits, limits.day, 'day'), share(monthUnits, limits.month, 'month')].filter(
    (text) => text !== false,
  );
  return says.length > 0 && html`<br><span class="hint">${says.join(' · ')}</span>`;
};

const refusalRow = async ({ ports, texts }: View, client: OwnClient): Promise<Html | false> => {
  const { requests } = ports;
  if (!client.mayRead.has('whoami.requests') || requests.days === 0) return false;
  const none = { route: undefined, code: undefined, requestId: undefined, restaurant: undefined };
  const filter = { ...none, since: undefined, until: undefined, status: '4xx' as const };
  const [newest] = (await requests.list(client.clientId, filter, undefined)).items;
  const t = texts.overview.own;
  const path = withQuery(pathOfOwnClient(client.clientId, '/requests'), { status: '4xx' });
  return html`<dt>${t.refusal}</dt><dd>${
    newest === undefined
      ? t.noRefusal(requests.days)
      : html`<a href="${path}"><code>${newest.code ?? newest.status}</code></a> <span class="hint">${time(newest.at, 'relative')}</span>`
  }</dd>`;
};

const endpointsRow = async ({ ports, texts }: View, client: OwnClient): Promise<Html | false> => {
  if (!client.mayRead.has('webhook.endpoints')) return false;
  const { items, next } = await ports.portal.endpoints(client.clientId, undefined);
  const failing = items.filter(({ enabled, failingSince }) => enabled && failingSince !== null).length;
  const count = `${failing}${next === undefined ? '' : '+'}`;
  const path = pathOfOwnClient(client.clientId, '/webhooks');
  return html`<dt>${texts.overview.own.endpoints}</dt><dd>${failing === 0 ? count : html`<a href="${path}">${count}</a>`}</dd>`;
};
