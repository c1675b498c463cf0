/** The keys of a restaurant with their use, as a table that refreshes itself. */
import { dayMs } from '#src/platform/clock.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import type { ApiKey, Listed } from '../ports/restaurant.ts';
import { badge } from '../view/badge.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { keyLimitsPath } from './key-limit-pages.ts';
import { keyRequestsPath } from './key-request-pages.ts';
import { liftRoles, pathOfRestaurant } from './paths.ts';
import { keysTopic } from './topics.ts';

export type KeyPage = { restuid: string; ended: boolean; after: string | undefined; keys: Listed<ApiKey> };

export const isLive = ({ state }: ApiKey): boolean => state === 'active' || state === 'quarantined';

const mayLift = ({ user }: View): boolean => liftRoles.includes(user.role);

export const mayRotate = (view: View, { state }: ApiKey): boolean => state !== 'quarantined' || mayLift(view);

export const keyTable = (view: View, { restuid, ended, after, keys }: KeyPage): Html => {
  const t = view.texts.restaurant.keys;
  const path = pathOfRestaurant(restuid, '/keys');
  const pathOf = (cursor?: string): string => withQuery(path, { ended: ended ? '1' : undefined, after: cursor });
  return html`<section id="keys" aria-labelledby="keys-title" hx-get="${pathOf(after)}" hx-trigger="sse:${keysTopic}" hx-swap="outerHTML">
<div class="row spread"><h2 id="keys-title">${ended ? t.ended : t.live}</h2>
<a href="${ended ? path : withQuery(path, { ended: '1' })}">${ended ? t.showLive : t.showEnded}</a></div>
${
  keys.items.length === 0
    ? html`<p>${after !== undefined ? view.texts.restaurant.noMore : ended ? t.emptyEnded : t.empty}</p>`
    : table({
        columns: [t.name, t.state, t.use, t.ends, ...(ended ? [] : [t.actions])],
        rows: keys.items.map((key) => row(view, restuid, key)),
      })
}${pager(view, { after, next: keys.next, pathOf })}</section>`;
};

const row = (view: View, restuid: string, key: ApiKey): Html[] => {
  const t = view.texts.restaurant.keys;
  const path = pathOfRestaurant(restuid, `/keys/${encodeURIComponent(key.id)}`);
  return [
    html`${key.name}<br><code class="hint">${key.id}</code>`,
    stateOf(view, key),
    useOf(view, key),
    html`${key.expires === null ? t.never : time(key.expires)}<br><span class="hint">${t.created} ${time(key.created, 'day')}</span>`,
    ...(isLive(key)
      ? [
          html`<div class="row">${
            key.state === 'quarantined' &&
            mayLift(view) &&
            html`\n<a class="button" href="${path}/reactivate">${t.lift}<span class="visually-hidden"> ${key.name}</span></a>`
          }${
            mayRotate(view, key) &&
            html`\n<a class="button" id="rotate-${key.id}" href="${path}/rotate" aria-label="${t.rotateOf(key.name)}">${t.rotate}</a>`
          }
<a class="button" href="${keyLimitsPath(restuid, key.id)}" aria-label="${view.texts.limits.title(key.name)}">${view.texts.limits.nav}</a>
<a class="button" href="${keyRequestsPath(restuid, key.id)}" aria-label="${view.texts.requests.title(key.name)}">${view.texts.requests.nav}</a>
<a class="button" id="revoke-${key.id}" href="${path}/revoke" aria-label="${t.revokeOf(key.name)}">${t.revoke}</a></div>`,
        ]
      : []),
  ];
};

/** The longest overlap of a rotation. */
const endingMs = 30 * dayMs;

const isEnding = ({ now }: View, { expires }: ApiKey): boolean =>
  expires !== null && expires.getTime() - now.getTime() <= endingMs;

const stateOf = (view: View, key: ApiKey): Html => {
  const t = view.texts.restaurant.keys;
  const tone = key.state === 'active' ? 'good' : key.state === 'quarantined' ? 'warn' : 'plain';
  return html`${key.state === 'active' && isEnding(view, key) ? badge('warn', t.ending) : badge(tone, t.states[key.state])}${
    key.state === 'quarantined' && key.reason !== null && html`<br><span class="hint">${key.reason}</span>`
  }${key.leaked && html`<br>${badge('bad', view.texts.frame.leaked)}`}`;
};

/** The use of a key, which shows whether a key that is about to end can be revoked now. */
export const useOf = (view: View, key: ApiKey): Html => {
  const t = view.texts.restaurant.keys;
  const verdict = !isLive(key)
    ? undefined
    : !key.isQuiet
      ? badge('good', t.stillUsed)
      : key.safeToRetire && isEnding(view, key) && badge('plain', t.safeToRetire);
  const use =
    key.lastUsed === null
      ? t.neverUsed
      : html`${isLive(key) && html`${t.calls(key.calls5m)}<br>`}<span class="hint">${t.lastUse} ${time(key.lastUsed, 'relative')} ${t.from} ${key.lastAddress ?? '?'}</span>`;
  return html`${use}${verdict && html`<br>${verdict}`}`;
};
