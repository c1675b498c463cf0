/** Actions on an endpoint other than editing. Actions that cannot be undone ask for confirmation first. */
import { page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, PageHandler, View } from '../page/page.ts';
import { Refusal } from '../page/refusal.ts';
import type { WebhookEndpoint } from '../ports/restaurant.ts';
import { pathOfRestaurant, restaurantRoles } from '../restaurant/paths.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { attemptOutcome, isConfirmed } from './attempt-parts.ts';
import { pathOfEndpoint } from './endpoint-parts.ts';
import { shownEndpointSecret, withEndpoint } from './endpoint-secret.ts';

type Question = { title: string; text: string; submit: string; action: string };

/** The confirmation is a page of its own, so it works without script. */
const ask = (of: (view: View) => Question): PageHandler =>
  withEndpoint((view, restuid, endpoint) => {
    const { title, text, submit, action } = of(view);
    const path = pathOfEndpoint(restuid, endpoint.uid);
    const body = html`${endpointName(endpoint)}<p>${text}</p>`;
    return confirmPage(view, { title, body, action: `${path}/${action}`, submit, back: path });
  });

/** Describes the endpoint on the confirmation page. */
const endpointName = ({ url, description }: WebhookEndpoint): Html =>
  html`<p><code>${url}</code>${description !== null && html`<br><span class="hint">${description}</span>`}</p>`;

const askToDisable = ask(({ texts: { restaurant } }) => {
  const t = restaurant.webhooks;
  return { title: t.disableTitle, text: t.disableText, submit: t.disableNow, action: 'disable' };
});

const askToRemove = ask(({ texts: { restaurant } }) => {
  const t = restaurant.webhooks;
  return { title: t.removeTitle, text: t.removeText, submit: t.removeNow, action: 'remove' };
});

const askToFinish = ask(({ texts: { restaurant } }) => {
  const t = restaurant.webhooks;
  return { title: t.finishTitle, text: t.finishText, submit: t.finish, action: 'finish' };
});

const setEnabled = (enabled: boolean): PageHandler =>
  withEndpoint(async (view, restuid, { uid, url }) => {
    await view.ports.restaurant.endpoints.setEnabled(view.actor, restuid, uid, enabled);
    const t = view.texts.restaurant.webhooks;
    return redirect(pathOfEndpoint(restuid, uid), { tone: 'good', text: (enabled ? t.enabled : t.disabled)(url) });
  });

const remove = withEndpoint(async (view, restuid, { uid, url }) => {
  await view.ports.restaurant.endpoints.remove(view.actor, restuid, uid);
  return redirect(pathOfRestaurant(restuid, '/webhooks'), {
    tone: 'good',
    text: view.texts.restaurant.webhooks.removed(url),
  });
});

const overlaps = [0, 1, 24, 72, 168] as const;

const askToRotate = withEndpoint((view, restuid, endpoint) => {
  const { uid, previousSecretExpires } = endpoint;
  const { webhooks: t, cancel } = view.texts.restaurant;
  const path = pathOfEndpoint(restuid, uid);
  const back = html`<a class="button" href="${path}">${cancel}</a>`;
  return page({
    title: t.rotateTitle,
    body: html`${endpointName(endpoint)}${
      previousSecretExpires === null
        ? html`<p>${t.rotateText}</p><form method="post" action="${path}/rotate" class="narrow">${view.csrfField}
<label>${t.overlap}<select name="overlap">${overlaps.map(
            (hours) => html`<option value="${hours}"${hours === 24 && html` selected`}>${t.overlaps[hours]}</option>`,
          )}</select></label><div class="row"><button class="primary">${t.rotateNow}</button>${back}</div></form>`
        : html`<p>${t.overlapBlocks}</p><p class="row"><a class="button" href="${path}/finish">${t.finish}</a>${back}</p>`
    }`,
  });
});

const rotate = withEndpoint(async (view, restuid, { uid }) => {
  const hours = overlaps.find((one) => String(one) === view.form.get('overlap'));
  if (hours === undefined) throw new Refusal('VALIDATION_ERROR', view.texts.restaurant.keys.problems.overlap);
  const secret = await view.ports.restaurant.endpoints.rotateSecret(view.actor, restuid, uid, hours);
  return shownEndpointSecret(view, restuid, uid, secret);
});

const finish = withEndpoint(async (view, restuid, { uid, url }) => {
  await view.ports.restaurant.endpoints.finishRotation(view.actor, restuid, uid);
  const text = view.texts.restaurant.webhooks.finished(url);
  return redirect(pathOfEndpoint(restuid, uid), { tone: 'good', text });
});

/** The event of a test without an example. */
const ownTest = 'webhook.test';

/** A form that sends one event now. `chosen`: the type of the example that was sent last. */
export const testForm = ({ texts, csrfField, ports }: View, path: string, chosen?: string): Html => {
  const t = texts.restaurant.webhooks;
  const events = [ownTest, ...ports.restaurant.endpoints.exampleEvents];
  return html`<form method="post" action="${path}/test" class="row test-event">${csrfField}
<label>${t.testEvent}<select name="event" aria-describedby="test-hint">${events.map(
    (event) => html`<option${event === (chosen ?? ownTest) && html` selected`}>${event}</option>`,
  )}</select></label><button class="primary" aria-describedby="test-hint">${t.test}</button></form>
<p class="hint" id="test-hint">${t.testHint}</p>`;
};

const test = withEndpoint(async (view, restuid, { uid, url }) => {
  const { endpoints } = view.ports.restaurant;
  const t = view.texts.restaurant.webhooks;
  const wanted = view.form.get('event') ?? '';
  const event = endpoints.exampleEvents.find((one) => one === wanted);
  if (event === undefined && wanted !== '' && wanted !== ownTest)
    throw new Refusal('VALIDATION_ERROR', view.texts.frame.unknownChoice('event', wanted.slice(0, 60), ownTest));
  const attempt = await endpoints.test(restuid, uid, event);
  const path = pathOfEndpoint(restuid, uid);
  const isGood = isConfirmed(attempt);
  return page({
    title: t.tested,
    body: html`<div data-shown-once="${path}"><p class="message ${isGood ? 'good' : 'bad'}" role="${isGood ? 'status' : 'alert'}">${
      isGood ? t.testedGood(attempt.status ?? 0, attempt.totalMs) : t.testedBad
    }</p>
<p><code>${event ?? ownTest}</code> → <code>${url}</code></p>${attemptOutcome(view, attempt)}</div>
${testForm(view, path, event)}
<p><a class="button" href="${path}">${view.texts.restaurant.back}</a></p>`,
  });
});

export const endpointActions = (path: string): readonly Page[] => {
  const get = (action: string, handle: PageHandler): Page => ({
    method: 'GET',
    path: `${path}/${action}`,
    roles: restaurantRoles,
    handle,
  });
  const post = (action: string, handle: PageHandler): Page => ({ ...get(action, handle), method: 'POST' });
  return [
    get('disable', askToDisable),
    post('disable', setEnabled(false)),
    post('enable', setEnabled(true)),
    get('remove', askToRemove),
    post('remove', remove),
    get('rotate', askToRotate),
    post('rotate', rotate),
    get('finish', askToFinish),
    post('finish', finish),
    post('test', test),
  ];
};
