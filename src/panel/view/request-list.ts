/** The requests of one client or key: its filter, the list, and the counts by hour. */
import { isDay } from '#src/platform/clock.ts';
import { addressOf, refreshOn } from '../live/refresh-on.ts';
import { type Html, type HtmlValue, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readChoice, readCursor, readText } from '../page/read-query.ts';
import { Refusal } from '../page/refusal.ts';
import { type CalledRequest, type RequestFilter, requestStatuses } from '../ports/requests.ts';
import { badge, type Tone } from './badge.ts';
import { breakable } from './breakable.ts';
import { pager } from './pager.ts';
import { listOf } from './subject-names.ts';
import { table } from './table.ts';
import { time } from './time.ts';

type Asking = Pick<View, 'query' | 'texts'>;

/** A moment of a date and time field, in UTC. */
const readMoment = (view: Asking, name: string): Date | undefined => {
  const text = readText(view, name, momentMax);
  if (text === undefined) return undefined;
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(text);
  const at = new Date(`${text}Z`);
  if (!isMoment || !isDay(text.slice(0, 10)) || Number.isNaN(at.getTime()))
    throw new Refusal('VALIDATION_ERROR', view.texts.frame.unusableText(name, text, momentMax));
  return at;
};

const momentMax = 23;

/** Throws VALIDATION_ERROR for unknown values, because ignoring them would show every request as a match. */
const readRequestFilter = (view: Asking): RequestFilter => ({
  status: readChoice(view, 'status', requestStatuses),
  route: readText(view, 'route', 128),
  code: readText(view, 'code', 64),
  requestId: readText(view, 'id', 64),
  restaurant: askedRestaurant(view),
  since: readMoment(view, 'since'),
  until: readMoment(view, 'until'),
});

/** As a date and time field takes it, in UTC. */
const fieldOf = (at: Date | undefined): string => at?.toISOString().slice(0, 16) ?? '';

const fieldsOf = (filter: RequestFilter) => ({
  status: filter.status,
  route: filter.route,
  code: filter.code,
  id: filter.requestId,
  restuid: filter.restaurant,
  since: filter.since?.toISOString().slice(0, 23),
  until: filter.until?.toISOString().slice(0, 23),
});

const isFiltering = (filter: RequestFilter): boolean => Object.values(filter).some((value) => value !== undefined);

type Shown = {
  /** Id of the client or key. */
  caller: string;
  /** Path of this page; `/hours` is added for the counts. */
  path: string;
  /** Path of the page that explains a refusal; without it the ids of requests are no links. */
  explainPath?: (requestId: string) => string;
  /** A topic of the page that changes with each request; without it the list stays as it is. */
  topic?: string;
  /** The names of these restaurants, as far as the viewer may know them; default: none. */
  restaurantNames?: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** The filter takes names of restaurants too: the page resolves them, and suggests these. */
  restaurantSuggestions?: Html;
};

const restaurantMax = 128;

/** The id or name in the filter. */
export const askedRestaurant = (view: Asking): string | undefined => readText(view, 'restuid', restaurantMax);

/** The address of this page with this restaurant in the filter. */
export const withRestaurant = ({ query }: Pick<View, 'query'>, path: string, restuid: string): string =>
  withQuery(path, { ...Object.fromEntries(query), after: undefined, restuid });

/** The body of the page with the list. */
export const requestList = async (
  view: View,
  { caller, path, explainPath, topic, restaurantNames, restaurantSuggestions }: Shown,
): Promise<Html> => {
  const { texts, ports } = view;
  const t = texts.requests;
  const filter = readRequestFilter(view);
  const after = readCursor(view);
  const { items, next } = await ports.requests.list(caller, filter, after);
  const restaurants = [...new Set(items.map(({ restaurant }) => restaurant).filter((id) => id !== null))];
  const names = (await restaurantNames?.(restaurants)) ?? new Map<string, string>();
  const pathOf = (cursor?: string): string => withQuery(path, { ...fieldsOf(filter), after: cursor });
  const isShort = next !== null && items.length === 0;
  return html`<p>${t.intro(ports.requests.days)} <a href="${path}/hours">${t.toHours}</a></p>
${requestFilter(view, path, restaurantSuggestions)}
<section id="requests" aria-label="${t.nav}"${topic !== undefined && html` ${refreshOn('requests', addressOf(view), topic)}`}>${
    items.length === 0
      ? html`<p>${isShort ? t.noneSoFar : isFiltering(filter) || after !== undefined ? t.nothingFits : t.empty}</p>`
      : table({
          caption: t.caption,
          columns: [t.at, t.operation, t.status, { title: t.duration, kind: 'number' }, t.restaurant, t.id],
          rows: items.map((request) => row(view, request, { explainPath, names })),
        })
  }${pager(view, { after, next, pathOf })}</section>`;
};

/** `suggestions`: as in `Shown`. */
export const requestFilter = (view: View, path: string, suggestions?: Html): Html => {
  const { requests: t, security } = view.texts;
  const filter = readRequestFilter(view);
  const choice = filter.status ?? '';
  const options = [['', t.anyStatus] as const, ...requestStatuses.map((one) => [one, t.statuses[one]] as const)];
  const field = (
    name: string,
    label: string,
    value: string | undefined,
    max: number,
    more: Html | false = false,
  ): Html =>
    html`<label>${label}<input name="${name}" maxlength="${max}" autocomplete="off" value="${value ?? ''}"${more}></label>`;
  const named =
    suggestions !== undefined && html` placeholder="${security.names.hints.restaurant}"${listOf('restaurant')}`;
  const moment = (name: string, label: string, value: Date | undefined): Html =>
    html`<label>${label}<input type="datetime-local" name="${name}" value="${fieldOf(value)}"></label>`;
  return html`<form method="get" action="${path}" class="card filters" role="search" aria-label="${t.filter}">
<label>${t.status}<select name="status">${options.map(
    ([value, label]) => html`<option value="${value}"${value === choice && html` selected`}>${label}</option>`,
  )}</select></label>
${field('route', t.operation, filter.route, 128)}
${field('code', t.code, filter.code, 64)}
${field('id', t.id, filter.requestId, 64)}
${field('restuid', t.restaurant, filter.restaurant, restaurantMax, named)}${suggestions}
${moment('since', t.since, filter.since)}
${moment('until', t.until, filter.until)}
<div class="row"><button>${t.filter}</button>${isFiltering(filter) && html`<a href="${path}">${t.showAll}</a>`}</div></form>`;
};

const toneOf = ({ status, code }: CalledRequest): Tone =>
  status === null || status >= 500 ? 'bad' : status >= 400 || code !== null ? 'warn' : 'good';

/** Statuses of which the gateway keeps the reason (interface 11.5). */
const isExplained = ({ status }: CalledRequest): boolean => status !== null && [400, 401, 403, 429].includes(status);

const row = (
  { texts }: View,
  request: CalledRequest,
  { explainPath, names }: { explainPath: Shown['explainPath']; names: ReadonlyMap<string, string> },
): HtmlValue[] => {
  const t = texts.requests;
  const { at, method, route, status, code, durationMs, restaurant, requestId, idempotencyKey } = request;
  return [
    time(at),
    html`${method} ${route === null ? t.unknown : html`<code>${breakable(route)}</code>`}`,
    html`${badge(toneOf(request), status === null ? t.noAnswer : String(status))}${code !== null && html` <code>${code}</code>`}`,
    t.milliseconds(durationMs),
    restaurant === null ? '–' : (names.get(restaurant) ?? html`<code>${restaurant}</code>`),
    html`<code class="whole">${requestId}</code>${
      explainPath !== undefined &&
      isExplained(request) &&
      html`<br><a href="${explainPath(requestId)}">${t.explain}<span class="visually-hidden"> ${requestId}</span></a>`
    }${idempotencyKey !== null && html`<br><span class="hint">${t.key} <code>${idempotencyKey}</code></span>`}`,
  ];
};

/** The body of the page with the counts. */
export const requestHours = async (view: View, { caller, path }: Shown): Promise<Html> => {
  const { texts, ports } = view;
  const t = texts.requests;
  const route = readText(view, 'route', 128);
  const after = readCursor(view);
  const { items, next } = await ports.requests.hours(caller, route, after);
  const hoursPath = `${path}/hours`;
  const number = (title: string) => ({ title, kind: 'number' as const });
  return html`<p>${t.hoursIntro(ports.requests.days)} <a href="${path}">${t.toList}</a></p>
<form method="get" action="${hoursPath}" class="card filters" role="search" aria-label="${t.filter}">
<label>${t.operation}<input name="route" maxlength="128" autocomplete="off" value="${route ?? ''}"></label>
<div class="row"><button>${t.filter}</button>${route !== undefined && html`<a href="${hoursPath}">${t.showAll}</a>`}</div></form>
<section aria-label="${t.hours}">${
    items.length === 0
      ? html`<p>${route !== undefined || after !== undefined ? t.nothingFits : t.empty}</p>`
      : table({
          caption: t.hoursCaption,
          columns: [t.hour, t.operation, number(t.reads), number(t.writes), number(t.refused), number(t.failed)],
          rows: items.map((one) => [
            time(one.hour),
            one.route === null ? t.unknown : html`<code>${breakable(one.route)}</code>`,
            ...[one.reads, one.writes, one.refused, one.failed].map(texts.limits.number),
          ]),
        })
  }${pager(view, { after, next, pathOf: (cursor) => withQuery(hoursPath, { route, after: cursor }) })}</section>`;
};
