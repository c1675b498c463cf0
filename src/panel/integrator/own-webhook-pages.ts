/** The webhook endpoints that the contact's client created at the API, and the log of their deliveries. Nothing changes here. */
import { addressOf, refreshOn } from '../live/refresh-on.ts';
import { type Answer, notFound } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readCursor } from '../page/read-query.ts';
import type { OwnClient, OwnEndpoint } from '../ports/portal.ts';
import type { DeliveryAttempt } from '../ports/restaurant.ts';
import { badge } from '../view/badge.ts';
import { breakable } from '../view/breakable.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { attemptOutcome, isConfirmed } from '../webhooks/attempt-parts.ts';
import { deliveryState } from '../webhooks/delivery-parts.ts';
import { endpointNow, endpointSettings } from '../webhooks/endpoint-parts.ts';
import { nextTry } from '../webhooks/next-try.ts';
import { clientPage, contactRoles, mayNot, ownClientPath, pathOfOwnClient, requestedClient } from './portal-parts.ts';
import { ownDeliveriesTopic } from './topics.ts';

const webhooksPath = `${ownClientPath}/webhooks`;

export const ownWebhookPages: readonly Page[] = [
  {
    method: 'GET',
    path: webhooksPath,
    roles: contactRoles,
    nav: (texts) => texts.portal.webhooks.nav,
    topics: [ownDeliveriesTopic],
    handle: (view) => list(view),
  },
  {
    method: 'GET',
    path: `${webhooksPath}/:endpoint`,
    roles: contactRoles,
    topics: [ownDeliveriesTopic],
    handle: (view) => showEndpoint(view),
  },
  {
    method: 'GET',
    path: `${webhooksPath}/:endpoint/deliveries/:delivery`,
    roles: contactRoles,
    topics: [ownDeliveriesTopic],
    handle: (view) => showDelivery(view),
  },
];

/** Of the element that fetches itself again when a delivery or the health of an endpoint changes. */
const liveAttributes = (view: View): Html =>
  html`id="own-webhooks" ${refreshOn('own-webhooks', addressOf(view), ownDeliveriesTopic)}`;

const pathOfEndpoint = (clientId: string, uid?: string): string =>
  pathOfOwnClient(clientId, uid === undefined ? '/webhooks' : `/webhooks/${encodeURIComponent(uid)}`);

const list = async (view: View): Promise<Answer> => {
  const client = await requestedClient(view);
  const t = view.texts.portal.webhooks;
  return clientPage(view, client, {
    title: t.title(client.name),
    body: html`<p>${t.intro}</p><div ${liveAttributes(view)}>${client.mayRead.has('webhook.endpoints') ? await endpointList(view, client) : mayNot(view)}</div>
<p><a href="/docs/webhooks">${view.texts.integrator.webhooks}</a></p>`,
  });
};

const endpointList = async (view: View, { clientId }: OwnClient): Promise<Html> => {
  const { texts, ports } = view;
  const t = texts.portal.webhooks;
  const { url, state, lastSuccess, never } = texts.restaurant.webhooks;
  const after = readCursor(view);
  const { items, next } = await ports.portal.endpoints(clientId, after);
  const restaurants = await ports.portal.restaurants(clientId, undefined);
  const names = new Map(restaurants.items.map(({ restuid, name }) => [restuid, name]));
  const rows = items.map((endpoint) => [
    html`<a href="${pathOfEndpoint(clientId, endpoint.uid)}">${breakable(endpoint.url)}</a>${
      endpoint.description !== null && html`<br><span class="hint">${endpoint.description}</span>`
    }`,
    names.get(endpoint.tenant) ?? html`<code>${endpoint.tenant}</code>`,
    badge(endpoint.enabled ? 'good' : 'plain', endpoint.enabled ? t.on : t.off),
    endpoint.lastSuccess === null ? never : time(endpoint.lastSuccess, 'relative'),
  ]);
  const isOnlyPage = after === undefined && next === undefined;
  return html`${
    rows.length === 0
      ? html`<p>${isOnlyPage ? t.empty : t.noneHere}</p>`
      : table({ caption: t.caption, columns: [url, t.restaurant, state, lastSuccess], rows })
  }${pager(view, { after, next, pathOf: (cursor) => withQuery(pathOfEndpoint(clientId), { after: cursor }) })}`;
};

/** The client and the endpoint of the path; undefined when the client could not read it at the API. */
const requestedEndpoint = async (view: View): Promise<{ client: OwnClient; endpoint: OwnEndpoint } | undefined> => {
  const client = await requestedClient(view);
  const endpoint = await view.ports.portal.endpoint(client.clientId, view.params.endpoint ?? '');
  return endpoint && { client, endpoint };
};

const showEndpoint = async (view: View): Promise<Answer> => {
  const found = await requestedEndpoint(view);
  if (found === undefined) return notFound();
  const { client, endpoint } = found;
  const { texts, ports } = view;
  const t = texts.portal.webhooks;
  const d = texts.restaurant.deliveries;
  const path = pathOfEndpoint(client.clientId, endpoint.uid);
  const after = readCursor(view);
  const { items, next } = await ports.portal.deliveries(client.clientId, endpoint, after);
  return clientPage(view, client, {
    title: endpoint.description ?? endpoint.url,
    body: html`<div ${liveAttributes(view)}>${endpointNow(view, endpoint)}${endpointSettings(view, endpoint, client.name)}
<h2>${t.deliveries}</h2>${
      items.length === 0
        ? client.mayRead.has('webhook.deliveries')
          ? html`<p>${t.noDeliveries}</p>`
          : mayNot(view)
        : table({
            caption: t.deliveriesCaption,
            columns: [d.event, d.state, { title: d.attempts, kind: 'number' }, d.next, d.created],
            rows: items.map((delivery) => [
              html`<a href="${path}/deliveries/${encodeURIComponent(delivery.uid)}">${delivery.event}</a><br><code class="hint">${delivery.entity}</code>`,
              deliveryState(view, delivery),
              delivery.attemptsCount,
              delivery.nextTry === undefined ? d.none : nextTry(view, delivery.nextTry),
              time(delivery.created),
            ]),
          })
    }${pager(view, { after, next, pathOf: (cursor) => withQuery(path, { after: cursor }) })}</div>`,
  });
};

const showDelivery = async (view: View): Promise<Answer> => {
  const found = await requestedEndpoint(view);
  if (found === undefined) return notFound();
  const { client, endpoint } = found;
  const delivery = await view.ports.portal.delivery(client.clientId, endpoint, view.params.delivery ?? '');
  if (delivery === undefined) return notFound();
  const t = view.texts.portal.webhooks;
  const d = view.texts.restaurant.deliveries;
  const { attempts } = delivery;
  return clientPage(view, client, {
    title: t.delivery(delivery.event),
    body: html`<div ${liveAttributes(view)}><p>${deliveryState(view, delivery)}${delivery.nextTry !== undefined && html` ${d.next}: ${nextTry(view, delivery.nextTry)}.`}</p>
<dl class="facts">
<dt>${d.about}</dt><dd><code>${delivery.entity}</code></dd>
<dt>${d.eventId}</dt><dd><code>${delivery.eventId}</code></dd>
<dt>${d.uid}</dt><dd><code>${delivery.uid}</code></dd>
<dt>${d.created}</dt><dd>${time(delivery.created)}</dd></dl>
<h2>${d.attempts}</h2>${attempts.length === 0 ? html`<p>${d.noAttempt}</p>` : attempts.map((one) => attemptCard(view, one)).reverse()}</div>
<p><a href="${pathOfEndpoint(client.clientId, endpoint.uid)}">${t.back}</a></p>`,
  });
};

const attemptCard = (view: View, attempt: DeliveryAttempt): Html => {
  const d = view.texts.restaurant.deliveries;
  return html`<section class="card"><h3>${d.attempt(attempt.number)} · ${time(attempt.started)} · ${
    isConfirmed(attempt) ? badge('good', d.confirmed) : badge('bad', d.failed)
  }</h3>${attemptOutcome(view, attempt)}</section>`;
};
