/** The log of deliveries: payload, attempts, reasons of failures, next attempt, redelivery. */
import { fragment, notFound, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readCursor } from '../page/read-query.ts';
import type { Delivery, WebhookEndpoint } from '../ports/restaurant.ts';
import { requestedRestaurant, restaurantPath, restaurantRoles } from '../restaurant/paths.ts';
import { deliveriesTopic } from '../restaurant/topics.ts';
import { filterForm, readDeliveryFilter, searchOf } from './delivery-filter.ts';
import { deliveryFacts, deliveryNow, deliveryTable, pathOfDelivery } from './delivery-parts.ts';
import { pathOfEndpoint } from './endpoint-parts.ts';
import { foldedJson } from './folded-json.ts';
import { redeliveryPages } from './redelivery-pages.ts';
import { pathOfResend, resendPages } from './resend-pages.ts';

const deliveriesPath = `${restaurantPath}/deliveries`;
const limit = 50;
/** How many endpoints are loaded for their names in the list and the filter; others appear by id. */
const endpointsMax = 100;

const showDeliveries = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { ports, now, texts } = view;
  const { restuid } = found;
  const filter = readDeliveryFilter(view);
  const after = readCursor(view);
  const search = searchOf(filter, now);
  const [deliveries, counts, endpoints, redelivery] = await Promise.all([
    ports.restaurant.deliveries.search(restuid, { ...search, after, limit }),
    ports.restaurant.deliveries.count(restuid, search),
    ports.restaurant.endpoints.list(restuid, { after: undefined, limit: endpointsMax }),
    filter.redelivery === undefined ? undefined : ports.restaurant.deliveries.redelivery(restuid, filter.redelivery),
  ]);
  const table = deliveryTable(view, {
    restuid,
    filter,
    after,
    limit,
    deliveries,
    counts,
    redelivery,
    endpoints: endpoints.items,
  });
  if (view.wantsFragment) return fragment(table);
  const t = texts.restaurant.deliveries;
  const again = filter.endpoint ?? (endpoints.items.length === 1 ? endpoints.items[0]?.uid : undefined);
  return page({
    title: t.title(found.name),
    body: html`<p>${filter.redelivery === undefined ? t.intro : t.ofRedelivery}</p>
${filterForm(view, restuid, filter, endpoints.items)}
<p class="row"><a class="button" href="${pathOfResend(restuid, filter)}">${t.resend.link}</a>${
      again !== undefined &&
      html` <a class="button" href="${pathOfEndpoint(restuid, again, '/redeliver')}">${t.manyLink}</a>`
    }</p>${table}`,
  });
};

const showDelivery = async (view: View) => {
  const { restaurant: restuid = '', delivery: uid = '' } = view.params;
  const delivery = await view.ports.restaurant.deliveries.find(restuid, uid);
  if (delivery === undefined) return notFound();
  const now = deliveryNow(view, restuid, delivery);
  if (view.wantsFragment) return fragment(now);
  const endpoint = await view.ports.restaurant.endpoints.find(restuid, delivery.endpointUid);
  const t = view.texts.restaurant.deliveries;
  const { body } = delivery;
  return page({
    title: delivery.event,
    body: html`${now}${sendAgain(view, restuid, delivery, endpoint)}
<h2>${t.details}</h2>${deliveryFacts(view, restuid, delivery, endpoint)}
<h2>${t.payload}</h2>${
      body === null
        ? html`<p>${t.noPayload}</p>`
        : html`${foldedJson(body, { id: 'payload', label: t.payload })}<pre id="payload-sent" hidden>${body}</pre>
<button type="button" data-copy="payload-sent">${t.copyPayload}</button>`
    }`,
  });
};

const sendAgain = (view: View, restuid: string, { uid }: Delivery, endpoint: WebhookEndpoint | undefined): Html => {
  const t = view.texts.restaurant.deliveries;
  if (endpoint === undefined) return html`<p class="hint">${t.endpointRemoved}</p>`;
  if (!endpoint.enabled)
    return html`<p>${t.endpointDisabled} <a href="${pathOfEndpoint(restuid, endpoint.uid)}">${endpoint.description ?? endpoint.url}</a></p>`;
  return html`<form method="post" action="${pathOfDelivery(restuid, uid, '/redeliver')}" class="row">${view.csrfField}
<button class="primary" aria-describedby="again-hint">${t.sendAgain}</button><span class="hint" id="again-hint">${t.sendAgainHint}</span></form>`;
};

export const deliveryPages: readonly Page[] = [
  {
    method: 'GET',
    path: deliveriesPath,
    roles: restaurantRoles,
    nav: (texts) => texts.restaurant.deliveries.nav,
    topics: [deliveriesTopic],
    handle: showDeliveries,
  },
  ...resendPages,
  {
    method: 'GET',
    path: `${deliveriesPath}/:delivery`,
    roles: restaurantRoles,
    topics: [deliveriesTopic],
    handle: showDelivery,
  },
  ...redeliveryPages,
];
