/** What the pages of contacts share: their paths, the frame around their content, and the choice of the client. */
import { type Answer, type PageContent, page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { OwnClient } from '../ports/portal.ts';
import type { Role } from '../ports/role.ts';

export const contactRoles: readonly Role[] = ['contact'];

export const portalPath = '/portal';
export const ownClientPath = `${portalPath}/:client`;

export const pathOfOwnClient = (clientId: string, more = ''): string =>
  `/panel${portalPath}/${encodeURIComponent(clientId)}${more}`;

/** The client of the path; the application has checked that it is one of the contact. Throws NOT_FOUND. */
export const requestedClient = ({ params, ports }: Pick<View, 'params' | 'ports'>): Promise<OwnClient> =>
  ports.portal.show(params.client ?? '');

/** The page with the state of the client above its content, when that forbids changes. */
export const clientPage = async (view: View, client: OwnClient, content: PageContent): Promise<Answer> =>
  page({ ...content, body: html`${await switcher(view, client)}${stateNote(view, client)}${content.body}` });

/** In place of what the client may not read at the API. */
export const mayNot = ({ texts }: View): Html => html`<p>${texts.portal.mayNot}</p>`;

const stateNote = ({ texts }: View, client: OwnClient): Html | false => {
  const t = texts.portal;
  if (client.state === 'revoked') return html`<p class="message bad">${t.disabled}</p>`;
  if (client.state === 'quarantined')
    return html`<p class="message warn">${t.quarantined}${client.reason !== null && html` ${texts.support.client.reason}: ${client.reason}`}</p>`;
  return !client.mayChange && html`<p class="message warn">${t.noCredential}</p>`;
};

/** For a contact of several clients. */
const switcher = async ({ user, texts, ports }: View, { clientId }: OwnClient): Promise<Html | false> => {
  if (user.clients.length < 2) return false;
  const t = texts.portal;
  const names = await ports.portal.namesOf(user.clients);
  return html`<form method="get" action="/panel${portalPath}" class="row switch"><label class="inline">${t.switchLabel} <select name="client">${names.map(
    (one) => html`<option value="${one.clientId}"${one.clientId === clientId && html` selected`}>${one.name}</option>`,
  )}</select></label><button>${t.switch}</button></form>`;
};
