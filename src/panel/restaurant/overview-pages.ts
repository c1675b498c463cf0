/** The start page of a restaurant: its API access. */
import { notFound, page, redirect } from '../page/answer.ts';
import { historyFact } from '../page/history-link.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { badge, sandboxBadge } from '../view/badge.ts';
import { copyButton } from '../view/copy-button.ts';
import { pathOfRestaurant, requestedRestaurant, restaurantPath, restaurantRoles } from './paths.ts';

const showOverview = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid, name, apiEnabled } = found;
  const { texts, csrfField, ports } = view;
  const t = texts.restaurant.overview;
  return page({
    title: t.title(name),
    body: html`<section class="card" aria-labelledby="api-state">
<div class="row spread"><h2 id="api-state" class="flat">${t.state} ${apiEnabled ? badge('good', t.on) : badge('bad', t.off)}</h2>
${
  apiEnabled
    ? html`<a class="button" href="${pathOfRestaurant(restuid, '/access/off')}">${t.turnOff}</a>`
    : html`<form method="post" action="${pathOfRestaurant(restuid, '/access/on')}">${csrfField}<button class="primary">${t.turnOn}</button></form>`
}</div>
<p>${apiEnabled ? t.onText : t.offText}</p>
</section>
<dl class="facts">
<dt>${t.id}</dt><dd><code id="restuid">${restuid}</code>${sandboxBadge(restuid)} ${copyButton({ texts }, 'restuid')}</dd>
<dt>${t.address}</dt><dd><code>${ports.restaurant.origin}/api</code></dd>
${historyFact(view, { restaurant: restuid })}
</dl>
<p><a href="/docs">${t.reference}</a></p>`,
  });
};

const askToTurnOff = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid, name } = found;
  const t = view.texts.restaurant;
  return page({
    title: t.overview.offTitle(name),
    body: html`<p>${t.overview.offQuestion}</p>
<form method="post" action="${pathOfRestaurant(restuid, '/access/off')}" class="row">${view.csrfField}
<button class="danger">${t.overview.turnOffNow}</button><a class="button" href="${pathOfRestaurant(restuid)}">${t.cancel}</a></form>`,
  });
};

const setAccess = (enabled: boolean) => async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  await view.ports.restaurant.setApiEnabled(view.actor, found.restuid, enabled);
  const t = view.texts.restaurant.overview;
  return redirect(pathOfRestaurant(found.restuid), {
    tone: 'good',
    text: (enabled ? t.turnedOn : t.turnedOff)(found.name),
  });
};

export const overviewPages: readonly Page[] = [
  {
    method: 'GET',
    path: restaurantPath,
    roles: restaurantRoles,
    nav: (texts) => texts.restaurant.overview.nav,
    handle: showOverview,
  },
  { method: 'GET', path: `${restaurantPath}/access/off`, roles: restaurantRoles, handle: askToTurnOff },
  { method: 'POST', path: `${restaurantPath}/access/off`, roles: restaurantRoles, handle: setAccess(false) },
  { method: 'POST', path: `${restaurantPath}/access/on`, roles: restaurantRoles, handle: setAccess(true) },
];
