/** The trace of a credential: issue, use, refusals and the tokens that were issued for it. */
import { type Html, html } from '../page/html.ts';
import type { CredentialTrace, IssuedToken } from '../ports/ports.ts';
import type { Texts } from '../texts/en/en.ts';
import { credentialBadge } from '../view/badge.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { type SearchFields, searchHref } from './audit-filter.ts';
import { auditTable, eventHref } from './audit-table.ts';

export const showTrace = (texts: Texts, traced: CredentialTrace): Html => {
  const t = texts.security.incident;
  return html`<dl class="facts">${factsOf(texts, traced)}</dl>
${
  traced.kind === 'client_secret' &&
  html`<h3>${t.descendants(traced.tokens)}</h3>${issuedUseOf(texts, traced)}${
    traced.descendants.length === 0
      ? html`<p>${t.noDescendants}</p>`
      : tokenTable(texts, traced.descendants, t.newestTokens(traced.descendants.length))
  }`
}
<h3>${t.refusals}</h3>
${traced.refusals.length === 0 ? html`<p>${t.noRefusals}</p>` : auditTable(texts, traced.refusals, texts.security.newestFirst)}`;
};

const factsOf = (texts: Texts, traced: CredentialTrace): Html[] => {
  const t = texts.security.incident;
  const { issued, clientId, parent, parentToken, state } = traced;
  const code = (href: string, text: string): Html => html`<a href="${href}"><code>${text}</code></a>`;
  const facts: [string, Html | string | number | null | undefined][] = [
    [t.state, state && credentialBadge(state, texts.security.states)],
    [
      t.issued,
      issued &&
        html`<a href="${eventHref(issued.id)}">${time(issued.at)}</a>${issued.actor !== null && ` · ${issued.actor}`}${issued.address !== null && ` · ${issued.address}`}`,
    ],
    [t.client, clientId && code(searchHref({ client: clientId }), clientId)],
    [t.restaurants, issued?.tenants.join(', ')],
    [t.parent, parent && code(searchHref({ credential: parent }), parent)],
    [t.parentToken, parentToken && code(searchHref({ tokenId: parentToken }), parentToken)],
    [
      t.calls,
      html`<a href="${searchHref({ action: 'request.allowed', ...ownFilter(traced) })}">${traced.partial ? t.atLeast(traced.calls) : traced.calls}</a>`,
    ],
    [t.callsRefused, refusedLink({ fingerprint: traced.fingerprint }, traced.refused)],
    [t.scopesUsed, traced.scopesUsed.length === 0 ? t.none : html`<code>${traced.scopesUsed.join(' ')}</code>`],
    [
      t.addresses,
      traced.addresses.length === 0
        ? t.none
        : html`${traced.addresses.map((address) => html`${code(searchHref({ address }), address)} `)}`,
    ],
    [t.firstUsed, traced.partial ? undefined : traced.firstUsed && time(traced.firstUsed)],
    [t.lastUsed, traced.lastUsed && time(traced.lastUsed)],
    [texts.security.fields.fingerprint, html`<code>${traced.fingerprint}</code>`],
  ];
  return facts.flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [html`<dt>${name}</dt><dd>${value}</dd>`],
  );
};

const refusedLink = (filter: SearchFields, count: number): Html =>
  html`<a href="${searchHref({ action: 'request.denied', ...filter })}">${count}</a>`;

/** The use of the tokens of a secret: a leaked secret may have no call of its own. */
const issuedUseOf = (texts: Texts, { id, issuedUse }: CredentialTrace): Html | undefined => {
  const t = texts.security.incident;
  if (issuedUse === null) return undefined;
  const { calls, refused, partial, addresses, lastUsed } = issuedUse;
  const filter = { issuedFor: id };
  return html`<dl class="facts" id="issued-use">
<dt>${t.issuedCalls}</dt><dd><a href="${searchHref({ action: 'request.allowed', ...filter })}">${partial ? t.atLeast(calls) : calls}</a></dd>
<dt>${t.issuedRefused}</dt><dd>${refusedLink(filter, refused)}</dd>
<dt>${t.addresses}</dt><dd>${addresses.length === 0 ? t.none : html`<code>${addresses.join(' ')}</code>`}</dd>
${lastUsed !== null && html`<dt>${t.lastUsed}</dt><dd>${time(lastUsed)}</dd>`}</dl>`;
};

/** A link to all events of the credential. */
export const ownFilter = ({ kind, id }: Pick<CredentialTrace, 'kind' | 'id'>): SearchFields =>
  kind === 'token' ? { tokenId: id } : { credential: id };

export const tokenTable = (texts: Texts, tokens: readonly IssuedToken[], caption: string): Html => {
  const t = texts.security.tokens;
  return table({
    caption,
    hasRowHeader: false,
    columns: [t.token, t.state, t.client, t.scopes, t.issued, t.expires],
    rows: tokens.map((token) => [
      html`<a href="${searchHref({ tokenId: token.id })}"><code>${token.id}</code></a>${parentOf(texts, token)}`,
      credentialBadge(token.state, texts.security.states),
      token.clientId !== null && html`<code>${token.clientId}</code>`,
      html`<code>${token.scopes.join(' ')}</code>`,
      html`${time(token.issued)}${token.address !== null && html`<br><span class="hint">${token.address}</span>`}`,
      time(token.expires),
    ]),
  });
};

const parentOf = (texts: Texts, { parentToken }: IssuedToken): Html | null =>
  parentToken === null
    ? null
    : html`<br><span class="hint">${texts.security.incident.parentToken} <a href="${searchHref({ tokenId: parentToken })}"><code>${parentToken}</code></a></span>`;
