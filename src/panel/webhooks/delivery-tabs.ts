/** The tabs of the log: all deliveries and those in three states, with how many there are. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { BoundedCount, TabCounts } from '../ports/restaurant.ts';
import { type DeliveryFilter, pathOfDeliveries } from './delivery-filter.ts';

type Choice = Pick<DeliveryFilter, 'state' | 'tried'>;

/** What each tab sets in the filter; other parts of the filter stay. */
const tabs: readonly { name: keyof TabCounts; choice: Choice }[] = [
  { name: 'all', choice: { state: undefined, tried: undefined } },
  { name: 'failed', choice: { state: 'exhausted', tried: undefined } },
  { name: 'retrying', choice: { state: 'pending', tried: true } },
  { name: 'delivered', choice: { state: 'succeeded', tried: undefined } },
];

export const deliveryTabs = (view: View, restuid: string, filter: DeliveryFilter, counts: TabCounts): Html => {
  const t = view.texts.restaurant.deliveries;
  return html`<ul class="choice tabs" aria-label="${t.tabsLabel}">${tabs.map(({ name, choice }) => {
    const isChosen = choice.state === filter.state && choice.tried === filter.tried;
    return html`<li><a id="tab-${name}" href="${pathOfDeliveries(restuid, { ...filter, ...choice })}"${isChosen && html` aria-current="true"`}>${t.tabs[name]} <span class="count">${countText(view, counts[name])}</span></a></li>`;
  })}</ul>`;
};

const countText = ({ language }: View, { count, isMore }: BoundedCount): string =>
  `${new Intl.NumberFormat(language, { useGrouping: 'always' }).format(count)}${isMore ? '+' : ''}`;
