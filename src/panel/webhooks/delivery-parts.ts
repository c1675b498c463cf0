/** Deliveries as a table and as single facts, with their state as text. */
import { type Html, type HtmlValue, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type {
  Delivery,
  DeliveryAttempt,
  Listed,
  ListedDelivery,
  RedeliveryProgress,
  TabCounts,
  WebhookEndpoint,
} from '../ports/restaurant.ts';
import { pathOfRestaurant } from '../restaurant/paths.ts';
import { deliveriesTopic } from '../restaurant/topics.ts';
import { badge } from '../view/badge.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { attemptOutcome, attemptResult, isConfirmed } from './attempt-parts.ts';
import { type DeliveryFilter, isFiltering, pathOfDeliveries } from './delivery-filter.ts';
import { deliveryTabs } from './delivery-tabs.ts';
import { endpointName, pathOfEndpoint } from './endpoint-parts.ts';
import { nextTry } from './next-try.ts';

type ShownState = Delivery['state'] | 'retrying';

const shownStateOf = ({ state, attemptsCount }: Delivery): ShownState =>
  state === 'pending' && attemptsCount > 0 ? 'retrying' : state;

const tones = {
  pending: 'plain',
  retrying: 'warn',
  waiting: 'plain',
  succeeded: 'good',
  exhausted: 'bad',
  cancelled: 'plain',
} as const satisfies Record<ShownState, string>;

export const deliveryState = ({ texts }: View, delivery: Delivery): Html => {
  const state = shownStateOf(delivery);
  return badge(tones[state], texts.restaurant.deliveries.states[state]);
};

const isMoving = ({ state }: Delivery): boolean => state === 'pending' || state === 'waiting';

export const pathOfDelivery = (restuid: string, uid: string, more = ''): string =>
  pathOfRestaurant(restuid, `/deliveries/${encodeURIComponent(uid)}${more}`);

type DeliveryPage = {
  restuid: string;
  filter: DeliveryFilter;
  after: string | undefined;
  limit: number;
  deliveries: Listed<ListedDelivery>;
  counts: TabCounts;
  /** The redelivery that the filter names. */
  redelivery: RedeliveryProgress | undefined;
  endpoints: readonly WebhookEndpoint[];
};

/** Refreshes itself on the first page, which shows the newest deliveries. */
export const deliveryTable = (view: View, shown: DeliveryPage): Html => {
  const { restuid, filter, after, limit, deliveries, counts, redelivery } = shown;
  const t = view.texts.restaurant.deliveries;
  const pathOf = (cursor?: string): string => pathOfDeliveries(restuid, filter, cursor);
  const { items, next } = deliveries;
  const more =
    next !== undefined && items.length < limit
      ? html`<p><a class="button" id="search-on" href="${pathOf(next)}">${t.searchOn}</a></p>`
      : pager(view, { after, next, pathOf });
  const nothing = isFiltering(filter) || after !== undefined ? html`<p>${t.nothingFits}</p>` : emptyLog(view, restuid);
  return html`<section id="deliveries" aria-label="${t.nav}"${
    after === undefined && html` hx-get="${pathOf()}" hx-trigger="sse:${deliveriesTopic}" hx-swap="outerHTML"`
  }>${deliveryTabs(view, restuid, filter, counts)}${redelivery !== undefined && html`<p>${t.progress[redelivery.state]} ${t.progressCounts(sentOf(redelivery))}</p>`}${
    items.length === 0
      ? nothing
      : table({
          columns: [
            ...[t.event, t.state, t.lastAnswer, { title: t.attempts, kind: 'number' as const }],
            ...[t.endpoint, t.next, t.created],
          ],
          rows: items.map((delivery) => row(view, shown, delivery)),
        })
  }${more}</section>`;
};

const sentOf = ({ queued, counts }: RedeliveryProgress) => ({
  queued,
  arrived: counts.succeeded,
  failed: counts.exhausted + counts.cancelled,
  open: counts.pending + counts.waiting,
});

const emptyLog = ({ texts }: View, restuid: string): Html => {
  const t = texts.restaurant;
  return html`<p>${t.deliveries.empty}</p><p class="row"><a class="button" href="${pathOfRestaurant(restuid, '/notifications')}">${t.notifications.nav}</a>
<a class="button" href="${pathOfRestaurant(restuid, '/webhooks')}">${t.webhooks.nav}</a></p>`;
};

const row = (view: View, { restuid, endpoints }: DeliveryPage, delivery: ListedDelivery): HtmlValue[] => {
  const t = view.texts.restaurant.deliveries;
  const endpoint = endpoints.find(({ uid }) => uid === delivery.endpointUid);
  return [
    html`<a id="open-${delivery.uid}" href="${pathOfDelivery(restuid, delivery.uid)}">${delivery.event}</a>${
      delivery.redeliveryUid !== null && html` <span class="hint">(${t.again})</span>`
    }<br><code class="hint">${delivery.entity}</code>`,
    deliveryState(view, delivery),
    delivery.lastAttempt === null ? t.none : lastAnswer(view, delivery.lastAttempt),
    delivery.attemptsCount,
    endpoint === undefined ? html`<code>${delivery.endpointUid}</code>` : endpointName(endpoint),
    delivery.nextTry === undefined ? t.none : nextTry(view, delivery.nextTry),
    time(delivery.created),
  ];
};

const lastAnswer = (view: View, attempt: NonNullable<ListedDelivery['lastAttempt']>): Html =>
  html`${attemptResult(view, attempt)}<br><span class="hint">${time(attempt.started, 'relative')}</span>`;

/** State, next attempt and attempts. Refreshes itself until the delivery has ended. */
export const deliveryNow = (
  view: View,
  restuid: string,
  delivery: Delivery & { attempts: readonly DeliveryAttempt[] },
): Html => {
  const t = view.texts.restaurant.deliveries;
  const { uid, attempts } = delivery;
  return html`<section id="delivery-now" aria-label="${t.attempts}"${
    isMoving(delivery) &&
    html` hx-get="${pathOfDelivery(restuid, uid)}" hx-trigger="sse:${deliveriesTopic}" hx-swap="outerHTML"`
  }>
<p>${deliveryState(view, delivery)} ${t.meanings[shownStateOf(delivery)]}${
    delivery.nextTry !== undefined && html` ${t.next}: ${nextTry(view, delivery.nextTry)}.`
  }</p>
<h2>${t.attempts}</h2>${attempts.length === 0 ? html`<p>${t.noAttempt}</p>` : timeline(view, delivery)}</section>`;
};

/** The latest attempt first, below it the earlier ones; above it the next one. */
const timeline = (
  view: View,
  { attempts, nextTry: next }: Delivery & { attempts: readonly DeliveryAttempt[] },
): Html => {
  const cards = attempts.map((attempt, index) => attemptCard(view, attempt, index === attempts.length - 1)).reverse();
  return html`<ol class="timeline">${
    next !== undefined &&
    html`<li class="to-come">${view.texts.restaurant.deliveries.next}: ${nextTry(view, next, 'moment')}</li>`
  }${cards.map((card) => html`<li>${card}</li>`)}</ol>`;
};

const attemptCard = (view: View, attempt: DeliveryAttempt, isLast: boolean): Html => {
  const t = view.texts.restaurant.deliveries;
  return html`<details class="card attempt"${isLast && html` open`}><summary>${t.attempt(attempt.number)} · ${time(attempt.started)} · ${attemptResult(view, attempt)} · ${
    isConfirmed(attempt) ? badge('good', t.confirmed) : badge('bad', t.failed)
  }</summary>${attemptOutcome(view, attempt)}${
    attempt.retryAfterSeconds !== null && html`<p>${t.retryAfter(attempt.retryAfterSeconds)}</p>`
  }</details>`;
};

export const deliveryFacts = (
  view: View,
  restuid: string,
  delivery: Delivery,
  endpoint: WebhookEndpoint | undefined,
): Html => {
  const t = view.texts.restaurant.deliveries;
  return html`<dl class="facts">
<dt>${t.endpoint}</dt><dd>${
    endpoint === undefined
      ? html`<code>${delivery.endpointUid}</code>`
      : html`<a href="${pathOfEndpoint(restuid, endpoint.uid)}">${endpointName(endpoint)}</a>`
  }</dd>
<dt>${t.about}</dt><dd><code>${delivery.entity}</code></dd>
<dt>${t.seq}</dt><dd>${delivery.seq}</dd>
<dt>${t.eventId}</dt><dd><a href="${pathOfDeliveries(restuid, { id: delivery.eventId })}"><code>${delivery.eventId}</code></a></dd>
<dt>${t.uid}</dt><dd><code>${delivery.uid}</code></dd>
<dt>${t.created}</dt><dd>${time(delivery.created)}</dd></dl>`;
};
