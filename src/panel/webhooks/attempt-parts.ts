/** The result of one delivery attempt as text. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { DeliveryAttempt } from '../ports/restaurant.ts';

export const isConfirmed = ({ failure }: DeliveryAttempt): boolean => failure === null;

/** In a few words: the status of the answer, or else why there was none; and how long it took. */
export const attemptResult = (
  { texts }: View,
  { status, failure, totalMs }: Pick<DeliveryAttempt, 'status' | 'failure' | 'totalMs'>,
): Html => {
  const t = texts.restaurant.deliveries;
  return html`${status ?? (failure === null ? t.confirmed : t.shortFailures[failure])} · ${totalMs}\u00a0ms`;
};

/** The reason of a failure, and the response if there was one. */
export const attemptOutcome = ({ texts }: View, attempt: DeliveryAttempt): Html => {
  const t = texts.restaurant.deliveries;
  const { failure, status, address, response } = attempt;
  return html`${failure !== null && html`<p>${t.failures[failure]}</p>`}
<dl class="facts">${status !== null && html`<dt>${t.status}</dt><dd>${status}</dd>`}
<dt>${t.took}</dt><dd>${timings(attempt, t.firstByte)}</dd>
${address !== null && html`<dt>${t.address}</dt><dd><code>${address}</code></dd>`}</dl>
${
  status !== null &&
  (response === null || response === ''
    ? html`<p class="hint">${t.noResponse}</p>`
    : html`<p>${t.response}:</p><pre tabindex="0">${response}</pre>`)
}`;
};

const timings = ({ totalMs, dnsMs, connectMs, tlsMs, firstByteMs }: DeliveryAttempt, firstByte: string): Html => {
  const parts = Object.entries({ DNS: dnsMs, TCP: connectMs, TLS: tlsMs, [firstByte]: firstByteMs }).filter(
    (part): part is [string, number] => part[1] !== null,
  );
  return html`${totalMs} ms${parts.length > 0 && html` <span class="hint">(${parts.map(([name, ms]) => `${name} ${ms} ms`).join(', ')})</span>`}`;
};
