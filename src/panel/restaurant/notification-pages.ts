/** Kinds of events as switches: what the restaurant records and sends. */
import { Fault } from '#src/contract/fault.ts';
import { fragment, notFound, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { EventKind } from '../ports/restaurant.ts';
import { pathOfRestaurant, requestedRestaurant, restaurantPath, restaurantRoles } from './paths.ts';

export const kinds: readonly EventKind[] = ['customers', 'orders', 'loyaltylog', 'menu'];

export const knownKinds = (names: readonly string[]): EventKind[] =>
  names.flatMap((name) => kinds.find((kind) => kind === name) ?? []);

const path = `${restaurantPath}/notifications`;

const switches = async (view: View, restuid: string): Promise<Html> => {
  const { ports, texts } = view;
  const t = texts.restaurant.notifications;
  const on = await ports.restaurant.notifications.read(restuid);
  const { items: endpoints } = await ports.restaurant.endpoints.list(restuid, { after: undefined, limit: 100 });
  const received = new Set(endpoints.flatMap((endpoint) => (endpoint.enabled ? endpoint.kinds : [])));
  return html`<ul class="switches" id="switches">${kinds.map(
    (kind) => html`<li class="card row spread"><div><h2 class="flat" id="label-${kind}">${t.kinds[kind]}</h2>
<p class="hint" id="hint-${kind}">${t.hints[kind]}${
      on[kind] === true &&
      !received.has(kind) &&
      html` ${t.noEndpoint} <a href="${pathOfRestaurant(restuid, '/webhooks/new')}">${t.addEndpoint}</a>`
    }</p></div>${switchOf(view, restuid, kind, on[kind] === true)}</li>`,
  )}</ul>`;
};

const switchOf = ({ csrfField, texts }: View, restuid: string, kind: EventKind, isOn: boolean): Html => {
  const t = texts.restaurant.notifications;
  const address = pathOfRestaurant(restuid, '/notifications');
  return html`<form method="post" action="${address}" hx-post="${address}" hx-target="#switches" hx-swap="outerHTML">${csrfField}
<input type="hidden" name="kind" value="${kind}"><input type="hidden" name="on" value="${isOn ? '0' : '1'}">
<button class="switch" role="switch" id="switch-${kind}" aria-checked="${isOn ? 'true' : 'false'}" aria-labelledby="label-${kind}" aria-describedby="hint-${kind}">
<span class="track" aria-hidden="true"></span><span class="word">${isOn ? t.on : t.offState}</span></button></form>`;
};

const showSwitches = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const t = view.texts.restaurant.notifications;
  return page({
    title: t.title(found.name),
    body: html`<p>${t.intro}</p>${await switches(view, found.restuid)}<p class="hint">${t.off}</p>`,
  });
};

const setSwitch = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { form, ports, actor, texts } = view;
  const kind = kinds.find((one) => one === form.get('kind'));
  const on = form.get('on');
  if (kind === undefined || (on !== '0' && on !== '1')) throw new Fault('VALIDATION_ERROR', 'There is no such switch');
  await ports.restaurant.notifications.set(actor, found.restuid, kind, on === '1');
  if (view.wantsFragment) return fragment(await switches(view, found.restuid));
  const t = texts.restaurant.notifications;
  const text = (on === '1' ? t.turnedOn : t.turnedOff)(t.kinds[kind]);
  return redirect(pathOfRestaurant(found.restuid, '/notifications'), { tone: 'good', text });
};

export const notificationPages: readonly Page[] = [
  {
    method: 'GET',
    path,
    roles: restaurantRoles,
    nav: (texts) => texts.restaurant.notifications.nav,
    handle: showSwitches,
  },
  { method: 'POST', path, roles: restaurantRoles, handle: setSwitch },
];
