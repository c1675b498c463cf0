/** Webhook endpoints of a restaurant: listed, added, shown and edited. */
import { fragment, notFound, page, redirect } from '../page/answer.ts';
import { assertAsShown, basisField } from '../page/form-basis.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readCursor } from '../page/read-query.ts';
import type { EditedEndpoint, EndpointFields, PanelRestaurant, WebhookEndpoint } from '../ports/restaurant.ts';
import { knownKinds } from '../restaurant/notification-pages.ts';
import { pathOfRestaurant, requestedRestaurant, restaurantPath, restaurantRoles } from '../restaurant/paths.ts';
import { deliveriesTopic } from '../restaurant/topics.ts';
import { pathOfDeliveries } from './delivery-filter.ts';
import { endpointActions, testForm } from './endpoint-actions.ts';
import {
  editedOf,
  endpointFields,
  type FieldProblems,
  fieldsOf,
  newEndpoint,
  problemsOf,
  readEndpointForm,
} from './endpoint-form.ts';
import { endpointHealth, pathOfHealth, readHealthQuery } from './endpoint-health.ts';
import { certificateWarning, loginPages } from './endpoint-login.ts';
import { endpointNow, endpointSettings, endpointTable, pathOfEndpoint } from './endpoint-parts.ts';
import { shownEndpointSecret, withEndpoint } from './endpoint-secret.ts';

const endpointsPath = `${restaurantPath}/webhooks`;
const endpointPath = `${endpointsPath}/:endpoint`;
const shownMax = 50;

const showEndpoints = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const after = readCursor(view);
  const endpoints = await view.ports.restaurant.endpoints.list(found.restuid, { after, limit: shownMax });
  const table = endpointTable(view, { restuid: found.restuid, after, endpoints });
  if (view.wantsFragment) return fragment(table);
  const t = view.texts.restaurant.webhooks;
  return page({
    title: t.title(found.name),
    body: html`<p>${t.intro}</p>${table}
<p><a class="button primary" href="${pathOfRestaurant(found.restuid, '/webhooks/new')}">${t.add}</a></p>`,
  });
};

/** `basis`: see `basisField`; a new endpoint has none. */
type Form = { title: string; action: string; submit: string; cancel: string; isNew: boolean; basis?: Html };

const formPage = (
  view: View,
  { title, action, submit, cancel, isNew, basis }: Form,
  fields: EndpointFields,
  problems: FieldProblems,
) =>
  page({
    title,
    status: Object.keys(problems).length === 0 ? 200 : 422,
    body: html`<form method="post" action="${action}" class="card form"${!isNew && html` autocomplete="off"`}>${view.csrfField}${basis}${endpointFields(view, { fields, problems, isNew })}
<div class="row"><button class="primary">${submit}</button><a class="button" href="${cancel}">${view.texts.restaurant.cancel}</a></div></form>`,
  });

const newForm = (view: View, { restuid }: PanelRestaurant): Form => {
  const t = view.texts.restaurant.webhooks;
  return {
    title: t.add,
    action: pathOfRestaurant(restuid, '/webhooks'),
    submit: t.create,
    cancel: pathOfRestaurant(restuid, '/webhooks'),
    isNew: true,
  };
};

const showNewForm = async (view: View) => {
  const found = await requestedRestaurant(view);
  return found === undefined ? notFound() : formPage(view, newForm(view, found), newEndpoint, {});
};

const createEndpoint = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const fields = readEndpointForm(view.form);
  try {
    const made = await view.ports.restaurant.endpoints.create(view.actor, found.restuid, fields);
    return shownEndpointSecret(view, found.restuid, made.uid, made.secret);
  } catch (error) {
    const problems = problemsOf(view, error);
    if (problems === undefined) throw error;
    return formPage(view, newForm(view, found), fields, problems);
  }
};

const editForm = (view: View, restuid: string, endpoint: WebhookEndpoint): Form => {
  const t = view.texts.restaurant.webhooks;
  const path = pathOfEndpoint(restuid, endpoint.uid);
  const basis = basisField(view, 'endpoint', editedOf(endpoint));
  return { title: t.editTitle, action: `${path}/edit`, submit: t.save, cancel: path, isNew: false, basis };
};

const showEditForm = withEndpoint((view, restuid, endpoint) =>
  formPage(view, editForm(view, restuid, endpoint), fieldsOf(endpoint), {}),
);

const updateEndpoint = withEndpoint(async (view, restuid, endpoint) => {
  const path = `${pathOfEndpoint(restuid, endpoint.uid)}/edit`;
  const check = (stored: EditedEndpoint) => assertAsShown(view, 'endpoint', editedOf(stored), path);
  check(endpoint);
  const fields = readEndpointForm(view.form);
  try {
    await view.ports.restaurant.endpoints.update(view.actor, restuid, endpoint.uid, fields, check);
  } catch (error) {
    const problems = problemsOf(view, error);
    if (problems === undefined) throw error;
    return formPage(view, editForm(view, restuid, endpoint), fields, problems);
  }
  return redirect(pathOfEndpoint(restuid, endpoint.uid), {
    tone: 'good',
    text: view.texts.restaurant.webhooks.saved(fields.url),
  });
});

const showEndpoint = withEndpoint(async (view, restuid, endpoint) => {
  const path = pathOfEndpoint(restuid, endpoint.uid);
  const asked = readHealthQuery(view);
  const now = html`<section id="endpoint-now" aria-label="${view.texts.restaurant.webhooks.state}" hx-get="${pathOfHealth(path, asked)}" hx-trigger="sse:${deliveriesTopic}" hx-swap="outerHTML">${endpointNow(view, endpoint)}
${await endpointHealth(view, restuid, endpoint.uid, asked)}</section>`;
  if (view.wantsFragment) return fragment(now);
  const { ownerKind, ownerId } = endpoint;
  const ownerName =
    ownerKind === 'api_client' ? await view.ports.ordering.nameOf(restuid, `api_client:${ownerId}`) : undefined;
  const t = view.texts.restaurant.webhooks;
  return page({
    title: endpoint.description ?? endpoint.url,
    body: html`${await switchedOff(view, restuid, endpoint)}${withheld(view, endpoint)}${certificateWarning(view, endpoint)}${now}
${actions(view, path, endpoint)}
<p class="row"><a class="button" href="${pathOfDeliveries(restuid, { endpoint: endpoint.uid })}">${t.deliveries}</a>
<a class="button" href="${path}/redeliver">${view.texts.restaurant.deliveries.manyLink}</a></p>
<h2>${t.settings}</h2>${endpointSettings(view, endpoint, ownerName)}
<p class="row"><a class="button" href="${path}/edit">${t.edit}</a>
<a class="button" href="${path}/login">${endpoint.authShown === null ? t.login.set : t.login.change}</a></p>`,
  });
});

/** Kinds that the endpoint subscribes to while the restaurant has them switched off. */
const switchedOff = async (view: View, restuid: string, { kinds }: WebhookEndpoint): Promise<Html | false> => {
  const { webhooks: t, notifications } = view.texts.restaurant;
  const on = await view.ports.restaurant.notifications.read(restuid);
  const off = knownKinds(kinds)
    .filter((kind) => !on[kind])
    .map((kind) => notifications.kinds[kind]);
  return (
    off.length > 0 &&
    html`<p class="message warn">${t.switchedOff(off.join(', '))} <a href="${pathOfRestaurant(restuid, '/notifications')}">${notifications.nav}</a></p>`
  );
};

const withheld = (view: View, { kinds, withheldKinds }: WebhookEndpoint): Html | false => {
  const { webhooks: t, notifications } = view.texts.restaurant;
  const names = knownKinds(kinds.filter((kind) => withheldKinds.includes(kind))).map(
    (kind) => notifications.kinds[kind],
  );
  return names.length > 0 && html`<p class="message warn">${t.withheld(names.join(', '))}</p>`;
};

const actions = (view: View, path: string, endpoint: WebhookEndpoint): Html => {
  const { texts, csrfField } = view;
  const t = texts.restaurant.webhooks;
  const post = (action: string, label: string): Html =>
    html`<form method="post" action="${path}/${action}">${csrfField}<button>${label}</button></form>`;
  return html`${testForm(view, path)}<div class="row">
<a class="button" href="${path}/rotate">${t.rotate}</a>
${endpoint.previousSecretExpires !== null && html`<a class="button" href="${path}/finish">${t.finish}</a>`}
${endpoint.enabled ? html`<a class="button" href="${path}/disable">${t.disable}</a>` : post('enable', t.enable)}
<a class="button" href="${path}/remove">${t.remove}</a></div>`;
};

export const endpointPages: readonly Page[] = [
  {
    method: 'GET',
    path: endpointsPath,
    roles: restaurantRoles,
    nav: (texts) => texts.restaurant.webhooks.nav,
    topics: [deliveriesTopic],
    handle: showEndpoints,
  },
  { method: 'GET', path: `${endpointsPath}/new`, roles: restaurantRoles, handle: showNewForm },
  { method: 'POST', path: endpointsPath, roles: restaurantRoles, handle: createEndpoint },
  { method: 'GET', path: endpointPath, roles: restaurantRoles, topics: [deliveriesTopic], handle: showEndpoint },
  { method: 'GET', path: `${endpointPath}/edit`, roles: restaurantRoles, handle: showEditForm },
  { method: 'POST', path: `${endpointPath}/edit`, roles: restaurantRoles, handle: updateEndpoint },
  ...endpointActions(endpointPath),
  ...loginPages(endpointPath),
];
