/** A QR code as inline SVG with attributes only, as the content security policy requires. */
import { encode } from 'uqr';
import { type Html, html } from '../../page/html.ts';

/** Dark on light in both colour schemes, because some cameras read no inverted code. */
export const qrCode = (text: string, label: string): Html => {
  const { size, data } = encode(text, { ecc: 'M', border: 3 });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" width="220" height="220" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#ffffff"/><path d="${path}" fill="#000000"/></svg>`;
};
