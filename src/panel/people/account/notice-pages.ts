/** What the user wants to be notified of, by mail or at an address. */
import { type Answer, page, redirect } from '../../page/answer.ts';
import { type Html, html } from '../../page/html.ts';
import type { Page, View } from '../../page/page.ts';
import { roles } from '../../ports/role.ts';
import { breakable } from '../../view/breakable.ts';
import { fieldNote } from '../../view/field.ts';
import { secretOnce } from '../../view/secret-once.ts';
import { time } from '../../view/time.ts';

const accountPath = '/panel/account';
const noticesPath = `${accountPath}/notices`;
const verifyPath = '/docs/webhooks#verify';

export const noticePages: readonly Page[] = [
  { method: 'GET', path: '/account/notices', roles, handle: (view) => showForm(view) },
  {
    method: 'POST',
    path: '/account/notices',
    roles,
    handle: async (view) => {
      const { ports, user, form, address, texts } = view;
      const url = (form.get('url') ?? '').trim();
      const given = {
        kinds: form.getAll('kind'),
        mail: form.has('mail'),
        url: url === '' ? undefined : url,
        removeUrl: form.has('remove'),
      };
      const saved = await ports.staff.notices.save(user.id, given, address);
      if (saved.kind === 'refused') return showForm(view, texts.notices.urlProblem);
      if (saved.secret !== undefined) return shownSecret(view, saved.secret);
      return redirect(accountPath, { tone: 'good', text: texts.notices.saved });
    },
  },
  {
    method: 'POST',
    path: '/account/notices/secret',
    roles,
    handle: async (view) => {
      const { ports, user, address, texts } = view;
      const rotated = await ports.staff.notices.rotateSecret(user.id, address);
      if (rotated === 'absent') return redirect(noticesPath);
      if (rotated === 'overlap_running')
        return redirect(noticesPath, { tone: 'bad', text: texts.notices.overlapBlocks });
      return shownSecret(view, rotated.secret);
    },
  },
];

const shownSecret = (view: View, secret: string): Answer => {
  const t = view.texts.notices;
  return page({
    title: t.secretTitle,
    body: html`${secretOnce(view, {
      text: t.secretText,
      values: [{ id: 'secret-value', label: t.secretFor, value: secret }],
      done: { path: accountPath, label: t.secretSaved },
    })}
<p><a href="${verifyPath}">${t.verify}</a></p>`,
  });
};

/** The part of the account page. */
export const noticesPart = async ({ ports, user, texts }: View): Promise<Html> => {
  const t = texts.notices;
  const { kinds, mail, urlOrigin } = await ports.staff.notices.read(user.id);
  const isSent = (mail && ports.staff.mail.isOn) || urlOrigin !== undefined;
  return html`<h2>${t.title}</h2>${
    kinds.length === 0
      ? html`<p>${t.none}</p>`
      : html`<ul>${kinds.map((kind) => html`<li>${t.kinds[kind]}</li>`)}</ul>${!isSent && html`<p class="message warn">${t.notSent}</p>`}`
  }
<p><a class="button" href="${noticesPath}">${t.change}</a></p>`;
};

const showForm = async (view: View, problem?: string): Promise<Answer> => {
  const { ports, user, form, texts, csrfField } = view;
  const t = texts.notices;
  const stored = await ports.staff.notices.read(user.id);
  const isChosen = (kind: string): boolean =>
    problem === undefined ? stored.kinds.some((one) => one === kind) : form.getAll('kind').includes(kind);
  const mail = problem === undefined ? stored.mail : form.has('mail');
  const note = fieldNote('url', problem, t.urlHint);
  return page({
    title: t.title,
    status: problem === undefined ? 200 : 422,
    body: html`<p>${t.about}</p>
<form method="post" action="${noticesPath}" class="card narrow">${csrfField}
<fieldset><legend>${t.which}</legend>
${ports.staff.notices
  .kindsFor(user.role)
  .map(
    (kind) =>
      html`<label class="check"><input type="checkbox" name="kind" value="${kind}"${isChosen(kind) && html` checked`}>${t.kinds[kind]}</label>`,
  )}
</fieldset>
<fieldset><legend>${t.where}</legend>
<label class="check"><input type="checkbox" name="mail"${mail && html` checked`}>${breakable(t.mail(user.email))}</label>
${!ports.staff.mail.isOn && html`<p class="hint">${t.mailOff}</p>`}
${
  stored.urlOrigin !== undefined &&
  html`<p>${t.stored(stored.urlOrigin)}</p><label class="check"><input type="checkbox" name="remove"${form.has('remove') && html` checked`}>${t.remove}</label>`
}
<label>${t.url}<input type="url" name="url" maxlength="2048" autocomplete="off" value="${problem === undefined ? '' : form.get('url')}"${note.attributes}></label>
${note.line}
</fieldset>
<div class="row"><button class="primary">${texts.users.save}</button><a class="button" href="${accountPath}">${texts.frame.cancel}</a></div>
</form>
${stored.urlOrigin !== undefined && signaturePart(view, stored)}`,
  });
};

type Stored = Awaited<ReturnType<View['ports']['staff']['notices']['read']>>;

const signaturePart = ({ texts, csrfField }: View, { isSigned, previousSecretEnds }: Stored): Html => {
  const t = texts.notices;
  return html`<h2>${t.signature}</h2>
<p>${isSigned ? t.signed : t.unsigned} <a href="${verifyPath}">${t.verify}</a></p>
${
  previousSecretEnds === undefined
    ? html`<form method="post" action="${noticesPath}/secret">${csrfField}
${isSigned && html`<p class="hint">${t.rotateText}</p>`}
<button>${t.rotate}</button></form>`
    : html`<p>${t.previousUntil} ${time(previousSecretEnds)}.</p><p>${t.overlapBlocks}</p>`
}`;
};
