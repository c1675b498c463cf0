/** The only page of a user whose role needs a second factor and whose session has none. */
import { page, redirect } from '../../page/answer.ts';
import { html } from '../../page/html.ts';
import { type Page, secondFactorPath } from '../../page/page.ts';
import { panelPath } from '../../page/page-path.ts';
import { roles } from '../../ports/role.ts';
import { passkeyPath } from '../../sign-in/paths.ts';

export const factorPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/account/second-factor',
    roles,
    secondFactor: 'asks',
    handle: ({ needsFactor, ports, user, texts }) => {
      if (!needsFactor) return redirect(panelPath);
      const t = texts.factor;
      // A password alone must not add a second way to prove the same account.
      if (user.hasPasskey)
        return page({
          title: t.usePasskeyTitle,
          body: html`<p>${t.usePasskey}</p>
<p><a class="button primary" href="${passkeyPath}?next=${encodeURIComponent(secondFactorPath)}">${texts.passkeys.signIn}</a></p>`,
        });
      return page({
        title: t.neededTitle,
        body: html`<p>${t.needed(texts.frame.roles[user.role])}</p>
<div class="row"><a class="button primary" href="/panel/account/totp">${texts.account.totpAdd}</a>
${ports.staff.passkeys.isOn && html`<a class="button" href="/panel/account/passkeys/new">${texts.passkeys.add}</a>`}</div>`,
      });
    },
  },
];
