/** The results of an endpoint's attempts over time as charts, and with those of its deliveries as a table. */
import { hourMs } from '#src/platform/clock.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readChoice } from '../page/read-query.ts';
import type { HealthStep } from '../ports/restaurant.ts';
import { timeChart, utcValue } from '../view/bar-chart.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { pathOfEndpoint } from './endpoint-parts.ts';

const spans = {
  day: { stepMs: hourMs, steps: 24 },
  week: { stepMs: 6 * hourMs, steps: 28 },
  month: { stepMs: 24 * hourMs, steps: 30 },
} as const;
type Span = keyof typeof spans;
const spanNames: readonly Span[] = ['day', 'week', 'month'];

export type HealthQuery = { span: Span };

export const readHealthQuery = (view: Pick<View, 'query' | 'texts'>): HealthQuery => ({
  span: readChoice(view, 'span', spanNames) ?? 'day',
});

export const pathOfHealth = (path: string, { span }: HealthQuery): string => withQuery(path, { span });

export const endpointHealth = async (view: View, restuid: string, uid: string, asked: HealthQuery): Promise<Html> => {
  const t = view.texts.restaurant.deliveries.health;
  const steps = await view.ports.restaurant.endpoints.history(restuid, uid, spans[asked.span]);
  const path = pathOfEndpoint(restuid, uid);
  return html`<div class="row spread"><h2>${t.title}</h2>
<ul class="choice" aria-label="${t.span}">${spanNames.map(
    (span) =>
      html`<li><a id="health-${span}" href="${pathOfHealth(path, { span })}"${span === asked.span && html` aria-current="true"`}>${t.spans[span]}</a></li>`,
  )}</ul></div>${shownSteps(view, steps, spans[asked.span].stepMs)}`;
};

const countOf = ({ atOnce, later, failed, cancelled, retrying, open }: HealthStep): number =>
  atOnce + later + failed + cancelled + retrying + open;

const attemptsOf = ({ succeededAttempts, failedAttempts }: HealthStep): number => succeededAttempts + failedAttempts;

const shownSteps = (view: View, steps: readonly HealthStep[], stepMs: number): Html => {
  const t = view.texts.restaurant.deliveries.health;
  const sum = (of: (step: HealthStep) => number): number => steps.reduce((total, step) => total + of(step), 0);
  const all = sum(countOf);
  const attempts = sum(attemptsOf);
  if (all + attempts === 0) return html`<p>${t.none}</p>`;
  const summary = t.summary({
    all,
    confirmed: sum(({ atOnce, later }) => atOnce + later),
    failed: sum(({ failed, cancelled }) => failed + cancelled),
    retrying: sum(({ retrying }) => retrying),
    open: sum(({ open }) => open),
  });
  const succeeded = sum(({ succeededAttempts }) => succeededAttempts);
  const percent = attempts === 0 ? 0 : Math.floor((succeeded / attempts) * 100);
  return html`<p>${t.attempts({ attempts, succeeded, percent })} ${summary}</p>
${attemptCharts(view, steps, stepMs)}
<details id="health-numbers"><summary>${view.texts.security.charts.asTable}</summary>${stepTable(view, steps)}</details>
${steps.some(({ isPart }) => isPart) && html`<p class="hint">${t.part}</p>`}`;
};

/** A chart for each result of an attempt, with one scale, so that their bars can be compared. */
const attemptCharts = ({ texts }: View, steps: readonly HealthStep[], stepMs: number): Html => {
  const t = texts.restaurant.deliveries.health;
  const charts = texts.security.charts;
  const seconds = stepMs / 1_000;
  const of = { used: 'succeededAttempts', refused: 'failedAttempts' } as const;
  const top = Math.max(0, ...steps.flatMap((step) => [step.succeededAttempts, step.failedAttempts]));
  const chart = (tone: keyof typeof of): Html => {
    const numbers = steps.map((step) => step[of[tone]]);
    const count = numbers.reduce((total, number) => total + number, 0);
    const label = charts.chartLabel(t[of[tone]], count, Math.max(0, ...numbers), charts.hours(seconds / 3_600));
    return html`<div class="card"><h3>${t[of[tone]]} <span class="figure">${count}</span></h3>
${timeChart(numbers, { label, tone, top, from: steps[0]?.start ?? new Date(0), seconds, textOfValue: utcValue })}</div>`;
  };
  return html`<div class="cards charts">${chart('used')}${chart('refused')}</div>
<p class="hint">${t.bars(charts.hours(seconds / 3_600))}</p>`;
};

/** Steps without deliveries and attempts are left out. */
const stepTable = ({ texts }: View, steps: readonly HealthStep[]): Html => {
  const t = texts.restaurant.deliveries.health;
  const ofAttempts = ['succeededAttempts', 'failedAttempts'] as const;
  const ofDeliveries = ['atOnce', 'later', 'retrying', 'failed', 'cancelled', 'open'] as const;
  const names = [...ofAttempts, ...ofDeliveries];
  return table({
    caption: t.caption,
    columns: [t.start, ...names.map((name) => ({ title: t[name], kind: 'number' as const }))],
    rows: steps
      .filter((step) => countOf(step) + attemptsOf(step) > 0)
      .toReversed()
      .map((step) => [time(step.start), ...names.map((name) => step[name])]),
  });
};
