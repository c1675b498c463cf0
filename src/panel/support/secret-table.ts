/** The secrets of a client, each with a meter of its use. */
import { type Html, html } from '../page/html.ts';
import type { ShownClient, ShownSecret } from '../ports/support.ts';
import type { Texts } from '../texts/en/en.ts';
import { badge, credentialBadge } from '../view/badge.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { clientPath } from './client-table.ts';

/** `path`: of the client's page, below which a secret is retired; undefined: none can be. */
export const secretTable = (
  texts: Texts,
  client: ShownClient,
  path: string | undefined = clientPath(client.clientId),
): Html => {
  const t = texts.support.client;
  const { state, created } = texts.support.clients;
  const most = Math.max(1, ...client.secrets.map(({ calls5m }) => calls5m));
  return table({
    caption: t.secretsCaption,
    columns: [t.secret, state, t.use, created, t.ends, { title: t.retire, kind: 'action' }],
    rows: client.secrets.map((secret) => [
      html`<code>${secret.id}</code>`,
      html`${credentialBadge(secret.state, texts.support.clients.secretStates)}${
        secret.leaked && html`<br>${badge('bad', texts.frame.leaked)}`
      }`,
      use(texts, secret, most),
      time(secret.created, 'day'),
      secret.expires === null ? t.noEnd : time(secret.expires),
      path !== undefined &&
        isLive(secret) &&
        html`<a class="button" id="retire-${secret.id}" href="${path}/secrets/${secret.id}/retire">${t.retire}<span class="visually-hidden"> ${secret.id}</span></a>`,
    ]),
  });
};

export const isLive = ({ state }: ShownSecret): boolean => state === 'active' || state === 'quarantined';

const use = (texts: Texts, secret: ShownSecret, most: number): Html => {
  const t = texts.support.client;
  const calls = t.callsLately(secret.calls5m);
  return html`<div><meter min="0" max="${most}" value="${secret.calls5m}" aria-label="${calls}"></meter> ${calls}</div>
<div class="hint">${
    secret.lastUsed === null
      ? t.neverUsed
      : html`${texts.support.clients.lastUsed} ${time(secret.lastUsed, 'relative')}${secret.lastAddress !== null && ` ${t.lastFrom(secret.lastAddress)}`}`
  }${secret.advice !== null && secret.advice !== 'not_used_yet' && html` · ${t.advice[secret.advice]}`}</div>`;
};

export const wasUsedLately = ({ calls5m }: ShownSecret): boolean => calls5m > 0;
