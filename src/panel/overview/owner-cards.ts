/** The start page of an owner: first steps, orders of today, endpoints that fail, keys that end soon. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { type FirstStep, firstSteps, type OwnerFigures } from '../ports/overview.ts';
import { listPath, pathOfRestaurant } from '../restaurant/paths.ts';
import { badge } from '../view/badge.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { card, rowsOr } from './card.ts';

export const ownerCards = async (view: View): Promise<Html> => {
  const figures = await view.ports.overview.owner(view.user.restaurants);
  return html`${stepsCard(view, figures)}<div class="figures">${daysCard(view, figures)}${failingCard(view, shown(view, figures, '/webhooks'))}${endingCard(view, shown(view, figures, '/keys'))}</div>`;
};

/** Where a step is taken. */
const stepPaths: Readonly<Record<FirstStep, (restuid: string) => string>> = {
  key: (restuid) => pathOfRestaurant(restuid, '/keys'),
  call: () => '/docs',
  endpoint: (restuid) => pathOfRestaurant(restuid, '/webhooks/new'),
  event: (restuid) => pathOfRestaurant(restuid, '/webhooks'),
  order: (restuid) => pathOfRestaurant(restuid, '/orders'),
};

const stepsCard = ({ texts }: View, { begun }: OwnerFigures): Html | false => {
  if (begun === undefined) return false;
  const t = texts.overview.steps;
  const step = (name: FirstStep): Html =>
    begun.done.includes(name)
      ? html`<li>${badge('good', t.done)} ${t.names[name]}</li>`
      : html`<li>${badge('plain', t.open)} <a href="${stepPaths[name](begun.restuid)}">${t.names[name]}</a></li>`;
  return card({
    id: 'steps',
    title: t.title(begun.name),
    body: html`<p>${t.intro(begun.done.length, firstSteps.length)}</p><ol class="rows">${firstSteps.map(step)}</ol>`,
  });
};

const daysCard = ({ texts, user }: View, { days, countMax }: OwnerFigures): Html => {
  const { days: t, atLeast } = texts.overview;
  const number = (title: string) => ({ title, kind: 'number' as const });
  const isQuiet = days.length > 0 && days.every(({ today }) => today === 0);
  return card({
    id: 'days',
    title: t.title,
    body:
      days.length === 0
        ? html`<p class="plain">${t.none}</p>`
        : html`${table({
            isStacked: false,
            columns: [t.restaurant, number(t.today), number(t.lastWeek)],
            rows: days.map(({ restuid, name, day, today, lastWeek }) => [
              html`<a href="${withQuery(pathOfRestaurant(restuid, '/orders'), { from: day, to: day })}">${name}</a>`,
              html`<strong>${atLeast(today, countMax)}</strong>`,
              atLeast(lastWeek, countMax),
            ]),
          })}${isQuiet && html`<p class="plain">${t.quiet}</p>`}`,
    link: user.restaurants.length > days.length ? { path: `/panel${listPath}`, label: t.all } : undefined,
  });
};

/** The page of the only restaurant, or the list of restaurants. */
const ownPath = ({ user }: View, page: string): string => {
  const [only, ...others] = user.restaurants;
  return only !== undefined && others.length === 0 ? pathOfRestaurant(only, page) : `/panel${listPath}`;
};

type Attention = Pick<OwnerFigures, 'failing' | 'ending'> & {
  /** Page with all rows. */
  path: string;
  /** What was looked at, where that is not everything. */
  note: string | undefined;
};

const shown = (view: View, { failing, ending, looked }: OwnerFigures, page: string): Attention => {
  const all = view.user.restaurants.length;
  const note = looked < all ? view.texts.overview.looked(looked, all) : undefined;
  return { failing, ending, path: ownPath(view, page), note };
};

const noteOf = ({ note }: Attention): Html | false => note !== undefined && html`<p class="hint">${note}</p>`;

export const failingCard = ({ texts }: View, attention: Attention): Html => {
  const t = texts.overview.failing;
  return card({
    id: 'failing',
    title: t.title,
    body: html`${rowsOr(
      attention.failing,
      t.none,
      ({ restuid, uid, url, failingSince, isDisabled }) =>
        html`<a href="${pathOfRestaurant(restuid, `/webhooks/${encodeURIComponent(uid)}`)}">${url}</a> ${
          isDisabled && badge('bad', t.disabled)
        } ${failingSince !== null && html`<span class="hint">${t.since} ${time(failingSince)}</span>`}`,
    )}${noteOf(attention)}`,
    link: { path: attention.path, label: t.show },
  });
};

export const endingCard = ({ texts }: View, attention: Attention): Html => {
  const t = texts.overview.ending;
  return card({
    id: 'ending',
    title: t.title,
    body: html`${rowsOr(
      attention.ending,
      t.none,
      ({ restuid, keyId, name, expires }) =>
        // Its list shows whether there is a successor, which a page to create one would not.
        html`<a href="${pathOfRestaurant(restuid, '/keys')}#rotate-${keyId}">${name}</a> <code>${keyId}</code>
<span class="hint">${t.ends} ${time(expires, 'relative')}</span>`,
    )}${noteOf(attention)}`,
    link: { path: attention.path, label: t.show },
  });
};
