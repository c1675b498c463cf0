/** What an endpoint logs in with at its receiver: set, replaced and removed. Secrets are written only and never shown again. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import { readChoice } from '../page/read-query.ts';
import { Refusal } from '../page/refusal.ts';
import type { EndpointLogin, WebhookEndpoint } from '../ports/restaurant.ts';
import { restaurantRoles } from '../restaurant/paths.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { fieldNote } from '../view/field.ts';
import { time } from '../view/time.ts';
import { pathOfEndpoint } from './endpoint-parts.ts';
import { withEndpoint } from './endpoint-secret.ts';

type Type = EndpointLogin['type'];
const types: readonly Type[] = ['certificate', 'oauth', 'header'];

/** `lines` of a text, or one `line`; those of a secret are empty whenever the form is shown. */
type Field = { name: FieldName; kind: 'line' | 'lines' | 'secret' | 'secretLines'; max: number; isOptional?: true };
type FieldName = keyof View['texts']['restaurant']['webhooks']['login']['fields'];

const fieldsOf: Readonly<Record<Type, readonly Field[]>> = {
  certificate: [
    { name: 'certificate', kind: 'lines', max: 20_000 },
    { name: 'private_key', kind: 'secretLines', max: 10_000 },
  ],
  oauth: [
    { name: 'token_url', kind: 'line', max: 2048 },
    { name: 'client_id', kind: 'line', max: 255 },
    { name: 'client_secret', kind: 'secret', max: 1024, isOptional: true },
    { name: 'private_key', kind: 'secretLines', max: 10_000, isOptional: true },
    { name: 'key_id', kind: 'line', max: 255, isOptional: true },
    { name: 'audience', kind: 'line', max: 2048, isOptional: true },
    { name: 'scope', kind: 'line', max: 1024, isOptional: true },
  ],
  header: [
    { name: 'name', kind: 'line', max: 64 },
    { name: 'value', kind: 'secret', max: 4096 },
  ],
};

type Problems = Partial<Record<FieldName, string>>;

/** `typed`: what the user typed; secrets are not taken from it. */
const formPage = (
  view: View,
  restuid: string,
  endpoint: WebhookEndpoint,
  { type, typed, problems }: { type: Type; typed: URLSearchParams; problems: Problems },
): Answer => {
  const { webhooks, cancel } = view.texts.restaurant;
  const t = webhooks.login;
  const path = pathOfEndpoint(restuid, endpoint.uid);
  const hasProblem = Object.keys(problems).length > 0;
  return page({
    title: t.title,
    ...(hasProblem && { status: 422 }),
    body: html`<p><code>${endpoint.url}</code></p>${loginNow(view, path, endpoint)}
<ul class="choice tabs" aria-label="${t.kind}">${types.map(
      (one) =>
        html`<li><a id="login-${one}" href="${withQuery(`${path}/login`, { type: one })}"${one === type && html` aria-current="true"`}>${webhooks.authTypes[one]}</a></li>`,
    )}</ul>
<form method="post" action="${path}/login" class="card form" autocomplete="off">${view.csrfField}<input type="hidden" name="type" value="${type}">
<p>${t.intros[type]}</p>${hasProblem && html`<p class="message bad" role="alert">${t.again}</p>`}
${fieldsOf[type].map((field) => input(view, field, typed.get(field.name) ?? '', problems[field.name]))}
<div class="row"><button class="primary">${endpoint.authShown === null ? t.save : t.replace}</button><a class="button" href="${path}">${cancel}</a></div></form>`,
  });
};

const loginNow = ({ texts }: View, path: string, { authShown }: WebhookEndpoint): Html | false => {
  const { login: t, authTypes } = texts.restaurant.webhooks;
  return (
    authShown !== null &&
    html`<p>${t.now} ${authTypes[authShown.type]} <code>${authShown.id}</code>. ${t.replaced}</p>
<p><a class="button" href="${path}/login/remove">${t.remove}</a></p>`
  );
};

const input = (view: View, { name, kind, max, isOptional }: Field, typed: string, problem?: string): Html => {
  const { webhooks, optional } = view.texts.restaurant;
  const note = fieldNote(name, problem);
  const label = html`${webhooks.login.fields[name]}${isOptional === true && html` <span class="hint">(${optional})</span>`}`;
  const required = isOptional !== true && html` required`;
  const isLines = kind === 'lines' || kind === 'secretLines';
  const field = isLines
    ? html`<textarea name="${name}" rows="6" maxlength="${max}" spellcheck="false" autocomplete="off"${required}${note.attributes}>
${kind === 'lines' && typed}</textarea>`
    : html`<input name="${name}" maxlength="${max}" spellcheck="false"${kind === 'secret' ? html` type="password" autocomplete="new-password"` : html` autocomplete="off" value="${typed}"`}${required}${note.attributes}>`;
  return html`<label>${label}${field}</label>${note.line}`;
};

/** Members of the form; empty ones are left out. */
const readLogin = (form: URLSearchParams, type: Type): EndpointLogin => ({
  ...Object.fromEntries(
    fieldsOf[type].flatMap(({ name }): [string, string][] => {
      const text = (form.get(name) ?? '').replaceAll('\r\n', '\n').trim();
      return text === '' ? [] : [[name, text]];
    }),
  ),
  type,
});

/** By field; undefined when the refusal is not about a field of this form. */
const problemsOf = ({ texts }: View, type: Type, error: unknown): Problems | undefined => {
  if (!(error instanceof Fault) || error.errors === undefined) return undefined;
  const t = texts.restaurant.webhooks.login;
  const problems: Problems = {};
  for (const { pointer, code, message } of error.errors) {
    // What does not fit the endpoint as a whole is about the first field.
    const name =
      pointer === 'auth'
        ? fieldsOf[type][0]?.name
        : fieldsOf[type].find((one) => pointer === `/auth/${one.name}`)?.name;
    if (name === undefined) return undefined;
    problems[name] ??= code === 'REQUIRED' ? t.required : t.problems[name](message);
  }
  return problems;
};

const show = withEndpoint((view, restuid, endpoint) => {
  const type = readChoice(view, 'type', types) ?? endpoint.authShown?.type ?? 'certificate';
  return formPage(view, restuid, endpoint, { type, typed: new URLSearchParams(), problems: {} });
});

const save = withEndpoint(async (view, restuid, endpoint) => {
  const type = types.find((one) => one === view.form.get('type'));
  if (type === undefined)
    throw new Refusal('VALIDATION_ERROR', view.texts.frame.unknownChoice('type', '', types.join(', ')));
  try {
    await view.ports.restaurant.endpoints.setLogin(view.actor, restuid, endpoint.uid, readLogin(view.form, type));
  } catch (error) {
    const problems = problemsOf(view, type, error);
    if (problems === undefined) throw error;
    return formPage(view, restuid, endpoint, { type, typed: view.form, problems });
  }
  const text = view.texts.restaurant.webhooks.login.saved(endpoint.url);
  return redirect(pathOfEndpoint(restuid, endpoint.uid), { tone: 'good', text });
});

const askToRemove = withEndpoint((view, restuid, endpoint) => {
  const { login: t, authTypes } = view.texts.restaurant.webhooks;
  const path = pathOfEndpoint(restuid, endpoint.uid);
  const { authShown } = endpoint;
  if (authShown === null) return redirect(path, { tone: 'good', text: t.removed(endpoint.url) });
  return confirmPage(view, {
    title: t.removeTitle,
    body: html`<p><code>${endpoint.url}</code><br>${authTypes[authShown.type]} <code>${authShown.id}</code></p><p>${t.removeText}</p>`,
    action: `${path}/login/remove`,
    submit: t.removeNow,
    back: path,
  });
});

const remove = withEndpoint(async (view, restuid, { uid, url }) => {
  await view.ports.restaurant.endpoints.setLogin(view.actor, restuid, uid, null);
  return redirect(pathOfEndpoint(restuid, uid), {
    tone: 'good',
    text: view.texts.restaurant.webhooks.login.removed(url),
  });
});

/** For a certificate that ends within 30 days. */
export const certificateWarning = (view: View, { certificateEnds, authShown }: WebhookEndpoint): Html | false =>
  certificateEnds !== null &&
  authShown?.expires != null &&
  html`<p class="message warn">${view.texts.restaurant.webhooks.login.ends[certificateEnds]} ${time(new Date(authShown.expires))}</p>`;

export const loginPages = (path: string): readonly Page[] => [
  { method: 'GET', path: `${path}/login`, roles: restaurantRoles, handle: show },
  { method: 'POST', path: `${path}/login`, roles: restaurantRoles, handle: save },
  { method: 'GET', path: `${path}/login/remove`, roles: restaurantRoles, handle: askToRemove },
  { method: 'POST', path: `${path}/login/remove`, roles: restaurantRoles, handle: remove },
];
