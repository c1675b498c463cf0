/** The trace of a credential: issue, use, refusals and the tokens that were issued for it. */
import { type Html, html } from '../page/html.ts';
import type { AuditNames, CredentialTrace, IssuedToken, LiveKind } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { credentialBadge } from '../view/badge.ts';
import { table } from '../view/table.ts';
import { exactTime } from '../view/time.ts';
import { type SearchFields, searchHref } from './audit-filter.ts';
import { auditTable, eventHref } from './audit-table.ts';
import { named } from './event-words.ts';

export const showTrace = (texts: Texts, traced: CredentialTrace, names: AuditNames): Html => {
  const t = texts.security.incident;
  return html`<dl class="facts">${factsOf(texts, traced, names)}</dl>
${
  traced.issuedUse !== null &&
  html`<h3>${t.descendants}</h3>${issuedUseOf(texts, traced)}${
    traced.descendants.length === 0
      ? html`<p>${t.noDescendants}</p>`
      : tokenTable(texts, traced.descendants, { caption: t.newestTokens(traced.descendants.length), names })
  }`
}
<h3>${t.refusals}</h3>
${traced.refusals.length === 0 ? html`<p>${t.noRefusals}</p>` : auditTable(texts, traced.refusals, { caption: texts.security.newestFirst, names })}`;
};

/** The words for the states of credentials of one kind. */
export const statesOf = ({ security }: Texts, kind: CredentialTrace['kind'] | LiveKind): Texts['security']['states'] =>
  kind === 'api_key' || kind === 'client_key' ? security.keyStates : security.states;

const factsOf = (texts: Texts, traced: CredentialTrace, names: AuditNames): Html[] => {
  const t = texts.security.incident;
  const { issued, clientId, parent, parentToken, state } = traced;
  const code = (href: string, text: string): Html => html`<a href="${href}"><code>${text}</code></a>`;
  const facts: [string, Html | string | number | false | null | undefined][] = [
    [t.state, state && credentialBadge(state, statesOf(texts, traced.kind))],
    [
      t.issued,
      issued &&
        html`<a href="${eventHref(issued.id)}">${exactTime(issued.at)}</a>${issued.actor !== null && html` · ${named(names, issued.actor)}`}${issued.address !== null && ` · ${issued.address}`}`,
    ],
    [
      t.client,
      clientId &&
        html`${names.has(clientId) && html`${names.get(clientId)} `}${code(searchHref({ client: clientId }), clientId)}`,
    ],
    [
      t.restaurants,
      issued !== null &&
        issued.tenants.length > 0 &&
        html`${issued.tenants.map((id, index) => html`${index > 0 && html`<br>`}${named(names, id)}`)}`,
    ],
    [t.parent, parent && code(searchHref({ credential: parent }), parent)],
    [t.parentToken, parentToken && code(searchHref({ tokenId: parentToken }), parentToken)],
    [
      t.calls,
      html`<a href="${searchHref({ action: 'request.allowed', ...ownFilter(traced) })}">${traced.partial ? t.atLeast(traced.calls) : traced.calls}</a>`,
    ],
    [
      t.callsRefused,
      refusedLink(
        // The OAuth endpoints refuse secrets too, under an action of their own.
        { fingerprint: traced.fingerprint, ...(traced.issuedUse === null ? denied : { decision: 'deny' }) },
        traced.refusedPartial ? t.atLeast(traced.refused) : traced.refused,
      ),
    ],
    [t.scopesUsed, traced.scopesUsed.length === 0 ? t.none : html`<code>${traced.scopesUsed.join(' ')}</code>`],
    [
      t.addresses,
      traced.addresses.length === 0
        ? t.none
        : html`${traced.addresses.map((address) => html`${code(searchHref({ address }), address)} `)}${traced.moreAddresses && t.moreAddresses}`,
    ],
    [t.firstUsed, traced.partial ? undefined : traced.firstUsed && exactTime(traced.firstUsed)],
    [t.lastUsed, traced.lastUsed && exactTime(traced.lastUsed)],
    [texts.security.fields.fingerprint, html`<code>${traced.fingerprint}</code>`],
  ];
  return facts.flatMap(([name, value]) =>
    value === null || value === undefined || value === false || value === ''
      ? []
      : [html`<dt>${name}</dt><dd>${value}</dd>`],
  );
};

const denied = { action: 'request.denied' } as const;

const refusedLink = (filter: SearchFields, count: number | string): Html =>
  html`<a href="${searchHref(filter)}">${count}</a>`;

/** The use of the tokens of a secret: a leaked secret may have no call of its own. */
const issuedUseOf = (texts: Texts, { id, issuedUse, tokens, liveTokens }: CredentialTrace): Html | undefined => {
  const t = texts.security.incident;
  if (issuedUse === null) return undefined;
  const { calls, refused, partial, addresses, moreAddresses, firstUsed, lastUsed } = issuedUse;
  const filter = { issuedFor: id };
  return html`<dl class="facts" id="issued-use">
<dt>${t.issuedTokens}</dt><dd><a href="${searchHref({ action: 'token.issued', credential: id })}">${tokens}</a></dd>
<dt>${t.liveTokens}</dt><dd>${liveTokens.partial ? t.atLeast(liveTokens.count) : liveTokens.count}</dd>
<dt>${t.issuedCalls}</dt><dd><a href="${searchHref({ action: 'request.allowed', ...filter })}">${partial ? t.atLeast(calls) : calls}</a></dd>
<dt>${t.issuedRefused}</dt><dd>${refusedLink({ ...denied, ...filter }, partial ? t.atLeast(refused) : refused)}</dd>
<dt>${t.addresses}</dt><dd>${addresses.length === 0 ? t.none : html`<code>${addresses.join(' ')}</code>`}${moreAddresses && html` ${t.moreAddresses}`}</dd>
${firstUsed !== null && !partial && html`<dt>${t.firstUsed}</dt><dd>${exactTime(firstUsed)}</dd>`}
${lastUsed !== null && html`<dt>${t.lastUsed}</dt><dd>${exactTime(lastUsed)}</dd>`}</dl>`;
};

/** A link to all events of the credential. */
export const ownFilter = ({ kind, id }: Pick<CredentialTrace, 'kind' | 'id'>): SearchFields =>
  kind === 'token' ? { tokenId: id } : { credential: id };

export const tokenTable = (
  texts: Texts,
  tokens: readonly IssuedToken[],
  { caption, names }: { caption: string; names: AuditNames },
): Html => {
  const t = texts.security.tokens;
  return table({
    caption,
    hasRowHeader: false,
    columns: [t.token, t.state, t.client, t.scopes, t.issued, t.expires],
    rows: tokens.map((token) => [
      html`<a href="${searchHref({ tokenId: token.id })}"><code>${token.id}</code></a>${parentOf(texts, token)}`,
      credentialBadge(token.state, texts.security.states),
      token.clientId !== null && named(names, token.clientId),
      html`<code>${token.scopes.join(' ')}</code>`,
      html`${exactTime(token.issued)}${token.address !== null && html`<br><span class="hint">${token.address}</span>`}`,
      exactTime(token.expires),
    ]),
  });
};

const parentOf = (texts: Texts, { parentToken }: IssuedToken): Html | null =>
  parentToken === null
    ? null
    : html`<br><span class="hint">${texts.security.incident.parentToken} <a href="${searchHref({ tokenId: parentToken })}"><code>${parentToken}</code></a></span>`;
