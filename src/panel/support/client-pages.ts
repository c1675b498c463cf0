/** The page of one client: facts, secrets with their use, restaurants that it may reach, quarantine and disabling. */
import { type Answer, fragment, page, redirect } from '../page/answer.ts';
import { historyFact } from '../page/history-link.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { ShownClient } from '../ports/support.ts';
import { credentialBadge } from '../view/badge.ts';
import { copyButton } from '../view/copy-button.ts';
import { elsewhereNote, limitNames } from '../view/limits-view.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { clientPath } from './client-table.ts';
import { grantSection } from './grant-section.ts';
import { supportRoles } from './roles.ts';
import { secretTable } from './secret-table.ts';
import { stopSection } from './stop-section.ts';
import { credentialsTopic, useTopic } from './topics.ts';

export const clientPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/clients/:client',
    roles: supportRoles,
    nav: (texts) => texts.support.client.title,
    topics: [credentialsTopic, useTopic],
    handle: async (view) => showClient(view),
  },
  {
    method: 'GET',
    path: '/clients/:client/secrets',
    roles: supportRoles,
    handle: async ({ texts, params, ports, wantsFragment }) => {
      const client = await ports.support.showClient(params.client ?? '');
      if (!wantsFragment) return redirect(clientPath(client.clientId));
      return fragment(secretTable(texts, client));
    },
  },
];

/** `problems`: error messages by form; with one the status is 422. */
export const showClient = async (
  view: View,
  problems: { quarantine?: string; reactivate?: string; grants?: string } = {},
): Promise<Answer> => {
  const { texts, params, ports } = view;
  const client = await ports.support.showClient(params.client ?? '');
  const path = clientPath(client.clientId);
  const isRefused = Object.keys(problems).length > 0;
  return page({
    title: client.name,
    status: isRefused ? 422 : 200,
    body: html`${client.state === 'revoked' && html`<p class="message bad">${texts.support.client.isDisabled}</p>`}
${client.allowIp !== null && elsewhereNote(view, await ports.limits.show('client', client.clientId))}
${facts(view, client, ports.support.scopes.length)}
<h2>${texts.support.client.secrets}</h2>
<div id="secrets" hx-get="${path}/secrets" hx-trigger="sse:${useTopic}, sse:${credentialsTopic}">${secretTable(texts, client)}</div>
${client.state !== 'revoked' && rotateForm(view, path)}
${client.keys.length > 0 && keyTable(texts, client)}
${client.certificates.length > 0 && certificateTable(texts, client)}
${client.trusts.length > 0 && trustTable(texts, client)}
${await grantSection(view, client, problems.grants)}
${client.state !== 'revoked' && stopSection(view, client, problems)}`,
  });
};

const facts = (view: View, client: ShownClient, scopesMax: number): Html => {
  const { texts } = view;
  const t = texts.support.client;
  const { yes, no, clients } = texts.support;
  return html`<dl class="facts">
<dt>${t.clientId}</dt><dd class="row"><code id="client-id">${client.clientId}</code>${copyButton({ texts }, 'client-id')}</dd>
<dt>${t.state}</dt><dd>${credentialBadge(client.state, clients.states)}${
    client.changed !== null && html` ${t.since} ${time(client.changed)} ${client.actor !== null && t.by(client.actor)}`
  }</dd>
${client.reason !== null && html`<dt>${t.reason}</dt><dd>${client.reason}</dd>`}
<dt>${t.created}</dt><dd>${time(client.created)}</dd>
<dt>${t.scopes}</dt><dd>${client.scopes === null ? clients.allScopes : clients.someScopes(client.scopes.length, scopesMax)} · <a href="${clientPath(client.clientId)}/use">${texts.support.use.nav}</a></dd>
<dt>${texts.requests.nav}</dt><dd><a href="${clientPath(client.clientId)}/requests">${texts.requests.title(client.name)}</a></dd>
<dt>${texts.portal.contacts.nav}</dt><dd><a href="${clientPath(client.clientId)}/contacts">${texts.portal.contacts.title(client.name)}</a></dd>
<dt>${t.certificates}</dt><dd><a href="${clientPath(client.clientId)}/certificates">${texts.certificates.title(client.name)}</a></dd>
${historyFact(view, { client: client.clientId })}
<dt>${texts.limits.limitsTitle}</dt><dd>${limitFacts(texts, client)} · <a href="${clientPath(client.clientId)}/limits">${texts.limits.nav}</a></dd>
<dt>${texts.limits.addressesTitle}</dt><dd>${client.allowIp === null ? texts.limits.everywhere : client.allowIp.join(', ')}</dd>
<dt>${t.mayUseTokens}</dt><dd>${client.mayUseTokens ? yes : no}</dd>
<dt>${t.mayIntrospect}</dt><dd>${client.mayIntrospect ? yes : no}</dd>
<dt>${t.dpop}</dt><dd>${client.dpop === 'required' ? t.required : t.optional}</dd>
<dt>${t.certificateBinding}</dt><dd>${client.certificateBinding === 'required' ? t.required : t.optional}</dd>
${client.certificateName !== null && html`<dt>${t.certificateName}</dt><dd><code>${client.certificateName}</code></dd>`}
<dt>${t.fapi2}</dt><dd>${client.profile === 'fapi2' ? t.required : no}</dd>
</dl>`;
};

const limitFacts = (texts: View['texts'], { limits }: ShownClient): string => {
  const { names, onlyDefaults, number } = texts.limits;
  const own = limitNames.flatMap((name) => {
    const value = limits[name];
    return value === undefined ? [] : [`${names[name]}: ${number(value)}`];
  });
  return own.length === 0 ? onlyDefaults : own.join('; ');
};

const rotateForm = ({ texts, csrfField }: View, path: string): Html => {
  const t = texts.support.client;
  return html`<form method="post" action="${path}/rotate" class="card">${csrfField}
<h3>${t.rotate}</h3><p>${t.rotateText}</p>
<div class="row"><label class="inline">${t.overlap} <select name="overlap">${overlapHours.map(
    (hours) => html`<option value="${hours}"${hours === '24' && html` selected`}>${t.overlaps[hours]}</option>`,
  )}</select></label><button>${t.rotateSubmit}</button></div></form>`;
};

export const overlapHours = ['0', '1', '24', '168', '720'] as const;

const keyTable = (texts: View['texts'], { keys }: ShownClient): Html => {
  const t = texts.support.client;
  const { keyStates, state, lastUsed } = texts.support.clients;
  return html`<h2>${t.keys}</h2>${table({
    caption: t.keysCaption,
    columns: [t.key, state, t.use, lastUsed],
    rows: keys.map((key) => [
      html`<code>${key.id}</code> ${key.type}`,
      credentialBadge(key.state, keyStates),
      t.callsLately(key.calls5m),
      key.lastUsed === null ? texts.support.never : time(key.lastUsed, 'relative'),
    ]),
  })}`;
};

const certificateTable = (texts: View['texts'], { certificates }: ShownClient): Html => {
  const t = texts.support.client;
  const { certificateStates, state, lastUsed } = texts.support.clients;
  return html`<h2>${t.certificates}</h2>${table({
    caption: t.certificatesCaption,
    columns: [t.certificate, state, t.ends, t.use, lastUsed],
    rows: certificates.map((one) => [
      html`<code>${one.id}</code> ${one.subject}`,
      credentialBadge(one.state, certificateStates),
      one.expires === null ? t.noEnd : time(one.expires),
      t.callsLately(one.calls5m),
      one.lastUsed === null ? texts.support.never : time(one.lastUsed, 'relative'),
    ]),
  })}`;
};

export const trustTable = (texts: View['texts'], { trusts }: ShownClient): Html => {
  const t = texts.support.client;
  const { certificateStates, state, lastUsed } = texts.support.clients;
  return html`<h2>${t.trusts}</h2>${table({
    caption: t.trustsCaption,
    columns: [t.trust, state, t.use, lastUsed],
    rows: trusts.map((trust) => [
      html`${trust.subject}<br><span class="hint">${trust.issuer} · ${trust.audience}</span><br><code class="hint">${trust.id}</code>`,
      credentialBadge(trust.state, certificateStates),
      t.callsLately(trust.calls5m),
      trust.lastUsed === null ? texts.support.never : time(trust.lastUsed, 'relative'),
    ]),
  })}`;
};
