/** Redelivery: of one event, or of all events that an endpoint has not confirmed since a time. */
import { Fault } from '#src/contract/fault.ts';
import { dayMs, hourMs } from '#src/platform/clock.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { Redelivery, WebhookEndpoint } from '../ports/restaurant.ts';
import { restaurantPath, restaurantRoles } from '../restaurant/paths.ts';
import { fieldNote } from '../view/field.ts';
import { pathOfDeliveries } from './delivery-filter.ts';
import { pathOfDelivery } from './delivery-parts.ts';
import { pathOfEndpoint } from './endpoint-parts.ts';
import { withEndpoint } from './endpoint-secret.ts';

/** Redirects to the log, filtered by the redelivery. */
const showQueued = (view: View, restuid: string, { uid, queued, state }: Redelivery, back: string): Answer => {
  const isRunning = state === 'running';
  const t = view.texts.restaurant.deliveries;
  if (queued === 0 && !isRunning) return redirect(back, { tone: 'good', text: t.queuedNone });
  const text = isRunning ? t.queuedMore(queued) : t.queued(queued);
  return redirect(pathOfDeliveries(restuid, { redelivery: uid }), { tone: 'good', text });
};

/**
 * Redirects back with the reason when the events cannot be redelivered now. `isOne`: it is a single event, beside which
 * others may be redelivered.
 */
const orBack = async (
  view: View,
  { back, endpointUid, isOne }: { back: string; endpointUid: string; isOne: boolean },
  work: () => Promise<Answer>,
): Promise<Answer> => {
  const t = view.texts.restaurant.deliveries;
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.code === 'NOT_FOUND') return redirect(back, { tone: 'bad', text: t.notSendable });
    if (error.code !== 'CONFLICT') throw error;
    // A conflict has three causes. The endpoint, read again, shows which one it is.
    const endpoint = await view.ports.restaurant.endpoints.find(view.params.restaurant ?? '', endpointUid);
    return redirect(back, { tone: 'bad', text: conflictText(view, endpoint, isOne) });
  }
};

const conflictText = ({ texts }: View, endpoint: WebhookEndpoint | undefined, isOne: boolean): string => {
  const t = texts.restaurant.deliveries;
  if (endpoint === undefined) return t.endpointRemoved;
  if (!endpoint.enabled) return t.disabledNow;
  return isOne || endpoint.kinds.every((kind) => endpoint.withheldKinds.includes(kind)) ? t.withheldNow : t.oneRuns;
};

const redeliver = async (view: View): Promise<Answer> => {
  const { restaurant: restuid = '', delivery: uid = '' } = view.params;
  const { deliveries, endpoints } = view.ports.restaurant;
  const delivery = await deliveries.find(restuid, uid);
  if (delivery === undefined) return notFound();
  const back = pathOfDelivery(restuid, uid);
  if ((await endpoints.find(restuid, delivery.endpointUid))?.enabled === false)
    return redirect(back, { tone: 'bad', text: view.texts.restaurant.deliveries.disabledNow });
  return orBack(view, { back, endpointUid: delivery.endpointUid, isOne: true }, async () =>
    showQueued(view, restuid, await deliveries.redeliver(view.actor, restuid, delivery), back),
  );
};

const spans = [1, 6, 24, 72, 168, 720] as const;
/** The time is validated again a moment later, so the earliest allowed time needs a margin. */
const marginMs = 60_000;

const askSince = (view: View, restuid: string, endpoint: WebhookEndpoint, problem?: string): Answer => {
  const { deliveries: t, cancel, optional } = view.texts.restaurant;
  const path = pathOfEndpoint(restuid, endpoint.uid);
  const exact = fieldNote('exact', problem);
  const chosen = view.form.get('hours') ?? '24';
  return page({
    title: t.manyTitle,
    status: problem === undefined ? 200 : 422,
    body: html`<p><code>${endpoint.url}</code></p><p>${t.manyText}</p>
${
  endpoint.enabled
    ? html`<form method="post" action="${path}/redeliver" class="narrow">${view.csrfField}
<label>${t.manySince}<select name="hours" data-clears="exact-moment">${spans.map(
        (hours) =>
          html`<option value="${hours}"${String(hours) === chosen && html` selected`}>${t.manySpans[hours]}</option>`,
      )}</select></label>
<label data-with-script hidden>${t.manyExact} <span class="hint">(${optional})</span><input type="datetime-local" data-utc-field="exact-moment"${exact.attributes}></label>
<input type="hidden" name="since" id="exact-moment" value="${view.form.get('since')}">${exact.line}
<div class="row"><button class="primary">${t.manyNow}</button><a class="button" href="${path}">${cancel}</a></div></form>`
    : html`<p class="message warn">${t.disabledNow}</p><p><a class="button" href="${path}">${view.texts.restaurant.back}</a></p>`
}`,
  });
};

/**
 * The exact time, which the script converted to UTC, or else the chosen number of hours ago. Undefined when neither is
 * valid.
 */
const sinceOf = ({ form, now }: View): Date | undefined => {
  const exact = (form.get('since') ?? '').trim();
  const hours = spans.find((one) => String(one) === form.get('hours'));
  const earliest = now.getTime() - 30 * dayMs + marginMs;
  if (exact === '')
    return hours === undefined ? undefined : new Date(Math.max(earliest, now.getTime() - hours * hourMs));
  const since = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{3})?)?Z$/.test(exact) ? new Date(exact) : undefined;
  const isKept = since !== undefined && since.getTime() >= earliest && since <= now;
  return isKept ? since : undefined;
};

const redeliverSince = withEndpoint((view, restuid, endpoint) => {
  const { deliveries } = view.ports.restaurant;
  const t = view.texts.restaurant.deliveries;
  const since = sinceOf(view);
  if (since === undefined) return askSince(view, restuid, endpoint, t.manyProblem);
  const back = pathOfEndpoint(restuid, endpoint.uid);
  if (!endpoint.enabled) return redirect(back, { tone: 'bad', text: t.disabledNow });
  return orBack(view, { back, endpointUid: endpoint.uid, isOne: false }, async () =>
    showQueued(view, restuid, await deliveries.redeliverSince(view.actor, restuid, endpoint.uid, since), back),
  );
});

const redeliverPath = `${restaurantPath}/webhooks/:endpoint/redeliver`;

export const redeliveryPages: readonly Page[] = [
  {
    method: 'POST',
    path: `${restaurantPath}/deliveries/:delivery/redeliver`,
    roles: restaurantRoles,
    handle: redeliver,
  },
  {
    method: 'GET',
    path: redeliverPath,
    roles: restaurantRoles,
    handle: withEndpoint((view, restuid, endpoint) => askSince(view, restuid, endpoint)),
  },
  { method: 'POST', path: redeliverPath, roles: restaurantRoles, handle: redeliverSince },
];
