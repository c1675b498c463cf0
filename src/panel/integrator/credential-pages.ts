/** The credentials of the contact's client: rotate a secret with overlap, add and remove public keys and certificates. */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import type { OwnClient } from '../ports/portal.ts';
import { overlapHours, trustTable } from '../support/client-pages.ts';
import { readOverlap } from '../support/secret-pages.ts';
import { isLive, secretTable } from '../support/secret-table.ts';
import { credentialBadge } from '../view/badge.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { fieldNote, shownAgain } from '../view/field.ts';
import { message } from '../view/layout.ts';
import { secretOnce } from '../view/secret-once.ts';
import { table } from '../view/table.ts';
import { time } from '../view/time.ts';
import { clientPage, contactRoles, ownClientPath, pathOfOwnClient, requestedClient } from './portal-parts.ts';

const path = `${ownClientPath}/credentials`;
const retirePath = `${ownClientPath}/secrets/:secret/retire`;

/** Names of the path parameters. */
const param = { keys: 'jwk', certificates: 'thumbprint' } as const;

const pathOfCredentials = (clientId: string): string => pathOfOwnClient(clientId, '/credentials');

export const credentialPages: readonly Page[] = [
  {
    method: 'GET',
    path,
    roles: contactRoles,
    nav: (texts) => texts.portal.credentials.nav,
    handle: (view) => show(view),
  },
  { method: 'POST', path: `${ownClientPath}/rotate`, roles: contactRoles, handle: (view) => rotate(view) },
  { method: 'GET', path: retirePath, roles: contactRoles, handle: (view) => askRetire(view) },
  { method: 'POST', path: retirePath, roles: contactRoles, handle: (view) => retire(view) },
  { method: 'POST', path: `${path}/keys`, roles: contactRoles, handle: (view) => add(view, 'keys') },
  { method: 'POST', path: `${path}/certificates`, roles: contactRoles, handle: (view) => add(view, 'certificates') },
  ...(['keys', 'certificates'] as const).flatMap((kind): Page[] => [
    {
      method: 'GET',
      path: `${path}/${kind}/:${param[kind]}/remove`,
      roles: contactRoles,
      handle: (view) => askRemove(view, kind),
    },
    {
      method: 'POST',
      path: `${path}/${kind}/:${param[kind]}/remove`,
      roles: contactRoles,
      handle: (view) => remove(view, kind),
    },
  ]),
];

type Kind = 'keys' | 'certificates';

/** `problems`: error messages by form; with one the status is 422. */
const show = async (view: View, problems: Partial<Record<Kind, string>> = {}): Promise<Answer> => {
  const { texts } = view;
  const client = await requestedClient(view);
  const home = pathOfOwnClient(client.clientId);
  return clientPage(view, client, {
    title: texts.portal.credentials.title(client.name),
    status: Object.keys(problems).length === 0 ? 200 : 422,
    body: html`<h2>${texts.support.client.secrets}</h2>
<div id="secrets">${secretTable(texts, client, client.mayChange ? home : undefined)}</div>
${client.mayRotate && rotateForm(view, home)}
${(client.keys.length > 0 || client.mayHaveKeys) && keySection(view, client, problems.keys)}
${(client.certificates.length > 0 || client.mayHaveCertificates) && certificateSection(view, client, problems.certificates)}
${client.trusts.length > 0 && trustTable(texts, client)}`,
  });
};

const rotateForm = ({ texts, csrfField }: View, home: string): Html => {
  const t = texts.support.client;
  return html`<form method="post" action="${home}/rotate" class="card">${csrfField}
<h3>${t.rotate}</h3><p>${texts.portal.credentials.rotateText}</p>
<div class="row"><label class="inline">${t.overlap} <select name="overlap">${overlapHours.map(
    (hours) => html`<option value="${hours}"${hours === '24' && html` selected`}>${t.overlaps[hours]}</option>`,
  )}</select></label><button>${t.rotateSubmit}</button></div></form>`;
};

const removeLink = ({ texts }: View, { clientId }: OwnClient, kind: Kind, id: string): Html =>
  html`<a class="button" href="${pathOfCredentials(clientId)}/${kind}/${encodeURIComponent(id)}/remove">${texts.portal.credentials.remove}<span class="visually-hidden"> ${id}</span></a>`;

const keySection = (view: View, client: OwnClient, problem: string | undefined): Html => {
  const { texts, csrfField, form } = view;
  const t = texts.support.client;
  const own = texts.portal.credentials;
  const { keyStates, state, lastUsed } = texts.support.clients;
  const note = fieldNote('jwk', problem);
  return html`<h2>${t.keys}</h2>${
    client.keys.length === 0
      ? html`<p>${own.noKeys}</p>`
      : table({
          caption: t.keysCaption,
          columns: [t.key, state, lastUsed, { title: own.remove, kind: 'action' }],
          rows: client.keys.map((key) => [
            html`<code>${key.id}</code> ${key.type}`,
            credentialBadge(key.state, keyStates),
            key.lastUsed === null ? texts.support.never : time(key.lastUsed, 'relative'),
            client.mayChange && isEnding(key) && removeLink(view, client, 'keys', key.id),
          ]),
        })
  }${
    client.mayChange &&
    client.mayHaveKeys &&
    html`<form method="post" action="${pathOfCredentials(client.clientId)}/keys" class="card">${csrfField}
<h3>${own.addKey}</h3><p>${own.addKeyText}</p>
<label>${own.jwk}<textarea name="jwk" rows="6" required spellcheck="false" autocomplete="off"${note.attributes}>${shownAgain(form.get('jwk'))}</textarea></label>${note.line}
<button>${own.addKey}</button></form>`
  }`;
};

const certificateSection = (view: View, client: OwnClient, problem: string | undefined): Html => {
  const { texts, csrfField, form } = view;
  const t = texts.support.client;
  const own = texts.portal.credentials;
  const { certificateStates, state, lastUsed } = texts.support.clients;
  const note = fieldNote('pem', problem);
  return html`<h2>${t.certificates}</h2>${
    client.certificates.length === 0
      ? html`<p>${own.noCertificates}</p>`
      : table({
          caption: own.certificatesCaption,
          columns: [t.certificate, state, t.ends, lastUsed, { title: own.remove, kind: 'action' }],
          rows: client.certificates.map((one) => [
            html`<code>${one.id}</code> ${one.subject}`,
            credentialBadge(one.state, certificateStates),
            one.expires === null ? t.noEnd : time(one.expires),
            one.lastUsed === null ? texts.support.never : time(one.lastUsed, 'relative'),
            client.mayChange && isEnding(one) && removeLink(view, client, 'certificates', one.id),
          ]),
        })
  }${
    client.mayChange &&
    client.mayHaveCertificates &&
    html`<form method="post" action="${pathOfCredentials(client.clientId)}/certificates" class="card">${csrfField}
<h3>${own.addCertificate}</h3><p>${own.addCertificateText}</p>
<label>${own.pem}<textarea name="pem" rows="6" required spellcheck="false" autocomplete="off"${note.attributes}>${shownAgain(form.get('pem'))}</textarea></label>${note.line}
<button>${own.addCertificate}</button></form>`
  }`;
};

const isEnding = ({ state }: Pick<OwnClient['keys'][number], 'state'>): boolean =>
  state === 'active' || state === 'quarantined';

const rotate = async (view: View): Promise<Answer> => {
  const { ports, actor, texts } = view;
  const { clientId, name } = await requestedClient(view);
  const back = pathOfCredentials(clientId);
  const overlap = readOverlap(view, { name, action: `${pathOfOwnClient(clientId)}/rotate`, back });
  if (typeof overlap !== 'number') return overlap;
  const t = texts.support.client;
  const { secret } = await ports.portal.rotateSecret(actor, clientId, overlap);
  return page({
    title: t.rotatedTitle,
    body: secretOnce(view, {
      text: texts.portal.credentials.rotatedText(name),
      values: [{ id: 'client-secret', label: texts.support.newClient.secret, value: secret }],
      warning: texts.support.newClient.once,
      done: { path: back, label: texts.portal.credentials.saved },
    }),
  });
};

type Credential = OwnClient['secrets'][number] | OwnClient['keys'][number] | OwnClient['certificates'][number];

/** After the last active credential the client cannot call, and its contact cannot add another one (`mayChange`). */
const lastWarning = ({ texts }: View, client: OwnClient, credential: Credential): Html | false => {
  const { secrets, keys, certificates, trusts, certificateName } = client;
  const others = [...secrets, ...keys, ...certificates, ...trusts].filter((one) => one !== credential);
  const isLast = certificateName === null && !others.some(({ state }) => state === 'active');
  return isLast && html`<p class="message warn">${texts.portal.credentials.last}</p>`;
};

/** `problem`: why the secret was not retired. */
const askRetire = async (view: View, problem?: string): Promise<Answer> => {
  const { params, texts, csrfField } = view;
  const client = await requestedClient(view);
  const secret = client.secrets.find(({ id }) => id === params.secret);
  if (secret === undefined) return notFound();
  const t = texts.support.client;
  const back = pathOfCredentials(client.clientId);
  if (!isLive(secret)) return redirect(back, { tone: 'good', text: t.alreadyEnded });
  const advice = secret.advice ?? 'used_lately';
  return page({
    title: t.retireTitle(secret.id, client.name),
    status: problem === undefined ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: problem })}
${lastWarning(view, client, secret) || html`<p>${t.retireAdvice[advice]}</p>`}
<form method="post" action="${pathOfOwnClient(client.clientId, `/secrets/${encodeURIComponent(secret.id)}/retire`)}" class="card narrow">${csrfField}
${advice !== 'safe' && html`<label class="check"><input type="checkbox" name="force" value="yes">${t.retireForce}</label>`}
<div class="row"><button class="danger">${t.retire}</button><a class="button" href="${back}">${texts.support.cancel}</a></div></form>`,
  });
};

const retire = async (view: View): Promise<Answer> => {
  const { params, ports, actor, form, texts } = view;
  const { clientId, name, mayChange } = await requestedClient(view);
  const id = params.secret ?? '';
  try {
    await ports.portal.retireSecret(actor, clientId, id, form.get('force') === 'yes');
  } catch (error) {
    // The secret was used after the page was shown, or the box is not checked.
    if (mayChange && isConflict(error)) return askRetire(view, texts.support.client.retireProblem);
    throw error;
  }
  return redirect(pathOfCredentials(clientId), { tone: 'good', text: texts.support.client.retired(id, name) });
};

const isConflict = (error: unknown): boolean => error instanceof Fault && error.code === 'CONFLICT';

const add = async (view: View, kind: Kind): Promise<Answer> => {
  const { form, ports, actor, texts } = view;
  const { clientId, mayChange, mayHaveKeys, mayHaveCertificates } = await requestedClient(view);
  const t = texts.portal.credentials;
  const isOffered = mayChange && (kind === 'keys' ? mayHaveKeys : mayHaveCertificates);
  try {
    const text =
      kind === 'keys'
        ? t.keyAdded(await ports.portal.addKey(actor, clientId, form.get('jwk') ?? ''))
        : t.certificateAdded(await ports.portal.addCertificate(actor, clientId, form.get('pem') ?? ''));
    return redirect(pathOfCredentials(clientId), { tone: 'good', text });
  } catch (error) {
    if (!isOffered || !(error instanceof Fault)) throw error;
    if (error.code === 'VALIDATION_ERROR')
      return show(view, { [kind]: kind === 'keys' ? t.keyProblem : t.certificateProblem });
    if (isConflict(error)) return show(view, { [kind]: kind === 'keys' ? t.keyKnown : t.certificateKnown });
    throw error;
  }
};

const askRemove = async (view: View, kind: Kind): Promise<Answer> => {
  const client = await requestedClient(view);
  const id = view.params[param[kind]] ?? '';
  const back = pathOfCredentials(client.clientId);
  const credential = client[kind].find((one) => one.id === id);
  if (credential === undefined) return notFound();
  if (!isEnding(credential)) return redirect(back, { tone: 'good', text: view.texts.support.client.alreadyEnded });
  const t = view.texts.portal.credentials;
  const isKey = kind === 'keys';
  return confirmPage(view, {
    title: (isKey ? t.removeKeyTitle : t.removeCertificateTitle)(id, client.name),
    body: html`<p>${isKey ? t.removeKeyText : t.removeCertificateText}</p>${lastWarning(view, client, credential)}`,
    action: `${back}/${kind}/${encodeURIComponent(id)}/remove`,
    submit: t.remove,
    back,
  });
};

const remove = async (view: View, kind: Kind): Promise<Answer> => {
  const { ports, actor, texts } = view;
  const { clientId, name, ...client } = await requestedClient(view);
  const id = view.params[param[kind]] ?? '';
  if (!client[kind].some((one) => one.id === id)) return notFound();
  if (kind === 'keys') await ports.portal.removeKey(actor, clientId, id);
  else await ports.portal.removeCertificate(actor, clientId, id);
  const text = texts.portal.credentials.removed(id, name);
  return redirect(pathOfCredentials(clientId), { tone: 'good', text });
};
