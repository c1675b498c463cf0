/** The start page of support: quarantined, failing and limited callers, and the newest refusals with who can help. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import type { CallerFigures, RefusedCaller } from '../ports/overview.ts';
import { keyRequestsPath } from '../restaurant/key-request-pages.ts';
import { pathOfRestaurant } from '../restaurant/paths.ts';
import { clientPath } from '../support/client-table.ts';
import type { Texts } from '../texts/en/en.ts';
import { badge } from '../view/badge.ts';
import { time } from '../view/time.ts';
import { callerLink, card, rowsOr } from './card.ts';

export const clientsPath = '/panel/clients';

export const supportCards = async (view: View): Promise<Html> => {
  const { overview } = view.ports;
  const [figures, refusals] = [await overview.callers(), await overview.refusals()];
  return html`<div class="figures">${quarantinedCard(view, figures)}${failingCard(view, figures)}${limitedCard(view, figures)}</div>${refusalsCard(view, refusals)}`;
};

/** The page on which support lifts the quarantine. */
const liftPath = ({ id, client, restuid }: CallerFigures['quarantined'][number]): string =>
  client === null
    ? pathOfRestaurant(restuid ?? '', `/keys/${encodeURIComponent(id)}/reactivate`)
    : `${clientPath(client)}#stop`;

const quarantinedCard = (view: View, { quarantined }: CallerFigures): Html => {
  const t = view.texts.overview.quarantined;
  return card({
    id: 'quarantined',
    title: t.title,
    body: rowsOr(
      quarantined,
      t.none,
      (one) => html`${callerLink(view, one)} <a href="${liftPath(one)}">${t.lift}</a>
<span class="hint">${one.reason}${one.since !== null && html` · ${time(one.since, 'relative')}`}</span>`,
    ),
    link: { path: clientsPath, label: t.show },
  });
};

const failingCard = (view: View, { failing }: CallerFigures): Html => {
  const t = view.texts.overview.callers;
  return card({
    id: 'callers',
    title: t.title,
    body: rowsOr(
      failing,
      t.none,
      (one) => html`${callerLink(view, one)} <span class="hint">${t.part(one.refused + one.failed, one.calls)}</span>`,
    ),
    link: { path: clientsPath, label: t.show },
  });
};

const limitedCard = (view: View, { limited }: CallerFigures): Html => {
  const t = view.texts.overview.limited;
  const used = ({ units, limit, period }: CallerFigures['limited'][number]): string | false =>
    limit !== null && limit > 0 && t.used(Math.round((100 * units) / limit), period);
  return card({
    id: 'limited',
    title: t.title,
    body: rowsOr(limited, t.none, (one) => {
      const says = [used(one), one.limited > 0 && t.refused(one.limited)].filter((text) => text !== false);
      return html`${callerLink(view, one)} <span class="hint">${says.join(' · ')}</span>`;
    }),
    link: { path: clientsPath, label: t.show },
  });
};

type Helper = keyof Texts['overview']['refusals']['helpers'];

/** Who can help a client. Every other reason is the developer's, in both lists. */
const helpersOfClient: Readonly<Record<string, Helper>> = {
  client_disabled: 'newClient',
  secret_ended: 'newSecret',
  leak_reported: 'newSecret',
  restaurant_gone: 'support',
  restaurant_not_granted: 'support',
  scope_missing: 'support',
  address_not_allowed: 'support',
  api_disabled: 'owner',
  quarantined: 'quarantine',
};

/** Who can help an API key. It belongs to one restaurant, and its scopes are those of every key. */
const helpersOfKey: Readonly<Record<string, Helper>> = {
  key_revoked: 'owner',
  key_expired: 'owner',
  leak_reported: 'owner',
  address_not_allowed: 'ownerNetworks',
  api_disabled: 'owner',
  quarantined: 'quarantine',
};

const helperOf = ({ reason, client }: RefusedCaller): Helper =>
  (client === null ? helpersOfKey : helpersOfClient)[reason] ?? 'developer';

const refusalsCard = (view: View, refusals: readonly RefusedCaller[]): Html => {
  const { overview, integrator } = view.texts;
  const t = overview.refusals;
  const reasons: Readonly<Record<string, { title: string }>> = integrator.reasons;
  return card({
    id: 'refusals',
    title: t.title,
    body: rowsOr(refusals, t.none, (one) => {
      const requests =
        one.client !== null ? `${clientPath(one.client)}/requests` : keyRequestsPath(one.restuid ?? '', one.id);
      return html`<a href="${withQuery(requests, { id: one.requestId })}">${one.name}</a> ${badge('warn', one.code)}
${reasons[one.reason]?.title ?? one.reason} <span class="hint">${t.times(one.count)}, ${time(one.last, 'relative')}.
${t.helps} ${t.helpers[helperOf(one)]}</span>`;
    }),
    link: { path: '/panel/explain', label: t.show },
  });
};
