/** The filter of the delivery log, which is kept in the query. */
import { hourMs } from '#src/platform/clock.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readChoice, readText } from '../page/read-query.ts';
import type { DeliveryFilterState, DeliverySearch, WebhookEndpoint } from '../ports/restaurant.ts';
import { pathOfRestaurant } from '../restaurant/paths.ts';

/** The same state names as in the API and at the command line. */
const states: readonly DeliveryFilterState[] = ['pending', 'waiting', 'succeeded', 'exhausted', 'cancelled'];
/** In hours. The last one is the retention of deliveries, so it filters nothing. */
const spans = [1, 24, 168] as const;
const keptHours = 720 as const;

export type DeliveryFilter = {
  endpoint: string | undefined;
  state: DeliveryFilterState | undefined;
  /** True: only deliveries of which an attempt was made. */
  tried: true | undefined;
  event: string | undefined;
  id: string | undefined;
  hours: (typeof spans)[number] | undefined;
  redelivery: string | undefined;
};

const textMax = 64;

/** Throws VALIDATION_ERROR for unknown values, because ignoring them would show every delivery as a match. */
export const readDeliveryFilter = (view: Pick<View, 'query' | 'texts'>): DeliveryFilter => {
  const text = (name: string): string | undefined => readText(view, name, textMax);
  const hours = readChoice(view, 'since', [...spans, keptHours]);
  return {
    endpoint: text('endpoint'),
    state: readChoice(view, 'state', states),
    tried: readChoice(view, 'tried', ['yes']) === undefined ? undefined : true,
    event: text('event'),
    id: text('id'),
    hours: hours === keptHours ? undefined : hours,
    redelivery: text('redelivery'),
  };
};

export const isFiltering = (filter: DeliveryFilter): boolean =>
  Object.values(filter).some((value) => value !== undefined);

export const searchOf = (filter: DeliveryFilter, now: Date): DeliverySearch => ({
  endpointUid: filter.endpoint,
  state: filter.state,
  tried: filter.tried,
  event: filter.event,
  eventId: filter.id,
  redeliveryUid: filter.redelivery,
  since: filter.hours === undefined ? undefined : new Date(now.getTime() - filter.hours * hourMs),
});

/** The filter under the names that `readDeliveryFilter` reads. */
export const wordsOf = (filter: Partial<DeliveryFilter>): Record<string, string | undefined> => ({
  endpoint: filter.endpoint,
  state: filter.state,
  tried: filter.tried && 'yes',
  event: filter.event,
  id: filter.id,
  since: filter.hours?.toString(),
  redelivery: filter.redelivery,
});

/** Path of the log with this filter, from a cursor on. */
export const pathOfDeliveries = (restuid: string, filter: Partial<DeliveryFilter>, after?: string): string =>
  withQuery(pathOfRestaurant(restuid, '/deliveries'), { ...wordsOf(filter), after });

export const filterForm = (
  view: View,
  restuid: string,
  filter: DeliveryFilter,
  endpoints: readonly WebhookEndpoint[],
): Html => {
  const t = view.texts.restaurant.deliveries;
  const options = (name: string, chosen: string | undefined, of: readonly (readonly [string, string])[]): Html =>
    html`<select name="${name}">${of.map(
      ([value, label]) =>
        html`<option value="${value}"${value === (chosen ?? '') && html` selected`}>${label}</option>`,
    )}</select>`;
  const sinceOptions = [keptHours, ...spans.toReversed()].map((hours) => [String(hours), t.spans[hours]] as const);
  const isElsewhere = filter.endpoint !== undefined && !endpoints.some(({ uid }) => uid === filter.endpoint);
  return html`<form method="get" action="${pathOfRestaurant(restuid, '/deliveries')}" class="card filters" role="search" aria-label="${t.filter}">
<label>${t.endpoint}${options('endpoint', filter.endpoint, [
    ['', t.anyEndpoint],
    ...endpoints.map(({ uid, url, description }) => [uid, description ?? url] as const),
    ...(isElsewhere ? [[filter.endpoint ?? '', filter.endpoint ?? ''] as const] : []),
  ])}</label>
<label>${t.state}${options('state', filter.state, [['', t.anyState], ...states.map((state) => [state, t.filterStates[state]] as const)])}</label>
<label>${t.since}${options('since', String(filter.hours ?? keptHours), sinceOptions)}</label>
<label>${t.event}<input name="event" maxlength="${textMax}" autocomplete="off" placeholder="order.new" value="${filter.event ?? ''}"></label>
<label>${t.eventId}<input name="id" maxlength="${textMax}" autocomplete="off" placeholder="evt_…" value="${filter.id ?? ''}"></label>
<label class="check"><input type="checkbox" name="tried" value="yes"${filter.tried === true && html` checked`}>${t.triedOnly}</label>
<div class="row"><button>${t.filter}</button>${isFiltering(filter) && html`<a href="${pathOfRestaurant(restuid, '/deliveries')}">${t.showAll}</a>`}</div></form>`;
};
