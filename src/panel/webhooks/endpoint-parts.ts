/** Endpoints as a table and as single facts, with their state as text. */
import { type Html, type HtmlValue, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import type { Listed, WebhookEndpoint } from '../ports/restaurant.ts';
import { knownKinds } from '../restaurant/notification-pages.ts';
import { pathOfRestaurant } from '../restaurant/paths.ts';
import { deliveriesTopic } from '../restaurant/topics.ts';
import { clientPath } from '../support/client-table.ts';
import { supportRoles } from '../support/roles.ts';
import { badge } from '../view/badge.ts';
import { breakable } from '../view/breakable.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { nextTry } from './next-try.ts';

export const pathOfEndpoint = (restuid: string, uid: string, more = ''): string =>
  pathOfRestaurant(restuid, `/webhooks/${encodeURIComponent(uid)}${more}`);

/** The description, or else the URL. */
export const endpointName = ({ description, url }: WebhookEndpoint): Html => html`${description ?? breakable(url)}`;

const endpointState = ({ texts }: View, endpoint: WebhookEndpoint): Html => {
  const t = texts.restaurant.webhooks.states;
  if (!endpoint.enabled) return badge('plain', t.disabled);
  if (endpoint.failingSince !== null) return badge('bad', t.failing);
  const { lastSuccess, lastFailure } = endpoint;
  // The endpoint failed before it was disabled. Enabling it cleared `failingSince`, so its state is unknown until the
  // next attempt.
  if (lastFailure !== null && (lastSuccess === null || lastSuccess < lastFailure)) return badge('plain', t.again);
  return lastSuccess === null ? badge('plain', t.quiet) : badge('good', t.ok);
};

type EndpointPage = { restuid: string; after: string | undefined; endpoints: Listed<WebhookEndpoint> };

/** Refreshes itself. */
export const endpointTable = (view: View, { restuid, after, endpoints }: EndpointPage): Html => {
  const { webhooks: t, notifications } = view.texts.restaurant;
  const pathOf = (cursor?: string): string => withQuery(pathOfRestaurant(restuid, '/webhooks'), { after: cursor });
  const row = (endpoint: WebhookEndpoint): HtmlValue[] => [
    html`<a id="open-${endpoint.uid}" href="${pathOfEndpoint(restuid, endpoint.uid)}">${breakable(endpoint.url)}</a>${
      endpoint.description !== null && html`<br><span class="hint">${endpoint.description}</span>`
    }`,
    html`${endpointState(view, endpoint)}${endpoint.certificateEnds !== null && html` ${badge('warn', t.login.endsBadge[endpoint.certificateEnds])}`}`,
    knownKinds(endpoint.kinds)
      .map((kind) => notifications.kinds[kind])
      .join(', '),
    endpoint.lastSuccess === null ? t.never : time(endpoint.lastSuccess, 'relative'),
    endpoint.nextTry === undefined ? t.nothing : nextTry(view, endpoint.nextTry),
  ];
  return html`<section id="endpoints" aria-label="${t.nav}" hx-get="${pathOf(after)}" hx-trigger="sse:${deliveriesTopic}" hx-swap="outerHTML">${
    endpoints.items.length === 0
      ? html`<p>${t.empty}</p>`
      : table({ columns: [t.url, t.state, t.kinds, t.lastSuccess, t.nextAttempt], rows: endpoints.items.map(row) })
  }${pager(view, { after, next: endpoints.next, pathOf })}</section>`;
};

/** The current state as text. */
export const endpointNow = (view: View, endpoint: WebhookEndpoint): Html => {
  const t = view.texts.restaurant.webhooks;
  const { disabledReason, failingSince, lastSuccess, lastFailure, previousSecretExpires } = endpoint;
  return html`<dl class="facts">
<dt>${t.state}</dt><dd>${endpointState(view, endpoint)}${disabledReason !== null && html` ${t.reasons[disabledReason]}`}${
    endpoint.enabled && failingSince !== null && html` ${t.failingSince} ${time(failingSince)}`
  }</dd>
<dt>${t.lastSuccess}</dt><dd>${lastSuccess === null ? t.never : time(lastSuccess)}</dd>
<dt>${t.lastFailure}</dt><dd>${lastFailure === null ? t.never : time(lastFailure)}</dd>
<dt>${t.nextAttempt}</dt><dd>${endpoint.nextTry === undefined ? t.nothing : nextTry(view, endpoint.nextTry, 'moment')}</dd>
${previousSecretExpires !== null && html`<dt>${t.overlapRuns}</dt><dd>${time(previousSecretExpires)}</dd>`}</dl>`;
};

/** A link for roles that may open the page of the client. */
const clientOwner = ({ texts, user }: View, id: string, name: string | undefined): Html => {
  const t = texts.restaurant.webhooks;
  if (name === undefined) return html`${t.ownerClient(id)}`;
  const mayOpen = supportRoles.includes(user.role);
  return html`${mayOpen ? html`<a href="${clientPath(id)}">${name}</a>` : name} <code>${id}</code>`;
};

/** The settings of an endpoint. `ownerName`: of the API client that made it. */
export const endpointSettings = (view: View, endpoint: WebhookEndpoint, ownerName?: string): Html => {
  const { webhooks: t, notifications } = view.texts.restaurant;
  const { ownerKind, ownerId, signatureHeader, signature, v1a, authShown, maxPerSecond } = endpoint;
  return html`<dl class="facts">
<dt>${t.url}</dt><dd><code>${breakable(endpoint.url)}</code></dd>
${endpoint.description !== null && html`<dt>${t.description}</dt><dd>${endpoint.description}</dd>`}
<dt>${t.kinds}</dt><dd>${knownKinds(endpoint.kinds)
    .map((kind) => notifications.kinds[kind])
    .join(', ')}</dd>
${signatureHeader !== null && html`<dt>${t.signatureHeader}</dt><dd><code>${signatureHeader}</code></dd>`}
${signature !== null && html`<dt>${t.signature}</dt><dd><code>${signature}</code></dd>`}
${(signature !== null || !v1a) && html`<dt>${t.v1a}</dt><dd>${t.v1aSent[v1a ? 'true' : 'false']}</dd>`}
${
  authShown !== null &&
  html`<dt>${t.auth}</dt><dd>${t.authTypes[authShown.type]}: <code>${authShown.id}</code>${
    authShown.expires !== null && html` (${t.authExpires} ${time(new Date(authShown.expires))})`
  }</dd>`
}
${maxPerSecond !== null && html`<dt>${t.maxPerSecond}</dt><dd>${maxPerSecond}</dd>`}
${endpoint.digest && html`<dt>${t.more}</dt><dd>${t.digest}</dd>`}
<dt>${t.owner}</dt><dd>${ownerKind === 'panel' ? t.ownerPanel : clientOwner(view, ownerId, ownerName)}</dd>
<dt>${t.uid}</dt><dd><code>${endpoint.uid}</code></dd>
<dt>${t.createdAt}</dt><dd>${time(endpoint.created)}</dd></dl>`;
};
