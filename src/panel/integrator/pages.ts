/** Pages for integrators: links to the reference, and the page that explains a refusal. */
import { page } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page } from '../page/page.ts';
import type { PublicPage } from '../page/public-page.ts';
import { roles } from '../ports/role.ts';
import type { Texts } from '../texts/en/en.ts';

const explainPath = '/explain';

export const integratorPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/integrators',
    roles,
    nav: (texts) => texts.integrator.title,
    handle: ({ texts, user }) => {
      const t = texts.integrator;
      const links = [
        ['/docs', t.reference, t.referenceText],
        [`/panel${explainPath}`, t.explain, t.explainText],
        ['/docs/errors', t.errors, t.errorsText],
        ['/docs/webhooks', t.webhooks, t.webhooksText],
      ] as const;
      return page({
        title: t.title,
        body: html`<p>${user.role === 'contact' ? t.introOfContact : t.intro}</p><ul class="cards">${links.map(
          ([path, title, text]) =>
            html`<li><a class="card" href="${path}">${title}<br><span class="hint">${text}</span></a></li>`,
        )}</ul>`,
      });
    },
  },
];

/**
 * For callers that have a credential and no account. The browser asks the API with that credential, so the panel never
 * receives it; without script the form cannot be sent at all. The operation decides who may read an explanation
 * (interface 11.5).
 */
export const explainPages: readonly PublicPage[] = [
  {
    method: 'GET',
    path: explainPath,
    handle: ({ texts, query }) => {
      const t = texts.integrator;
      return page({
        title: t.explain,
        scripts: ['explain.js'],
        body: html`<p>${t.explainIntro}</p>
<noscript><p>${t.noScript}</p><pre>curl -H 'X-Api-Key: …' …/api/whoami/denials/req_…</pre></noscript>
<form id="explain" method="post" class="card" data-asking="${t.asking}" data-missing="${t.missing}">
<label>${t.requestId}<input name="request" required autocomplete="off" spellcheck="false" maxlength="64" pattern="[A-Za-z0-9._\\-]+" value="${requestOf(query)}"></label>
${credentialFields(texts)}
<button class="primary" disabled>${t.submit}</button>
</form>
<div id="explanation" role="status" aria-live="polite"></div>
${templates(texts)}
<p><a href="/docs">${t.reference}</a> · <a href="/docs/errors">${t.errors}</a></p>`,
      });
    },
  },
];

const requestOf = (query: URLSearchParams): string => {
  const id = query.get('request') ?? '';
  return /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : '';
};

const credentialFields = (texts: Texts): Html => {
  const t = texts.integrator;
  const secret = (kind: string, name: string, label: string): Html =>
    html`<label data-kind="${kind}">${label}<input type="password" name="${name}" autocomplete="off" spellcheck="false" maxlength="4096"></label>`;
  return html`<fieldset><legend>${t.credential}</legend>
<div class="row">${(['key', 'client', 'token'] as const).map(
    (kind) =>
      html`<label class="check"><input type="radio" name="kind" value="${kind}"${kind === 'key' && html` checked`}>${t.kinds[kind]}</label>`,
  )}</div>
${secret('key', 'key', t.key)}
<label data-kind="client">${t.clientId}<input name="client" autocomplete="off" spellcheck="false" maxlength="64"></label>
${secret('client', 'secret', t.secret)}
${secret('token', 'token', t.token)}
</fieldset>`;
};

/** Templates that the script fills in, so that all texts are on the server. */
const templates = (texts: Texts): Html => {
  const t = texts.integrator;
  const says = (id: string, { title, text }: { title: string; text: string }, tone: string): Html =>
    html`<template id="${id}"><h2>${title}</h2><p>${text}${tone === 'detail' && html` <strong data-slot="detail"></strong>`}</p></template>`;
  const row = (name: string, label: string): Html => html`<dt>${label}</dt><dd data-slot="${name}"></dd>`;
  return html`${Object.entries(t.reasons).map(([reason, words]) => says(`reason-${reason}`, words, ''))}
${says('not-found', t.notFound, '')}${says('not-accepted', t.notAccepted, 'detail')}${says('too-many', t.tooMany, 'detail')}${says('failed', t.failed, '')}
<template id="facts"><dl class="facts">${row('at', t.facts.at)}${row('request', t.facts.request)}${row('answer', t.facts.answer)}${row('missing', t.facts.missingScopes)}${row('details', t.facts.details)}${row('errors', t.facts.errors)}</dl></template>
<template id="detail-words">${Object.entries(t.details).map(([name, words]) => html`<span data-detail="${name}">${words}</span>`)}</template>`;
};
