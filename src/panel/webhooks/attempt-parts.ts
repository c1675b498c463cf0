/** The result of one delivery attempt as text. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { DeliveryAttempt } from '../ports/restaurant.ts';

export const isConfirmed = ({ failure }: DeliveryAttempt): boolean => failure === undefined;

/** The reason of a failure, and the response if there was one. */
export const attemptOutcome = ({ texts }: View, attempt: DeliveryAttempt): Html => {
  const t = texts.restaurant.deliveries;
  const { failure, status, address, response } = attempt;
  return html`${failure !== undefined && html`<p>${t.failures[failure]}</p>`}
<dl class="facts">${status !== undefined && html`<dt>${t.status}</dt><dd>${status}</dd>`}
<dt>${t.took}</dt><dd>${timings(attempt)}</dd>
${address !== undefined && html`<dt>${t.address}</dt><dd><code>${address}</code></dd>`}</dl>
${
  status !== undefined &&
  (response === undefined || response === ''
    ? html`<p class="hint">${t.noResponse}</p>`
    : html`<p>${t.response}:</p><pre tabindex="0">${response}</pre>`)
}`;
};

const timings = ({ ms: { total, dns, connect, tls, firstByte } }: DeliveryAttempt): Html => {
  const parts = Object.entries({ DNS: dns, TCP: connect, TLS: tls, '1st byte': firstByte }).filter(
    (part): part is [string, number] => part[1] !== undefined,
  );
  return html`${total} ms${parts.length > 0 && html` <span class="hint">(${parts.map(([name, ms]) => `${name} ${ms}`).join(', ')})</span>`}`;
};
