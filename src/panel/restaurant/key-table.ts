/** The keys of a restaurant with their use, as a table that refreshes itself. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { ApiKey, Listed } from '../ports/restaurant.ts';
import { badge, pager, withQuery } from '../view/parts.ts';
import { time } from '../view/time.ts';
import { placeOf } from './places.ts';
import { keysTopic } from './topics.ts';

export type KeyPage = { restuid: string; ended: boolean; after: string | undefined; keys: Listed<ApiKey> };

export const isLive = ({ state }: ApiKey): boolean => state === 'active' || state === 'quarantined';

export const keyTable = (view: View, { restuid, ended, after, keys }: KeyPage): Html => {
  const t = view.texts.restaurant.keys;
  const path = placeOf(restuid, '/keys');
  const pathOf = (cursor?: string): string => withQuery(path, { ended: ended ? '1' : undefined, after: cursor });
  return html`<section id="keys" aria-labelledby="keys-title" hx-get="${pathOf(after)}" hx-trigger="sse:${keysTopic}" hx-swap="outerHTML">
<div class="row spread"><h2 id="keys-title">${ended ? t.ended : t.live}</h2>
<a href="${ended ? path : withQuery(path, { ended: '1' })}">${ended ? t.showLive : t.showEnded}</a></div>
${
  keys.items.length === 0
    ? html`<p>${after !== undefined ? view.texts.restaurant.noMore : ended ? t.emptyEnded : t.empty}</p>`
    : html`<table class="stack"><thead><tr><th scope="col">${t.name}</th><th scope="col">${t.state}</th><th scope="col">${t.use}</th><th scope="col">${t.ends}</th>
${!ended && html`<th scope="col">${t.actions}</th>`}</tr></thead>
<tbody>${keys.items.map((key) => row(view, restuid, key))}</tbody></table>`
}${pager(view, { after, next: keys.next, pathOf })}</section>`;
};

const row = (view: View, restuid: string, key: ApiKey): Html => {
  const t = view.texts.restaurant.keys;
  const place = placeOf(restuid, `/keys/${encodeURIComponent(key.keyId)}`);
  return html`<tr><th scope="row">${key.name}<br><code class="hint">${key.keyId}</code></th>
<td data-label="${t.state}">${stateOf(view, key)}</td>
<td data-label="${t.use}">${useOf(view, key)}</td>
<td data-label="${t.ends}">${key.expires === undefined ? t.never : time(key.expires)}<br><span class="hint">${t.created} ${time(key.created, 'day')}</span></td>
${
  isLive(key) &&
  html`<td data-label="${t.actions}"><div class="row">
<a class="button" id="rotate-${key.keyId}" href="${place}/rotate" aria-label="${t.rotateOf(key.name)}">${t.rotate}</a>
<a class="button" id="revoke-${key.keyId}" href="${place}/revoke" aria-label="${t.revokeOf(key.name)}">${t.revoke}</a></div></td>`
}</tr>`;
};

/** The longest overlap of a rotation. */
const endingMs = 30 * 24 * 3_600_000;

const isEnding = ({ now }: View, { expires }: ApiKey): boolean =>
  expires !== undefined && expires.getTime() - now.getTime() <= endingMs;

const stateOf = (view: View, key: ApiKey): Html => {
  const t = view.texts.restaurant.keys;
  const tone = key.state === 'active' ? 'good' : key.state === 'quarantined' ? 'warn' : 'plain';
  return html`${key.state === 'active' && isEnding(view, key) ? badge('warn', t.ending) : badge(tone, t.states[key.state])}${
    key.state === 'quarantined' && key.reason !== undefined && html`<br><span class="hint">${key.reason}</span>`
  }`;
};

/** The use of a key, which shows whether a key that is about to end can be revoked now. */
export const useOf = (view: View, key: ApiKey): Html => {
  const t = view.texts.restaurant.keys;
  const verdict = !isLive(key)
    ? undefined
    : !key.isQuiet
      ? badge('good', t.stillUsed)
      : key.isSafeToRetire && isEnding(view, key) && badge('plain', t.safeToRetire);
  const use =
    key.lastUsed === undefined
      ? t.neverUsed
      : html`${isLive(key) && html`${t.calls(key.calls5m)}<br>`}<span class="hint">${t.lastUse} ${time(key.lastUsed, 'relative')} ${t.from} ${key.lastAddress ?? '?'}</span>`;
  return html`${use}${verdict && html`<br>${verdict}`}`;
};
