/** The tokens and credentials that are valid now. Tokens are read from the audit, credentials from their store. */
import { Fault } from '#src/contract/fault.ts';
import { live } from '../live/live.ts';
import { newsLink, newsPlace } from '../live/news.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { readWord } from '../page/read-query.ts';
import { type LiveCredential, type LiveKind, liveKinds } from '../ports/security.ts';
import type { Texts } from '../texts/en.ts';
import { time } from '../view/time.ts';
import { searchHref } from './audit-filter.ts';
import { newsTopic } from './topics.ts';
import { stateBadge, tokenTable } from './trace-view.ts';

const livePath = '/panel/security/live';
const pageSize = 50;

type Kind = LiveKind | 'token';
const kinds: readonly Kind[] = ['token', ...liveKinds];

const hrefOf = (kind: Kind, before?: string): string => {
  const query = new URLSearchParams({ kind });
  if (before !== undefined) query.set('before', before);
  return `${livePath}?${query}`;
};

export const showLive = async (view: View): Promise<Answer> => {
  const t = view.texts.security.live;
  const kind = readWord(view, 'kind', kinds) ?? 'token';
  const before = view.query.get('before') ?? undefined;
  try {
    const list = kind === 'token' ? await tokenList(view, before) : await credentialList(view, kind, before);
    return page({
      title: t.title,
      body: html`<p>${t.intro}</p>
<nav class="tabs" aria-label="${t.kindsLabel}"><ul>${kinds.map(
        (name) =>
          html`<li><a href="${hrefOf(name)}"${name === kind && html` aria-current="page"`}>${t.kinds[name]}</a></li>`,
      )}</ul></nav>
${list}`,
    });
  } catch (error) {
    // The cursor was cut off or typed by hand.
    if (error instanceof Fault && error.code === 'VALIDATION_ERROR' && before !== undefined)
      return redirect(hrefOf(kind));
    throw error;
  }
};

/** The tab of tokens, which are read from the audit. */
export const tellTokenNews = ({ texts }: View): Answer => newsLink(texts.security.news, hrefOf('token'));

const tokenList = async ({ ports, texts, actor, address }: View, before: string | undefined): Promise<Html> => {
  const t = texts.security.live;
  const asked = { limit: pageSize, ...(before === undefined ? undefined : { before }) };
  const { tokens, next } = await ports.security.listLiveTokens({ actor, address }, asked);
  return html`${before === undefined && newsPlace(`${livePath}/news`, newsTopic)}
${
  tokens.length === 0
    ? html`<p>${next === undefined ? t.noTokens : t.noneHere}</p>`
    : tokenTable(texts, tokens, texts.security.newestFirst)
}
${pager(texts, 'token', before, next)}`;
};

const credentialList = async ({ ports, texts }: View, kind: LiveKind, before: string | undefined): Promise<Html> => {
  const t = texts.security.live;
  const asked = { kind, limit: pageSize, ...(before === undefined ? undefined : { before }) };
  const { credentials, next } = await ports.security.listLiveCredentials(asked);
  // The list refreshes itself, so a credential that ends disappears from the open page.
  return html`<div id="live" ${live('live', hrefOf(kind, before), 'security-credentials')}>
${
  credentials.length === 0
    ? html`<p>${t.none}</p>`
    : html`<table class="stack">
<caption>${texts.security.newestFirst}</caption>
<thead><tr><th scope="col">${t.id}</th><th scope="col">${t.state}</th><th scope="col">${t.holder[kind]}</th><th scope="col">${t.created}</th><th scope="col">${t.expires}</th><th scope="col">${t.lastUsed}</th></tr></thead>
<tbody>${credentials.map((credential) => credentialRow(texts, credential))}</tbody>
</table>`
}
${pager(texts, kind, before, next)}
</div>`;
};

const credentialRow = (texts: Texts, credential: LiveCredential): Html => {
  const t = texts.security.live;
  const { kind, id, name, holder, holderName, state, lastUsed, lastAddress } = credential;
  // The audit has no filter for client keys, so the link filters by the client.
  const audited = kind === 'client_key' ? `${holder}/${id}` : id;
  return html`<tr>
<td data-label="${t.id}"><a href="${searchHref({ credential: audited })}"><code>${id}</code></a>${name !== '' && html`<br>${name}`}</td>
<td data-label="${t.state}">${stateBadge(texts, state)}</td>
<td data-label="${t.holder[kind]}">${holderName}${holderName !== '' && html`<br>`}<code>${holder}</code></td>
<td data-label="${t.created}">${time(credential.created, 'day')}</td>
<td data-label="${t.expires}">${credential.expires === undefined ? t.never : time(credential.expires)}</td>
<td data-label="${t.lastUsed}">${lastUsed === undefined ? t.notUsed : time(lastUsed)}${lastAddress !== null && html`<br><span class="hint">${lastAddress}</span>`}</td>
</tr>`;
};

const pager = (texts: Texts, kind: Kind, before: string | undefined, next: string | undefined): Html =>
  html`<nav class="row pager" aria-label="${texts.security.pages}">${before !== undefined && html`<a class="button" href="${hrefOf(kind)}">${texts.security.newest}</a>`}${
    next !== undefined && html`<a class="button" rel="next" href="${hrefOf(kind, next)}">${texts.security.older}</a>`
  }</nav>`;
