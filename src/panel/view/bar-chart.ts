/**
 * Numbers over time as bars. The SVG has attributes only, because the content security policy forbids inline styles.
 */
import { type Html, html } from '../page/html.ts';

const step = 10;
const gap = 2;
const height = 60;

/** `label`: the text alternative of the chart. `tone`: the CSS class that sets the colour. */
export const barChart = (numbers: readonly number[], { label, tone }: { label: string; tone: string }): Html => {
  const most = Math.max(1, ...numbers);
  const width = numbers.length * step;
  return html`<svg class="bars ${tone}" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${label}">
<line x1="0" x2="${width}" y1="${height}" y2="${height}" stroke="currentColor" stroke-width="1" opacity="0.5"></line>
${numbers.map((number, index) => {
  // At least one pixel high, so that one call beside thousands stays visible.
  const tall = number === 0 ? 0 : Math.max(2, Math.round((number / most) * height));
  return (
    tall > 0 &&
    html`<rect x="${index * step + gap / 2}" y="${height - tall}" width="${step - gap}" height="${tall}" fill="currentColor"></rect>`
  );
})}</svg>`;
};
