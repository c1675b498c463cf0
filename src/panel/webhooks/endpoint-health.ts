/** The results of an endpoint's deliveries over time, as a chart or as a table. */
import { hourMs } from '#src/platform/clock.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readChoice } from '../page/read-query.ts';
import type { HealthStep } from '../ports/restaurant.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { pathOfEndpoint } from './endpoint-parts.ts';
import { healthChart } from './health-chart.ts';

const spans = {
  day: { stepMs: hourMs, steps: 24 },
  week: { stepMs: 6 * hourMs, steps: 28 },
  month: { stepMs: 24 * hourMs, steps: 30 },
} as const;
type Span = keyof typeof spans;
const spanNames: readonly Span[] = ['day', 'week', 'month'];
const views = ['chart', 'table'] as const;

export type HealthQuery = { span: Span; as: (typeof views)[number] };

export const readHealthQuery = (view: Pick<View, 'query' | 'texts'>): HealthQuery => ({
  span: readChoice(view, 'span', spanNames) ?? 'day',
  as: readChoice(view, 'as', views) ?? 'chart',
});

export const pathOfHealth = (path: string, { span, as }: HealthQuery): string => withQuery(path, { span, as });

export const endpointHealth = async (view: View, restuid: string, uid: string, asked: HealthQuery): Promise<Html> => {
  const t = view.texts.restaurant.deliveries.health;
  const steps = await view.ports.restaurant.endpoints.history(restuid, uid, spans[asked.span]);
  const path = pathOfEndpoint(restuid, uid);
  const choice = (label: string, of: readonly { query: HealthQuery; name: string }[]): Html =>
    html`<ul class="choice" aria-label="${label}">${of.map(({ query, name }) => {
      const isChosen = query.span === asked.span && query.as === asked.as;
      return html`<li><a id="health-${query.span}-${query.as}" href="${pathOfHealth(path, query)}"${isChosen && html` aria-current="true"`}>${name}</a></li>`;
    })}</ul>`;
  return html`<div class="row spread"><h2>${t.title}</h2><div class="row">
${choice(
  t.span,
  spanNames.map((span) => ({ query: { ...asked, span }, name: t.spans[span] })),
)}${choice(
  t.view,
  views.map((as) => ({ query: { ...asked, as }, name: t.views[as] })),
)}</div></div>${shownSteps(view, steps, asked)}`;
};

const countOf = ({ atOnce, later, failed, cancelled, retrying, open }: HealthStep): number =>
  atOnce + later + failed + cancelled + retrying + open;

const shownSteps = (view: View, steps: readonly HealthStep[], { as }: HealthQuery): Html => {
  const t = view.texts.restaurant.deliveries.health;
  const sum = (of: (step: HealthStep) => number): number => steps.reduce((total, step) => total + of(step), 0);
  const all = sum(countOf);
  if (all === 0) return html`<p>${t.none}</p>`;
  const summary = t.summary({
    all,
    confirmed: sum(({ atOnce, later }) => atOnce + later),
    failed: sum(({ failed, cancelled }) => failed + cancelled),
    retrying: sum(({ retrying }) => retrying),
    open: sum(({ open }) => open),
    failedAttempts: sum(({ failedAttempts }) => failedAttempts),
  });
  const confirmed = sum(({ atOnce, later }) => atOnce + later);
  const attempts = confirmed + sum(({ failedAttempts }) => failedAttempts);
  const byAttempts =
    attempts > 0 && html` ${t.attempts({ attempts, confirmed, percent: Math.floor((confirmed / attempts) * 100) })}`;
  return html`<p>${summary}${byAttempts}</p>${as === 'table' ? stepTable(view, steps) : healthChart(view, steps, summary)}
${steps.some(({ isPart }) => isPart) && html`<p class="hint">${t.part}</p>`}`;
};

/** Steps without deliveries are left out. */
const stepTable = ({ texts }: View, steps: readonly HealthStep[]): Html => {
  const t = texts.restaurant.deliveries.health;
  const names = ['atOnce', 'later', 'retrying', 'failed', 'cancelled', 'open', 'failedAttempts'] as const;
  return table({
    columns: [t.start, ...names.map((name) => ({ title: t[name], kind: 'number' as const }))],
    rows: steps
      .filter((step) => countOf(step) > 0)
      .toReversed()
      .map((step) => [time(step.start), ...names.map((name) => step[name])]),
  });
};
