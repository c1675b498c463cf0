/** Charts of issued tokens, allowed and refused requests over time, by client, reason, route or address. */

import { newsLink, newsSlot } from '../live/news.ts';
import { type Answer, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { readChoice, readText } from '../page/read-query.ts';
import {
  type AuditChart,
  type AuditNames,
  type ChartDimension,
  type ChartSeries,
  chartDimensions,
} from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { barChart, timeChart, utcValue } from '../view/bar-chart.ts';
import { table } from '../view/table.ts';
import { exactTime } from '../view/time.ts';
import { searchHref } from './audit-filter.ts';
import { timesSwitch } from './times-switch.ts';
import { newsTopic } from './topics.ts';

const chartsPath = '/panel/security/charts';
const windows = [1, 7, 30] as const;
const measures = ['issued', 'used', 'refused'] as const;
const valueLengthMax = 200;

type Asked = { days: number; dimension: ChartDimension; value: string | undefined };

const hrefOf = ({ days, dimension, value }: Asked): string => {
  const query = new URLSearchParams({ by: dimension, days: String(days) });
  if (value !== undefined) query.set('value', value);
  return `${chartsPath}?${query}`;
};

const readAsked = ({ query, texts }: Pick<View, 'query' | 'texts'>): Asked => ({
  days: readChoice({ query, texts }, 'days', windows) ?? 1,
  dimension: readChoice({ query, texts }, 'by', chartDimensions) ?? 'client',
  // The empty value is valid: it stands for "unknown".
  value: query.has('value') ? (readText({ query, texts }, 'value', valueLengthMax) ?? '') : undefined,
});

export const showCharts = async ({ ports, texts, query, actor, address }: View): Promise<Answer> => {
  const asked = readAsked({ query, texts });
  const t = texts.security.charts;
  const { value, ...of } = asked;
  const chart = await ports.security.chart({ actor, address }, value === undefined ? of : { ...of, value });
  const names = await ports.security.namesOf(
    asked.dimension === 'client' ? [...chart.values.map((one) => one.value), value ?? ''] : [],
  );
  return page({
    title: t.title,
    body: html`<div class="row spread"><p>${t.intro}</p>${timesSwitch(texts)}</div>
${newsSlot(hrefOf(asked).replace(chartsPath, `${chartsPath}/news`), newsTopic)}
<div class="row choices">${tabs(t.window, windows, asked.days, (days) => [hrefOf({ ...asked, days }), t.windows[days]])}
${tabs(t.by, chartDimensions, asked.dimension, (dimension) => [hrefOf({ days: asked.days, dimension, value: undefined }), t.dimensions[dimension]])}</div>
${value !== undefined && html`<p>${t.only(t.dimensions[asked.dimension])} ${names.get(value)} <code>${shownValue(texts, value)}</code> · <a href="${hrefOf({ ...asked, value: undefined })}">${t.all}</a></p>`}
<div class="cards charts">${measures.map((measure) => measureCard(texts, chart, measure))}</div>
<p class="hint">${t.span(hoursText(texts, chart.bucketSeconds))} ${exactTime(chart.from)} – ${exactTime(endOf(chart))}</p>
${figures(texts, chart)}
<h2>${t.most(t.dimensions[asked.dimension])}</h2>
${chart.values.length === 0 ? html`<p>${t.nothing}</p>` : valueTable(texts, chart, { ...asked, names })}`,
  });
};

export const chartNews = ({ query, texts }: View): Answer =>
  newsLink(texts.security.news, hrefOf(readAsked({ query, texts })));

const tabs = <T extends string | number>(
  label: string,
  choices: readonly T[],
  chosen: T | number,
  show: (choice: T) => [href: string, text: string],
): Html =>
  html`<nav class="tabs" aria-label="${label}"><ul>${choices.map((choice) => {
    const [href, text] = show(choice);
    return html`<li><a href="${href}"${choice === chosen && html` aria-current="page"`}>${text}</a></li>`;
  })}</ul></nav>`;

const endOf = ({ from, bucketSeconds, buckets }: AuditChart): Date =>
  new Date(from.getTime() + bucketSeconds * buckets * 1000);

const hoursText = (texts: Texts, seconds: number): string => texts.security.charts.hours(seconds / 3_600);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const measureCard = (texts: Texts, { total, from, bucketSeconds }: AuditChart, measure: keyof ChartSeries): Html => {
  const t = texts.security.charts;
  const numbers = total[measure];
  const [count, most] = [sum(numbers), Math.max(0, ...numbers)];
  const label = t.chartLabel(t.measures[measure], count, most, hoursText(texts, bucketSeconds));
  return html`<div class="card"><h2>${t.measures[measure]} <span class="figure">${count}</span></h2>
${timeChart(numbers, {
  label,
  tone: measure,
  from,
  seconds: bucketSeconds,
  textOfValue: utcValue,
})}
<p class="hint">${t.atMost(most)}</p></div>`;
};

/** The numbers of the bars as a table. */
const figures = (texts: Texts, chart: AuditChart): Html => {
  const t = texts.security.charts;
  return html`<details><summary>${t.asTable}</summary>${table({
    isStacked: false,
    columns: [
      texts.security.columns.time,
      ...measures.map((measure) => ({ title: t.measures[measure], kind: 'number' as const })),
    ],
    rows: Array.from({ length: chart.buckets }, (_, index) => [
      exactTime(new Date(chart.from.getTime() + index * chart.bucketSeconds * 1000)),
      ...measures.map((measure) => chart.total[measure][index] ?? 0),
    ]).reverse(),
  })}</details>`;
};

const valueTable = (texts: Texts, chart: AuditChart, asked: Asked & { names: AuditNames }): Html => {
  const t = texts.security.charts;
  const dimension = t.dimensions[asked.dimension];
  // One scale for each column, so that bars of different rows can be compared.
  const topOf = (measure: keyof ChartSeries): number =>
    Math.max(0, ...chart.values.flatMap(({ series }) => series[measure]));
  const tops = { issued: topOf('issued'), used: topOf('used'), refused: topOf('refused') };
  return table({
    caption: t.most(dimension),
    isCaptionHidden: true,
    hasRowHeader: false,
    columns: [dimension, ...measures.map((measure) => t.measures[measure]), t.events],
    rows: chart.values.map(({ value, series }) => [
      html`${asked.names.has(value) && html`${asked.names.get(value)}<br>`}<a href="${hrefOf({ ...asked, value })}"><code>${shownValue(texts, value)}</code></a>`,
      ...measures.map((measure) => {
        const [count, most] = [sum(series[measure]), Math.max(0, ...series[measure])];
        const label = t.chartLabel(t.measures[measure], count, most, hoursText(texts, chart.bucketSeconds));
        return html`${count}${count > 0 && barChart(series[measure], { label, tone: `small ${measure}`, top: tops[measure], from: chart.from, seconds: chart.bucketSeconds })}`;
      }),
      eventsLink(texts, asked.dimension, value, chart),
    ]),
  });
};

const shownValue = (texts: Texts, value: string): string => {
  if (value === '') return texts.security.charts.unknown;
  return value === '*' ? texts.security.charts.others : value;
};

/**
 * The search has no filter for reasons and for "unknown". A value that is an API key needs the filter for credentials.
 */
const eventsLink = (texts: Texts, dimension: ChartDimension, value: string, { from }: AuditChart): Html | string => {
  if (dimension === 'reason' || value === '' || value === '*') return '–';
  const name = dimension === 'client' && !value.startsWith('opc_') ? 'credential' : dimension;
  return html`<a href="${searchHref({ [name]: value, since: from })}">${texts.security.charts.show}</a>`;
};
