/** The requests of the contact's client, their counts, and the reason of a refusal. */
import { type Answer, notFound, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { ExplainedRefusal } from '../ports/portal.ts';
import type { Texts } from '../texts/en/en.ts';
import { askedRestaurant, requestHours, requestList, withRestaurant } from '../view/request-list.ts';
import { suggestionsOf } from '../view/subject-names.ts';
import { time } from '../view/time.ts';
import { clientPage, contactRoles, mayNot, ownClientPath, pathOfOwnClient, requestedClient } from './portal-parts.ts';
import { ownRequestsTopic } from './topics.ts';

const requestsPath = `${ownClientPath}/requests`;

export const ownRequestPages: readonly Page[] = [
  {
    method: 'GET',
    path: requestsPath,
    roles: contactRoles,
    nav: (texts) => texts.requests.nav,
    topics: [ownRequestsTopic],
    handle: (view) => list(view),
  },
  {
    method: 'GET',
    path: `${requestsPath}/hours`,
    roles: contactRoles,
    handle: async (view) => {
      const client = await requestedClient(view);
      return clientPage(view, client, {
        title: view.texts.requests.hoursTitle(client.name),
        body: client.mayRead.has('whoami.usage')
          ? await requestHours(view, { caller: client.clientId, path: pathOfRequests(client.clientId) })
          : mayNot(view),
      });
    },
  },
  {
    method: 'GET',
    path: `${requestsPath}/refusals/:request`,
    roles: contactRoles,
    handle: (view) => explain(view),
  },
];

/** Names are those of the first restaurants of the client; others are asked for by their ids. */
const list = async (view: View): Promise<Answer> => {
  const client = await requestedClient(view);
  const title = view.texts.requests.title(client.name);
  if (!client.mayRead.has('whoami.requests')) return clientPage(view, client, { title, body: mayNot(view) });
  const path = pathOfRequests(client.clientId);
  const { items } = await view.ports.portal.restaurants(client.clientId, undefined);
  const asked = askedRestaurant(view);
  const [only, ...others] = items.filter(({ name }) => name.toLowerCase() === asked?.toLowerCase());
  if (only !== undefined && others.length === 0 && only.restuid !== asked)
    return redirect(withRestaurant(view, path, only.restuid));
  return clientPage(view, client, {
    title,
    body: await requestList(view, {
      caller: client.clientId,
      path,
      explainPath: (id) => `${path}/refusals/${encodeURIComponent(id)}`,
      topic: ownRequestsTopic,
      restaurantNames: () => Promise.resolve(new Map(items.map(({ restuid, name }) => [restuid, name]))),
      restaurantSuggestions: suggestionsOf(
        'restaurant',
        items.map(({ restuid, name }) => ({ id: restuid, name })),
      ),
    }),
  });
};

const pathOfRequests = (clientId: string): string => pathOfOwnClient(clientId, '/requests');

const explain = async (view: View): Promise<Answer> => {
  const { params, texts, ports } = view;
  const id = params.request ?? '';
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(id)) return notFound();
  const client = await requestedClient(view);
  const refusal = await ports.portal.refusal(client.clientId, id);
  const t = texts.portal.refusal;
  return clientPage(view, client, {
    title: t.title,
    body: html`${client.mayRead.has('whoami.denial') ? (refusal === undefined ? html`<p>${t.unknown}</p>` : reasonOf(texts, refusal)) : mayNot(view)}
<p><a href="${pathOfRequests(client.clientId)}">${t.back}</a> · <a href="/docs/errors">${texts.integrator.errors}</a></p>`,
  });
};

const reasonOf = ({ integrator: t }: Texts, refusal: ExplainedRefusal): Html => {
  const words = Object.entries(t.reasons).find(([reason]) => reason === refusal.reason)?.[1];
  const { missing_scopes: missing, detail, errors } = refusal;
  const labelOf = (name: string): string => Object.entries(t.details).find(([known]) => known === name)?.[1] ?? name;
  const details = Object.entries(detail);
  return html`<h2>${words?.title ?? refusal.reason}</h2>${words !== undefined && html`<p>${words.text}</p>`}
<dl class="facts">
<dt>${t.facts.at}</dt><dd>${time(new Date(refusal.at_iso))}</dd>
<dt>${t.facts.request}</dt><dd><code>${refusal.method} ${refusal.path}</code><br><code class="hint">${refusal.request_id}</code></dd>
<dt>${t.facts.answer}</dt><dd>${refusal.status} <code>${refusal.code}</code></dd>
${missing.length > 0 && html`<dt>${t.facts.missingScopes}</dt><dd>${missing.map((scope) => html`<code>${scope}</code> `)}</dd>`}
${details.length > 0 && html`<dt>${t.facts.details}</dt><dd>${details.map(([name, value]) => html`<div>${labelOf(name)}: ${typeof value === 'string' ? value : JSON.stringify(value)}</div>`)}</dd>`}
${errors.length > 0 && html`<dt>${t.facts.errors}</dt><dd>${errors.map(({ pointer, message }) => html`<div>${pointer !== '' && html`<code>${pointer}</code>: `}${message}</div>`)}</dd>`}
</dl>`;
};
