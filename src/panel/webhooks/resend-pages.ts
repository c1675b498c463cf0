/** Sends again exactly what a filter of the log shows, after a page that says how many events these are. */
import { createHash } from 'node:crypto';
import { Fault } from '#src/contract/fault.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import type { EventsOfEndpoint, WebhookEndpoint } from '../ports/restaurant.ts';
import { pathOfRestaurant, requestedRestaurant, restaurantPath, restaurantRoles } from '../restaurant/paths.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { type DeliveryFilter, pathOfDeliveries, readDeliveryFilter, searchOf, wordsOf } from './delivery-filter.ts';

/** chosen: the events of one endpoint are queued in one transaction, which stays short with so many. */
const resentMax = 250;

const resendPath = '/deliveries/redeliver';

export const pathOfResend = (restuid: string, filter: DeliveryFilter): string =>
  withQuery(pathOfRestaurant(restuid, resendPath), wordsOf(filter));

/** What a filter shows. `sendable`: events of endpoints that are enabled; `left`: endpoints that get nothing. */
type Plan = {
  sendable: { events: EventsOfEndpoint; endpoint: WebhookEndpoint }[];
  left: { endpointUid: string; endpoint: WebhookEndpoint | undefined }[];
  count: number;
};

/** Undefined for more than can be sent again at once. `through`: later deliveries are not among them. */
const planOf = async (
  { ports }: View,
  restuid: string,
  filter: DeliveryFilter,
  through: Date,
): Promise<Plan | undefined> => {
  const { deliveries, endpoints } = ports.restaurant;
  const found = await deliveries.resendable(restuid, { ...searchOf(filter, through), through }, resentMax);
  if (found === undefined) return undefined;
  const plan: Plan = { sendable: [], left: [], count: 0 };
  for (const events of found) {
    const endpoint = await endpoints.find(restuid, events.endpointUid);
    if (endpoint?.enabled === true) {
      plan.sendable.push({ events, endpoint });
      plan.count += events.eventIds.length;
    } else plan.left.push({ endpointUid: events.endpointUid, endpoint });
  }
  return plan;
};

const ask = async (view: View, filter: DeliveryFilter, through: Date, isChanged = false): Promise<Answer> => {
  const { restaurant: restuid = '' } = view.params;
  const t = view.texts.restaurant.deliveries.resend;
  const plan = await planOf(view, restuid, filter, through);
  const back = pathOfDeliveries(restuid, filter);
  const changed = isChanged && html`<p class="message warn" role="alert">${t.changed}</p>`;
  if (plan === undefined || plan.count === 0)
    return page({
      title: t.title,
      ...(isChanged && { status: 422 }),
      body: html`${changed}<p>${plan === undefined ? t.tooMany(resentMax) : t.nothing}</p>${plan !== undefined && leftOut(view, plan)}
<p><a class="button" href="${back}">${view.texts.restaurant.back}</a></p>`,
    });
  const asked = confirmPage(view, {
    title: t.title,
    body: html`${changed}<p>${t.text(plan.count)}</p>
<ul>${plan.sendable.map(({ events, endpoint }) => html`<li>${nameOf(endpoint)}: ${t.events(events.eventIds.length)}</li>`)}</ul>
${leftOut(view, plan)}<p class="hint">${t.hint}</p>`,
    action: pathOfRestaurant(restuid, resendPath),
    fields: [
      ...Object.entries(wordsOf(filter)).flatMap(([name, word]): [string, string][] =>
        word === undefined ? [] : [[name, word]],
      ),
      ['through', through.toISOString()],
      ['chosen', chosenOf(plan)],
    ],
    submit: t.now(plan.count),
    back,
  });
  return isChanged && asked.kind === 'page' ? { ...asked, status: 422 } : asked;
};

/** What the user confirms, in a short form: as many events may be others when it is sent, which fit the filter meanwhile. */
const chosenOf = ({ sendable }: Plan): string => {
  const chosen = sendable.map(({ events }) => [events.endpointUid, ...events.eventIds.toSorted()].join(' ')).toSorted();
  return createHash('sha256').update(chosen.join('\n')).digest('base64url');
};

const nameOf = ({ description, url }: WebhookEndpoint): string => description ?? url;

const leftOut = ({ texts }: View, { left }: Plan): Html | false =>
  left.length > 0 &&
  html`<p>${texts.restaurant.deliveries.resend.left}</p>
<ul>${left.map(({ endpoint, endpointUid }) => html`<li>${endpoint === undefined ? html`<code>${endpointUid}</code>` : nameOf(endpoint)}</li>`)}</ul>`;

/** The time of the page that asked; undefined when the field is not a time in the past. */
const throughOf = ({ form, now }: View): Date | undefined => {
  const text = form.get('through') ?? '';
  const through = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) ? new Date(text) : undefined;
  return through !== undefined && through <= now ? through : undefined;
};

const resend = async (view: View): Promise<Answer> => {
  const { restaurant: restuid = '' } = view.params;
  const t = view.texts.restaurant.deliveries;
  const filter = readDeliveryFilter({ query: view.form, texts: view.texts });
  const through = throughOf(view);
  const plan = through && (await planOf(view, restuid, filter, through));
  // Only what the user confirmed is sent.
  if (plan === undefined || plan.count === 0 || chosenOf(plan) !== view.form.get('chosen'))
    return ask(view, filter, view.now, true);
  const sent: { uid: string; queued: number }[] = [];
  for (const { events } of plan.sendable) {
    const redelivery = await unlessRefused(() =>
      view.ports.restaurant.deliveries.redeliverEvents(view.actor, restuid, events),
    );
    if (redelivery !== undefined) sent.push(redelivery);
  }
  const [first] = sent;
  if (first === undefined) return redirect(pathOfDeliveries(restuid, filter), { tone: 'bad', text: t.notSendable });
  const to = sent.length === 1 ? { redelivery: first.uid } : filter;
  const count = sent.reduce((sum, { queued }) => sum + queued, 0);
  return redirect(pathOfDeliveries(restuid, to), { tone: 'good', text: t.queued(count) });
};

/** Undefined for an endpoint that was disabled or removed meanwhile, and when none of its events is kept. */
const unlessRefused = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Fault && (error.code === 'NOT_FOUND' || error.code === 'CONFLICT')) return undefined;
    throw error;
  }
};

export const resendPages: readonly Page[] = [
  {
    method: 'GET',
    path: `${restaurantPath}${resendPath}`,
    roles: restaurantRoles,
    handle: async (view) =>
      (await requestedRestaurant(view)) === undefined ? notFound() : ask(view, readDeliveryFilter(view), view.now),
  },
  { method: 'POST', path: `${restaurantPath}${resendPath}`, roles: restaurantRoles, handle: resend },
];
