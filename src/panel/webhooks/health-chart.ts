/**
 * A stacked bar for each step of time: confirmed deliveries at the bottom, then failed ones (hatched), then untried
 * ones.
 */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { HealthStep } from '../ports/restaurant.ts';
import { time } from '../view/time.ts';

const stepWidth = 20;
const barWidth = 14;
const height = 100;

/** `summary`: the text alternative of the chart. */
export const healthChart = ({ texts }: View, steps: readonly HealthStep[], summary: string): Html => {
  const t = texts.restaurant.deliveries.health;
  const stacks = steps.map(({ atOnce, later, failed, cancelled, retrying, open }) => ({
    good: atOnce + later,
    bad: failed + cancelled + retrying,
    open,
  }));
  const highest = Math.max(1, ...stacks.map(({ good, bad, open }) => good + bad + open));
  const [first, last] = [steps[0], steps.at(-1)];
  return html`<figure class="health">
<svg class="chart" viewBox="0 0 ${steps.length * stepWidth} ${height + 1}" preserveAspectRatio="none" role="img" aria-label="${summary}">
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" class="bad-ground"/><rect width="3" height="6" class="bad-ink"/></pattern></defs>
<line x1="0" x2="${steps.length * stepWidth}" y1="${height}" y2="${height}" class="ground-line"/>
${stacks.map((stack, index) => bar(stack, index * stepWidth + (stepWidth - barWidth) / 2, highest))}</svg>
<figcaption><span class="row spread">${first !== undefined && time(first.start)}<span>${t.highest}: ${highest}</span>${last !== undefined && time(last.start)}</span>
<span class="row legend"><span><svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><rect width="12" height="12" class="good-ink"/></svg> ${t.confirmed}</span>
<span><svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="url(#hatch)"/></svg> ${t.notConfirmed}</span>
<span><svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><rect x="1" y="1" width="10" height="10" class="open-ink"/></svg> ${t.open}</span></span></figcaption></figure>`;
};

/** A part with at least one delivery gets a visible height, even beside a thousand others. */
const leastHeight = 3;

const bar = (stack: { good: number; bad: number; open: number }, x: number, highest: number): Html => {
  let top = height;
  const part = (count: number, look: Html): Html | false => {
    if (count === 0) return false;
    const tall = Math.max(leastHeight, Math.round((count / highest) * (height - 2 * leastHeight) * 10) / 10);
    top -= tall;
    return html`<rect x="${x}" y="${Math.round(top * 10) / 10}" width="${barWidth}" height="${tall}"${look}/>`;
  };
  return html`${part(stack.good, html` class="good-ink"`)}${part(stack.bad, html` fill="url(#hatch)"`)}${part(stack.open, html` class="open-ink"`)}`;
};
