/**
 * Numbers over time as bars, with axes. The SVG has attributes only, because the content security policy forbids inline
 * styles. Texts are beside it and not in it, because it is stretched to the width of the page.
 */
import { type Html, html } from '../page/html.ts';
import { time } from './time.ts';

const step = 10;
const gap = 2;
const height = 60;

type Bars = {
  /** The text alternative of the chart. */
  label: string;
  /** The CSS class that sets the colour. */
  tone: string;
  /** The number at the top of the chart; default: the highest. Charts beside each other need the same one. */
  top?: number;
};

/** A number of each bar with the time at which its span begins. */
type Spans = {
  from: Date;
  seconds: number;
  /** "{time} – {time}: {number}" for one bar. */
  textOfValue: (at: Date, number: number) => string;
  /** How the times are shown; default: `axis`. */
  timeStyle?: 'axis' | 'date';
  /** A number that a line marks, such as a quota. The chart reaches up to it at least. */
  mark?: number | undefined;
};

/** The text of a value before the script of the page shows it in the viewer's zone. */
export const utcValue = (at: Date, number: number): string =>
  `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC: ${number}`;

const topOf = (numbers: readonly number[], ...more: (number | undefined)[]): number =>
  Math.max(1, ...more.map((one) => one ?? 0), ...numbers);

const markLine = (mark: number, most: number, width: number): Html => {
  // Half a line below the edge, so that a mark at the very top is drawn whole.
  const y = Math.max(1, height - Math.round((mark / most) * height));
  return html`<line class="mark" x1="0" x2="${width}" y1="${y}" y2="${y}" stroke="currentColor" stroke-width="1.5" stroke-dasharray="6 4"></line>`;
};

const bars = (numbers: readonly number[], { label, tone, top }: Bars, spans?: Spans): Html => {
  const most = topOf(numbers, top, spans?.mark);
  const width = numbers.length * step;
  return html`<svg class="bars ${tone}" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${label}">
<line x1="0" x2="${width}" y1="${height}" y2="${height}" stroke="currentColor" stroke-width="1" opacity="0.5"></line>
${spans && html`<line x1="0" x2="${width}" y1="${height / 2}" y2="${height / 2}" stroke="currentColor" stroke-width="0.5" opacity="0.25"></line><line x1="0" x2="${width}" y1="0.5" y2="0.5" stroke="currentColor" stroke-width="0.5" opacity="0.25"></line>`}
${numbers.map((number, index) => {
  // At least one pixel high, so that one call beside thousands stays visible.
  const tall = number === 0 ? 0 : Math.max(2, Math.round((number / most) * height));
  return (
    tall > 0 &&
    html`<rect x="${index * step + gap / 2}" y="${height - tall}" width="${step - gap}" height="${tall}" fill="currentColor"></rect>`
  );
})}
${spans?.mark !== undefined && markLine(spans.mark, most, width)}
${spans && numbers.map((number, index) => valueArea(number, index, spans))}</svg>`;
};

/** The whole column of a bar answers the mouse, because a bar of one call is too small to point at. */
const valueArea = (number: number, index: number, { from, seconds, textOfValue }: Spans): Html => {
  const at = new Date(from.getTime() + index * seconds * 1000);
  return html`<path class="value" d="M${index * step} 0h${step}v${height}h-${step}z" data-at="${at.toISOString()}" data-number="${number}"><title>${textOfValue(at, number)}</title></path>`;
};

/**
 * A small chart for a cell of a table. A script shows its values on hover and by the arrow keys from a few attributes, because
 * an element for each value of each row would make the page too large.
 */
export const barChart = (
  numbers: readonly number[],
  { from, seconds, ...given }: Bars & Pick<Spans, 'from' | 'seconds'>,
): Html =>
  html`<div class="small-chart" data-chart data-from="${from.toISOString()}" data-seconds="${seconds}" data-numbers="${numbers.join(' ')}" tabindex="0" role="group" aria-label="${given.label}">${bars(numbers, given)}<output class="hint" data-chart-value></output></div>`;

/**
 * A chart with axes: the numbers at its left, the times below it. Its values appear on hover; with script also by focus
 * and the arrow keys, in the line below.
 */
export const timeChart = (numbers: readonly number[], given: Bars & Spans): Html => {
  const most = topOf(numbers, given.top, given.mark);
  const style = given.timeStyle ?? 'axis';
  // Of days the last one is named, and not the midnight after it.
  const spans = style === 'date' ? numbers.length - 1 : numbers.length;
  const end = new Date(given.from.getTime() + spans * given.seconds * 1000);
  return html`<div class="chart-box" data-chart${style === 'date' && html` data-style="date"`} tabindex="0" role="group" aria-label="${given.label}">
<div class="axis-y" aria-hidden="true"><span>${most}</span><span>0</span></div>
${bars(numbers, given, given)}
<div class="axis-x">${time(given.from, style)}${time(end, style)}</div>
<output class="hint" data-chart-value></output></div>`;
};
