/** Sign-in with a passkey. The challenge is in a cookie, and the page asks the browser for its answer. */
import { type Answer, page } from '../page/answer.ts';
import { html } from '../page/html.ts';
import type { PublicPage, Visit } from '../page/public-page.ts';
import { keptCookie, pendingCookie } from '../server/cookies.ts';
import { message } from '../view/layout.ts';
import { passkeyForm, passkeyScripts } from '../view/passkey-form.ts';
import { nextOf, nextPath, withNext } from './next-path.ts';
import { afterSignIn } from './pages.ts';
import { passkeyPath, signInPath } from './paths.ts';

export const passkeySignInPages: readonly PublicPage[] = [
  { method: 'GET', path: '/sign-in/passkey', handle: (visit) => askPage(visit) },
  {
    method: 'POST',
    path: '/sign-in/passkey',
    handle: async (visit) => {
      const { form, staff, pending, visitor, texts } = visit;
      const result = await staff.passkeys.signIn(pending, form.get('answer') ?? '', visitor);
      const problem =
        result.kind === 'wait' ? texts.signIn.waitForCode(Math.ceil(result.seconds / 60)) : texts.passkeys.refused;
      return afterSignIn(result, nextOf(form)) ?? refusedPage(visit, problem);
    },
  },
];

const askPage = ({ texts, query, staff }: Visit): Answer => {
  const t = texts.passkeys;
  if (!staff.passkeys.isOn) return page({ title: t.signIn, body: html`<p>${t.off}</p>` });
  const { options, state } = staff.passkeys.beginSignIn();
  return page({
    title: t.signIn,
    scripts: passkeyScripts,
    cookies: [keptCookie(pendingCookie, state)],
    body: html`${passkeyForm(texts, {
      mode: 'get',
      action: passkeyPath,
      options,
      fields: html`<input type="hidden" name="next" value="${nextPath(query.get('next'))}">`,
      text: t.signInText,
      submit: t.use,
    })}
<p class="narrow"><a href="${signInPath}">${texts.signIn.forgot.back}</a></p>`,
  });
};

/** Not the form again: it would ask by itself, over and over, for an answer that is refused. */
const refusedPage = ({ texts, form }: Visit, problem: string): Answer => {
  const again = withNext(passkeyPath, nextOf(form));
  return page({
    title: texts.passkeys.signIn,
    address: again,
    status: 422,
    body: html`${message({ tone: 'bad', text: problem })}
<div class="row"><a class="button primary" href="${again}">${texts.passkeys.again}</a>
<a class="button" href="${signInPath}">${texts.signIn.forgot.back}</a></div>`,
  });
};
