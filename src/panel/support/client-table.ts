/** A table of clients. */
import { type Html, html } from '../page/html.ts';
import type { ListedClient } from '../ports/support.ts';
import type { Texts } from '../texts/en/en.ts';
import { credentialBadge } from '../view/badge.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';

export const clientPath = (clientId: string): string => `/panel/clients/${encodeURIComponent(clientId)}`;

/** `scopesMax`: the number of scopes that exist. */
export const clientTable = (texts: Texts, clients: readonly ListedClient[], scopesMax: number): Html => {
  const t = texts.support.clients;
  return table({
    caption: t.caption,
    columns: [t.name, t.state, t.scopes, t.restaurants, t.lastUsed, t.created],
    rows: clients.map((client) => [
      html`<a href="${clientPath(client.clientId)}">${client.name}</a>`,
      credentialBadge(client.state, t.states),
      client.scopes === null ? t.allScopes : t.someScopes(client.scopes.length, scopesMax),
      client.tenantsCount,
      client.lastUsed === null ? texts.support.never : time(client.lastUsed, 'relative'),
      time(client.created, 'day'),
    ]),
  });
};
