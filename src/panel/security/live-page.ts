/** The tokens and credentials that are valid now. Tokens are read from the audit, credentials from their store. */
import { Fault } from '#src/contract/fault.ts';
import { newsLink, newsSlot } from '../live/news.ts';
import { refreshOn } from '../live/refresh-on.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, type HtmlValue, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { readChoice } from '../page/read-query.ts';
import { type LiveCredential, type LiveKind, liveKinds } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { credentialBadge } from '../view/badge.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { exactTime, time } from '../view/time.ts';
import { searchHref } from './audit-filter.ts';
import { newestAndOlder } from './audit-table.ts';
import { timesSwitch } from './times-switch.ts';
import { credentialsTopic, newsTopic } from './topics.ts';
import { statesOf, tokenTable } from './trace-view.ts';

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
  const kind = readChoice(view, 'kind', kinds) ?? 'token';
  const before = view.query.get('before') ?? undefined;
  try {
    const list = kind === 'token' ? await tokenList(view, before) : await credentialList(view, kind, before);
    return page({
      title: t.title,
      body: html`<div class="row spread"><p>${t.intro}</p>${timesSwitch(view.texts)}</div>
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
export const tokenNews = ({ texts }: View): Answer => newsLink(texts.security.news, hrefOf('token'));

const tokenList = async ({ ports, texts, actor, address }: View, before: string | undefined): Promise<Html> => {
  const t = texts.security.live;
  const asked = { limit: pageSize, ...(before === undefined ? undefined : { before }) };
  const { tokens, next } = await ports.security.listLiveTokens({ actor, address }, asked);
  const names = await ports.security.namesOf(tokens.flatMap(({ clientId }) => clientId ?? []));
  return html`${before === undefined && newsSlot(`${livePath}/news`, newsTopic)}
${
  tokens.length === 0
    ? html`<p>${next === undefined ? t.noTokens : t.noneHere}</p>`
    : tokenTable(texts, tokens, { caption: texts.security.newestFirst, names })
}
${livePager(texts, 'token', before, next)}`;
};

const credentialList = async ({ ports, texts }: View, kind: LiveKind, before: string | undefined): Promise<Html> => {
  const t = texts.security.live;
  const asked = { kind, limit: pageSize, ...(before === undefined ? undefined : { before }) };
  const { credentials, next } = await ports.security.listLiveCredentials(asked);
  // The list refreshes itself, so a credential that ends disappears from the open page.
  return html`<div id="live" ${refreshOn('live', hrefOf(kind, before), credentialsTopic)}>
${
  credentials.length === 0
    ? html`<p>${t.none}</p>`
    : table({
        caption: kind === 'client_certificate' ? t.byClient : texts.security.newestFirst,
        hasRowHeader: false,
        columns: [t.id, t.state, t.holder[kind], t.created, t.expires, t.lastUsed],
        rows: credentials.map((credential) => credentialRow(texts, credential)),
      })
}
${livePager(texts, kind, before, next)}
</div>`;
};

const credentialRow = (texts: Texts, credential: LiveCredential): HtmlValue[] => {
  const t = texts.security.live;
  const { kind, id, name, holder, holderName, state, lastUsed, lastAddress } = credential;
  // The audit names keys and certificates together with their client.
  const audited = kind === 'client_key' || kind === 'client_certificate' ? `${holder}/${id}` : id;
  return [
    html`${name !== '' && html`${name}<br>`}<a href="${searchHref({ credential: audited })}"><code>${id}</code></a>`,
    credentialBadge(state, statesOf(texts, kind)),
    html`${holderName} <span class="id"><code>${holder}</code></span>`,
    time(credential.created, 'day'),
    credential.expires === null ? t.never : exactTime(credential.expires),
    html`${lastUsed === null ? t.notUsed : exactTime(lastUsed)}${lastAddress !== null && html`<br><span class="hint">${lastAddress}</span>`}`,
  ];
};

const livePager = (texts: Texts, kind: Kind, before: string | undefined, next: string | undefined): Html | false =>
  pager({ texts }, { after: before, next, pathOf: (cursor) => hrefOf(kind, cursor), labels: newestAndOlder(texts) });
