/** A link by mail for a user who forgot the password. The answer is the same for every email. */
import { type Answer, page } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { PublicPage, Visit } from '../page/public-page.ts';
import { message } from '../view/layout.ts';
import { forgotPath, signInPath } from './paths.ts';

export const forgotPages: readonly PublicPage[] = [
  { method: 'GET', path: '/sign-in/forgot', handle: (visit) => showForm(visit) },
  {
    method: 'POST',
    path: '/sign-in/forgot',
    handle: async (visit) => {
      const { form, staff, visitor, texts, language } = visit;
      const email = (form.get('email') ?? '').trim();
      const result = await staff.mail.sendToForgetful(email, visitor, language);
      if (result.kind === 'wait') return showForm(visit, texts.signIn.waitForCode(Math.ceil(result.seconds / 60)));
      const t = texts.signIn.forgot;
      return page({
        title: t.asked,
        body: html`<p>${t.askedText}</p><p><a href="${signInPath}">${t.back}</a></p>`,
      });
    },
  },
];

const showForm = ({ texts, staff, form }: Visit, problem?: string): Answer => {
  const { signIn } = texts;
  const t = signIn.forgot;
  if (!staff.mail.isOn)
    return page({ title: t.title, body: html`<p>${t.off}</p><p><a href="${signInPath}">${t.back}</a></p>` });
  return page({
    title: t.title,
    status: problem === undefined ? 200 : 422,
    body: html`${problem !== undefined && message({ tone: 'bad', text: problem })}
<form method="post" action="${forgotPath}" class="card narrow">
<p>${t.text}</p>
<label>${signIn.email}<input type="email" name="email" autocomplete="username" required maxlength="254" value="${form.get('email')}"></label>
<button class="primary">${t.submit}</button>
<p><a href="${signInPath}">${t.back}</a></p>
</form>`,
  });
};
